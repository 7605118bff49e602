"""The page of an attribution: one self-contained HTML file."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from anml.attribution.tracing import SHOWN_CONTRIBUTORS, SMALL_GAIN, Trace
from anml.core.files import write_file

# The report's style sheet is shared; these templates are files of the package.
TEMPLATES = Path(__file__).parents[1] / "report" / "templates"
MAX_CONTRIBUTORS, MAX_ANSWERS, MAX_CHARS = 100, 20, 300


def write_page(
    trace: Trace, path: Path, *, texts: Sequence[str] | None = None, asked: Sequence[str] | None = None
) -> None:
    """Write the page; `texts` shows the training rows and `asked` the queries."""
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    frame = trace.contributors
    first = frame.filter(pl.col("share") > 0)["contributor"].to_list()[:SHOWN_CONTRIBUTORS]
    shown: dict[str, list[dict[str, Any]]] = {name: [] for name in first}
    harmful: list[dict[str, Any]] = []
    for row in trace.rows.to_dicts():
        row["text"] = "" if texts is None else texts[row["row"]][:MAX_CHARS]
        shown.get(row["contributor"], harmful).append(row)
    page = environment.get_template("trace.html.j2").render(
        model=trace.about["model"], queries=trace.about["queries"], check=trace.check,
        sentences=check_sentences(trace.check), contributors=frame.head(MAX_CONTRIBUTORS).to_dicts(),
        more=max(frame.height - MAX_CONTRIBUTORS, 0), longest=max(*frame["high"].to_list(), 1e-9),
        behind=[row for rows in shown.values() for row in rows], harmful=harmful,
        answers=_answers(trace, asked),
        more_answers=max(trace.about["queries"] - MAX_ANSWERS, 0), texts=texts is not None,
    )  # fmt: skip
    write_file(path, page + "\n")


def _answers(trace: Trace, asked: Sequence[str] | None) -> list[dict[str, Any]]:
    """The first queries, each with its three most influential contributors and the most similar one."""
    answers = []
    shown = trace.queries.filter(pl.col("query") < MAX_ANSWERS)
    for key, mine in shown.group_by("query", maintain_order=True):
        at = int(key[0])
        best = mine.sort("influence", descending=True).head(3).to_dicts()
        similar = mine.sort("similarity", descending=True)["contributor"][0]
        text = "" if asked is None else asked[at][:MAX_CHARS]
        answers.append({"query": at, "text": text, "best": best, "similar": similar})
    return answers


def check_sentences(check: dict[str, Any]) -> list[str]:
    """Describe the result of the self-check in sentences."""
    if check["status"] != "checked":
        return [
            "Not checked: no model was retrained, so the accuracy of these shares is unknown. Intervals "
            "cover the choice of queries only."
        ]
    top = "" if check["ceiling"] is None else f", of at most {check['ceiling']:.2f}"
    sentences = [
        f"Checked by {check['retrainings']} retrainings on subsets of the contributors: the predicted loss "
        f"of the behaviour has a rank correlation of {check['lds']:.2f} [{check['low']:.2f}, "
        f"{check['high']:.2f}] with the measured one{top}. Similarity alone has {check['similarity']:.2f}.",
        f"For single queries the correlation is {check['query_lds']:.2f} "
        f"[{check['query_low']:.2f}, {check['query_high']:.2f}]; similarity alone has "
        f"{check['query_similarity']:.2f}.",
    ]
    if check["gain_own_source_fixed"] < SMALL_GAIN:
        sentences.append(
            "With the most similar contributor held fixed, attribution is better than similarity by "
            f"{check['gain_own_source_fixed']:+.2f} only: a search for similar rows indicates as much."
        )
    return sentences
