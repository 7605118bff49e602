"""The report: one self-contained HTML file of bounded size, readable without scripts."""

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

from anml.annotators.consensus import CLEAR_PROBABILITY
from anml.annotators.words import CONTRADICTS, GUESSING, INCONCLUSIVE, LESS_RELIABLE, RELIABLE
from anml.core.stats import mean_interval, wilson
from anml.core.text import pluralise
from anml.pipeline.result import AuditResult
from anml.pipeline.review_queue import MAX_ROWS_SHOWN
from anml.report.method import method_settings
from anml.report.printable import format_probability, truncate
from anml.report.summary import (
    EQUAL_WEIGHTS,
    HEADINGS,
    MAX_WARNING_CHARS,
    WEIGHTED,
    error_rate_text,
    is_sample,
    shown_error,
    summary,
    weighting_sentences,
)
from anml.report.tasks import task_section
from anml.report.verdict_text import false_discovery_sentence, findings, inconclusive_reasons, label_noun

TEMPLATES = Path(__file__).parent / "templates"
CARD_ROWS = 8
# Maximum number of contributors in the figure.
MAX_DRAWN = 40
# Maximum number of matrices, and of classes in a readable matrix.
MATRICES, MAX_CLASSES = 4, 12
# Maximum number of contributors on the page, and in its search; contributors.csv has all.
MAX_CONTRIBUTORS, MAX_SEARCHABLE = 200, 5_000
MAX_CONFUSIONS = 8
# Contributors with at most this many rows are marked.
FEW_ROWS = 10

# Signals with a column in the contributor table, and the CSS class of each verdict.
CREDENTIALS = {"v": "v", "r": "r", "t": "T"}
VERDICT_CSS = {
    RELIABLE: "reliable",
    LESS_RELIABLE: "less",
    INCONCLUSIVE: "inconclusive",
    GUESSING: "flagged",
    CONTRADICTS: "flagged",
}
# Distance of a given number from its held-out prediction.
RESIDUAL = pl.col("label") - pl.col("predicted_label")
DISAGREES = pl.col("label") != pl.col("predicted_label")


def render_report(result: AuditResult) -> str:
    """Return the report as one HTML page; the same result gives the same bytes."""
    gold = result.gold
    # Without features, predictions or embeddings there are no held-out predictions.
    predicted = bool(result.columns.features or {"predictions", "embeddings"} & result.data.keys())
    return render_template(
        "report.html.j2",
        **script_of("report.js"),
        **_header_section(result),
        task=result.task,
        contributors=result.contributors.height,
        decided=weighting_sentences(result),
        notes=[truncate(note, MAX_WARNING_CHARS) for note in result.notes],
        facts=method_settings(result),
        evaluation=result.evaluation,
        shown_error=shown_error,
        headings=HEADINGS,
        weighting_names={"uniform": f"all rows, {EQUAL_WEIGHTS}", "q only": "q alone", "chosen": WEIGHTED},
        table=contributor_table(result),
        listed=MAX_CONTRIBUTORS,
        credentials=[pair for pair in CREDENTIALS.items() if pair[0] in result.signals_given],
        timed="median_seconds" in result.contributors.columns,
        expected_false_flags=false_discovery_sentence(result),
        totals=(f"{result.samples.height:,}", f"{result.kept / result.samples.height:.0%}"),
        few=small_sample_limit(result),
        noun=label_noun(result),
        people=_contributor_section(result),
        predicted=predicted,
        confusion=_confusion(result) if predicted else None,
        gold=None if gold is None else {"sentence": gold.sentence(), "p": gold.p, **gold.to_dict()},
        samples=sample_table(result),
        stop=CLEAR_PROBABILITY,
        listed_items="item" in result.samples.columns,
        disputed=result.disputed_share is not None,
        consensus=result.consensus,
        unclear=result.queue.candidates,
        shape=task_section(result),
    )


def script_of(name: str) -> dict[str, str]:
    """A script and its hash: the content security policy of a page allows only this script."""
    script = (TEMPLATES / name).read_text(encoding="utf-8")
    return {"script": Markup(script), "script_hash": b64encode(sha256(script.encode()).digest()).decode()}


