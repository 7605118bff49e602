"""The report: one HTML file of bounded size that asks the network for nothing and is whole without script."""

from base64 import b64encode
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from rich.cells import cell_len

from anml.app.audit.result import Audited
from anml.app.relabel.queue import MOST_SAMPLES
from anml.core.people.consensus import CLEAR
from anml.core.people.words import CONTRADICTS, GUESSING, LESS, RELIABLE, UNSURE
from anml.core.stats import mean_interval, wilson
from anml.core.words import counted
from anml.surfaces.accused import false_alarms, findings, noun, open_reasons
from anml.surfaces.method import method_facts
from anml.surfaces.names import chance, shortened
from anml.surfaces.shape_view import shape_section
from anml.surfaces.summary import LONGEST, decided, looks_wrong, sampled, shown_error, summary
from anml.surfaces.vouched_view import short_name, vouched_view

TEMPLATES = Path(__file__).parent / "templates"
CARD_ROWS = 8
# Up to so many contributors are drawn, one by one.
MOST_SHOWN = 40
# Matrices drawn, and up to how many classes one is readable in half the width of a figure.
MATRICES, MOST_CLASSES = 4, 12
# Contributors on the page as it opens, and those that its search finds; contributors.csv has everybody.
MOST_LISTED, MOST_FOUND = 200, 5_000
MOST_CONFUSED = 8
# Below this many rows a contributor is marked, whatever the floor for newcomers says.
FEW = 10

# Columns of credentials, and how a verdict is marked.
CREDENTIALS = {"v": "v", "r": "r", "t": "T"}
KINDS = {RELIABLE: "reliable", LESS: "less", UNSURE: "unsure", GUESSING: "accused", CONTRADICTS: "accused"}
# How far the number that was given lies from what a model that did not see it says.
RESIDUAL = pl.col("label") - pl.col("predicted")
DIFFERS = pl.col("given") != pl.col("predicted")


def render_report(result: Audited) -> str:
    """Return the report as one HTML page; the same result gives the same bytes."""
    script, gold = (TEMPLATES / "report.js").read_text(encoding="utf-8"), result.gold
    # Whether anything but other labels says what a label should be.
    predicted = bool(result.columns.features or {"predictions", "embeddings"} & result.data.keys())
    return rendered(
        "report.html.j2",
        # Nothing but this script may run, whatever a name in the data says.
        script=Markup(script),
        script_hash=b64encode(sha256(script.encode()).digest()).decode(),
        **_opening(result),
        task=result.task,
        contributors=result.contributors.height,
        decided=decided(result),
        notes=[shortened(note, LONGEST) for note in result.notes],
        facts=method_facts(result),
        compared=result.comparison,
        shown_error=shown_error,
        table=contributor_table(result),
        listed=MOST_LISTED,
        credentials=[pair for pair in CREDENTIALS.items() if pair[0] in result.signals_given],
        timed="seconds" in result.contributors.columns,
        false_alarms=false_alarms(result),
        totals=(f"{result.samples.height:,}", f"{result.kept / result.samples.height:.0%}"),
        few=few_rows(result),
        noun=noun(result),
        one="label" if result.shape is None else "answer",
        people=_people(result),
        predicted=predicted,
        confusion=_confusion(result) if predicted else None,
        gold=None if gold is None else {"sentence": gold.sentence(), "p": gold.p, **gold.to_dict()},
        samples=sample_table(result),
        stop=CLEAR,
        listed_items="item" in result.samples.columns,
        doubtful=result.doubtful is not None,
        items=result.items,
        unclear=result.queue.candidates,
        vouched=vouched_view(result),
        shape=shape_section(result),
    )


def render_card(result: Audited) -> str:
    """What a notebook shows: the three answers and the first contributors, in colours of the notebook."""
    rows, hidden = contributor_table(result)["rows"], max(result.contributors.height - CARD_ROWS, 0)
    return rendered("report_card.html.j2", **_opening(result), rows=rows[:CARD_ROWS], hidden=hidden)