def render_card(result: AuditResult) -> str:
    """Return the card for a notebook: the summary and the first contributors."""
    rows, hidden = contributor_table(result)["rows"], max(result.contributors.height - CARD_ROWS, 0)
    return render_template(
        "report_card.html.j2",
        **_header_section(result),
        headings=HEADINGS,
        rows=rows[:CARD_ROWS],
        hidden=hidden,
    )


def write_report(result: AuditResult, folder: Path) -> None:
    """Write report.html into a folder."""
    (folder / "report.html").write_text(render_report(result), encoding="utf-8")


def render_template(template: str, **values: Any) -> str:
    """Render a template; all values are escaped."""
    return _environment().get_template(template).render(**values) + "\n"


@cache
def _environment() -> Environment:
    """Return the environment of the templates, which compiles each template once."""
    templates = Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    templates.filters |= {"short": truncate}
    templates.filters["form"] = lambda value, form: "–" if value is None else format(value, form)
    templates.filters["day"] = lambda when, form="%Y-%m-%d": datetime.fromtimestamp(when, UTC).strftime(form)
    templates.filters["chance"] = format_probability
    # A label or a number, truncated to the width of a cell.
    templates.filters["value"] = lambda value: (
        f"{value:.4g}" if isinstance(value, float) else truncate(str(value), 60)
    )
    return templates


def _header_section(result: AuditResult) -> dict[str, Any]:
    """The name of the data, the number of rows and contributors, and the summary."""
    rows = result.data["rows"] if is_sample(result) else result.samples.height
    people = result.contributors.height
    by = f" by {pluralise(people, 'contributor')}" if people else ""
    about = f"{pluralise(rows, label_noun(result))}{by}; estimated {error_rate_text(result)}"
    return {"name": truncate(str(result.data["name"]), 80), "about": about, "answers": summary(result)}


def _contributor_section(result: AuditResult) -> dict[str, Any] | None:
    """The figure of contributors, or their number by verdict; None with fewer than two."""
    people = result.contributors
    if people.height < 2:
        return None
    if people.height > MAX_DRAWN:
        kinds = Counter(VERDICT_CSS[verdict] for verdict in people["verdict"])
        return {"accuracy": None, **{kind: kinds[kind] for kind in VERDICT_CSS.values()}}
    pool = float(np.mean(result.samples["p_correct"].to_numpy()))
    return {"accuracy": accuracy_figure(people, pool, small_sample_limit(result))}


def accuracy_figure(people: pl.DataFrame, pool: float, limit: int) -> Markup:
    """Accuracy of contributors as dots with 95% intervals; hollow for few rows."""
    low, high = np.percentile(people["accuracy"].to_numpy(), (0, 100))
    accuracy = f"accuracy from {low:.2f} to {high:.2f}, {pool:.2f} over all rows"
    text = f"{people.height} contributors; {accuracy}. The contributor table has the numbers."
    left = min(_margin([truncate(name, 24) for name in people["contributor"]]), 185)
    page = render_template(
        "quality.svg.j2", rows=people.to_dicts(), pool=pool, few=limit, left=left, text=text
    )
    return Markup(page)


def confusion_figure(names: Sequence[str], matrices: Sequence[Any], classes: Sequence[str]) -> Markup:
    """Given labels against held-out predictions, one matrix per contributor."""
    labels, shown = [truncate(name, 9) for name in classes], [truncate(name, 40) for name in names]
    cells, left = [np.asarray(matrix).tolist() for matrix in matrices], min(_margin(labels), 78) + 16
    return Markup(render_template("confusion.svg.j2", names=shown, matrices=cells, labels=labels, left=left))


def _margin(labels: Sequence[str]) -> float:
    """Width of the longest label, in units of the figure."""
    return max(map(cell_len, labels), default=0) * 6.4 + 12