def write_report(result: Audited, folder: Path) -> None:
    """Write report.html into a folder."""
    (folder / "report.html").write_text(render_report(result), encoding="utf-8")


def rendered(template: str, **values: Any) -> str:
    """A page made from one of the templates; everything in it is escaped."""
    return _environment().get_template(template).render(**values) + "\n"


@cache
def _environment() -> Environment:
    """Templates, compiled once for all pages of a process."""
    made = Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    made.filters |= {"short": shortened, "known": short_name}
    made.filters["form"] = lambda value, form: "–" if value is None else format(value, form)
    made.filters["day"] = lambda when, form="%Y-%m-%d": datetime.fromtimestamp(when, UTC).strftime(form)
    made.filters["chance"] = chance
    # A label or a number, as far as there is room for it.
    made.filters["value"] = lambda value: (
        f"{value:.4g}" if isinstance(value, float) else shortened(str(value), 60)
    )
    return made


def _opening(result: Audited) -> dict[str, Any]:
    """Whose result it is, what was judged in one line, and the answers."""
    rows = result.data["rows"] if sampled(result) else result.samples.height
    people = result.contributors.height
    by = f" by {counted(people, 'contributor')}" if people else ""
    about = f"{counted(rows, noun(result))}{by}; {looks_wrong(result)} look wrong"
    return {"name": shortened(str(result.data["name"]), 80), "about": about, "answers": summary(result)}


def _people(result: Audited) -> dict[str, Any] | None:
    """Contributors one by one in a figure, or how many are what; None where there are not two."""
    people = result.contributors
    if people.height < 2:
        return None
    if people.height > MOST_SHOWN:
        kinds = Counter(KINDS[verdict] for verdict in people["verdict"])
        return {"quality": None, **{kind: kinds[kind] for kind in KINDS.values()}}
    pool = float(np.mean(result.samples["p_correct"].to_numpy()))
    return {"quality": quality_figure(people, pool, few_rows(result))}


def quality_figure(people: pl.DataFrame, pool: float, few: int) -> Markup:
    """Contributor quality as dots with intervals; hollow where few rows stand behind it."""
    low, high = np.percentile(people["quality"].to_numpy(), (0, 100))
    quality = f"quality from {low:.2f} to {high:.2f}, {pool:.2f} over all rows"
    text = f"{people.height} contributors; {quality}. The numbers are in the contributor table."
    left = min(_margin([shortened(name, 24) for name in people["contributor"]]), 185)
    page = rendered("quality.svg.j2", rows=people.to_dicts(), pool=pool, few=few, left=left, text=text)
    return Markup(page)


def confusion_figure(names: Sequence[str], matrices: Sequence[Any], classes: Sequence[str]) -> Markup:
    """Labels given against held-out predictions, one small matrix for each of a few contributors."""
    labels, shown = [shortened(name, 9) for name in classes], [shortened(name, 40) for name in names]
    cells, left = [np.asarray(matrix).tolist() for matrix in matrices], min(_margin(labels), 78) + 16
    return Markup(rendered("confusion.svg.j2", names=shown, matrices=cells, labels=labels, left=left))


def _margin(labels: Sequence[str]) -> float:
    """What the widest of these labels takes at the left of a figure."""
    return max(map(cell_len, labels), default=0) * 6.4 + 12