def _confusion(result: AuditResult) -> dict[str, Any]:
    """Disagreement of labels with held-out predictions."""
    if result.task == "regression":
        # Residuals of each contributor, largest first.
        far = RESIDUAL.abs()
        figures = {"absolute": far.mean(), "wide": far.quantile(0.9), "residuals": RESIDUAL}
        people = result.samples.group_by("contributor").agg(count=pl.len(), **figures)
        people = people.sort("absolute", "contributor", descending=[True, False])
        rows = people.head(MAX_CONFUSIONS).to_dicts()
        for row in rows:
            row |= mean_interval(np.array(row["residuals"])).to_dict()
        return {"residuals": {"rows": rows, "hidden": people.height - len(rows)}}
    ranked = most_confused(result)
    figure = None
    if not ranked.is_empty() and len(result.classes) <= MAX_CLASSES:
        names = ranked["contributor"].head(MATRICES).to_list()
        matrices = [confusion_matrix(result, name) for name in names]
        figure = confusion_figure(names, matrices, result.classes)
    # The most frequent disagreements of the contributors who disagree most.
    rows = ranked.head(MAX_CONFUSIONS).to_dicts()
    for row in rows:
        cells = result.confusion.filter((pl.col("contributor") == row["contributor"]) & DISAGREES)
        top = cells.sort("rows", "label", "predicted_label", descending=[True, False, False])
        row["top"] = top.head(3).to_dicts()
    table = {"rows": rows, "hidden": ranked.height - len(rows)}
    return {"residuals": None, "table": table, "figure": figure}


def small_sample_limit(result: AuditResult) -> int:
    """Number of rows up to which a contributor is marked."""
    return max(result.policy.cold_start.contributions, FEW_ROWS)


def contributor_table(result: AuditResult) -> dict[str, Any]:
    """One row per contributor, in the order of the frame: flagged contributors first, reliable ones last."""
    frame = result.contributors.head(MAX_SEARCHABLE)
    if frame.is_empty():
        return {"rows": [], "hidden": 0}
    errors: dict[str, float] = {}
    if result.task == "regression":
        far = result.samples.group_by("contributor").agg(RESIDUAL.abs().mean())
        errors = dict(far.iter_rows())
    reasons = (
        findings(result)
        if result.disputed_share is not None
        else {**findings(result), **inconclusive_reasons(result)}
    )
    notes = {name: finding.short or finding.singular for name, finding in reasons.items()}
    limit, rows = small_sample_limit(result), []
    for row in frame.iter_rows(named=True):
        name, verdict = row["contributor"], row["verdict"]
        text = "; ".join(filter(None, dict.fromkeys((notes.get(name), row.get("notes")))))
        row |= {"kind": VERDICT_CSS[verdict], "few": row["rows"] <= limit}
        row["does"] = "" if text.startswith(verdict) else text
        row["model_agreement"] = errors.get(name) if errors else row["model_agreement"]
        rows.append(row)
    return {"rows": rows, "hidden": result.contributors.height - frame.height}


def most_confused(result: AuditResult) -> pl.DataFrame:
    """Contributors by the lower bound of their rate of disagreement with held-out predictions."""
    counts = {"total": pl.col("rows").sum(), "wrong": pl.col("rows").filter(DISAGREES).sum()}
    frame = result.confusion.group_by("contributor").agg(**counts).filter(pl.col("wrong") > 0)
    if frame.is_empty():
        return frame
    low, _ = wilson((frame["wrong"] / frame["total"]).to_numpy(), frame["total"].to_numpy())
    ranked = frame.with_columns(surely=pl.Series(low))
    return ranked.sort("surely", "contributor", descending=[True, False])


def confusion_matrix(result: AuditResult, contributor: str) -> Any:
    """Number of rows by given label and held-out prediction, in the order of the classes."""
    index_of = {name: index for index, name in enumerate(result.classes)}
    matrix = np.zeros((len(index_of), len(index_of)), dtype=np.int64)
    cells = result.confusion.filter(pl.col("contributor") == contributor)
    for given, predicted, rows in cells.select("label", "predicted_label", "rows").iter_rows():
        matrix[index_of[given], index_of[predicted]] = rows
    return matrix


def sample_table(result: AuditResult) -> dict[str, Any]:
    """List the rows to review first, with suggested labels."""
    rows, previews = result.queue.rows.head(MAX_ROWS_SHOWN).to_dicts(), result.pictures or {}
    pictures = {row: f"data:image/png;base64,{b64encode(png).decode()}" for row, png in previews.items()}
    more = {"pictures": pictures, "excerpts": result.excerpts or {}}
    return {"rows": rows, "hidden": result.queue.candidates - len(rows), **more}