def _confusion(result: Audited) -> dict[str, Any]:
    """How labels lie about held-out predictions."""
    if result.task == "regression":
        # How each contributor's labels lie around the held-out predictions, widest first.
        far = RESIDUAL.abs()
        figures = {"absolute": far.mean(), "wide": far.quantile(0.9), "residuals": RESIDUAL}
        people = result.samples.group_by("contributor").agg(count=pl.len(), **figures)
        people = people.sort("absolute", "contributor", descending=[True, False])
        rows = people.head(MOST_CONFUSED).to_dicts()
        for row in rows:
            row |= mean_interval(np.array(row["residuals"])).to_dict()
        return {"residuals": {"rows": rows, "hidden": people.height - len(rows)}}
    ranked = most_confused(result)
    figure = None
    if not ranked.is_empty() and len(result.classes) <= MOST_CLASSES:
        names = ranked["contributor"].head(MATRICES).to_list()
        matrices = [confusion_matrix(result, name) for name in names]
        figure = confusion_figure(names, matrices, result.classes)
    # What the contributors who disagree most write where the model sees something else.
    rows = ranked.head(MOST_CONFUSED).to_dicts()
    for row in rows:
        cells = result.confusion.filter((pl.col("contributor") == row["contributor"]) & DIFFERS)
        top = cells.sort("rows", "given", "predicted", descending=[True, False, False])
        row["top"] = top.head(3).to_dicts()
    table = {"rows": rows, "hidden": ranked.height - len(rows)}
    return {"residuals": None, "table": table, "figure": figure}


def few_rows(result: Audited) -> int:
    """Up to how many rows a contributor counts as one of whom little is known."""
    return max(result.policy.cold_start.contributions, FEW)


def contributor_table(result: Audited) -> dict[str, Any]:
    """One row per contributor, in the order of the frame: the accused first, the reliable last."""
    frame = result.contributors.head(MOST_FOUND)
    if frame.is_empty():
        return {"rows": [], "hidden": 0}
    errors: dict[str, float] = {}
    if result.task == "regression":
        far = result.samples.group_by("contributor").agg(RESIDUAL.abs().mean())
        errors = dict(far.iter_rows())
    said = findings(result) if result.doubtful is not None else {**findings(result), **open_reasons(result)}
    does = {name: found.short or found.one for name, found in said.items()}
    few, rows = few_rows(result), []
    for row in frame.iter_rows(named=True):
        name, verdict = row["contributor"], row["verdict"]
        what = "; ".join(filter(None, (does.get(name), row.get("habits"))))
        row |= {"kind": KINDS[verdict], "few": row["rows"] <= few}
        row["does"] = "" if what.startswith(verdict) else what
        row["agreement"] = errors.get(name) if errors else row["agreement"]
        rows.append(row)
    return {"rows": rows, "hidden": result.contributors.height - frame.height}


def most_confused(result: Audited) -> pl.DataFrame:
    """Contributors by the lower end of how far they disagree with predictions: newcomers do not lead."""
    counts = {"total": pl.col("rows").sum(), "wrong": pl.col("rows").filter(DIFFERS).sum()}
    frame = result.confusion.group_by("contributor").agg(**counts).filter(pl.col("wrong") > 0)
    if frame.is_empty():
        return frame
    low, _ = wilson((frame["wrong"] / frame["total"]).to_numpy(), frame["total"].to_numpy())
    ranked = frame.with_columns(surely=pl.Series(low))
    return ranked.sort("surely", "contributor", descending=[True, False])


def confusion_matrix(result: Audited, contributor: str) -> Any:
    """Rows by label given and held-out prediction, in the order of the classes."""
    places = {name: place for place, name in enumerate(result.classes)}
    matrix = np.zeros((len(places), len(places)), dtype=np.int64)
    cells = result.confusion.filter(pl.col("contributor") == contributor)
    for given, predicted, rows in cells.select("given", "predicted", "rows").iter_rows():
        matrix[places[given], places[predicted]] = rows
    return matrix


def sample_table(result: Audited) -> dict[str, Any]:
    """List the rows to look at first, with what to put in place of their labels."""
    rows, seen = result.queue.rows.head(MOST_SAMPLES).to_dicts(), result.pictures or {}
    pictures = {row: f"data:image/png;base64,{b64encode(png).decode()}" for row, png in seen.items()}
    more = {"pictures": pictures, "excerpts": result.excerpts or {}}
    return {"rows": rows, "hidden": result.queue.candidates - len(rows), **more}
