"""Report sections of tasks that are neither classification nor regression."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import polars as pl

from anml.pipeline.result import AuditResult, StructuredResult
from anml.report.printable import format_probability, truncate

MAX_ROWS, NAME_WIDTH = 60, 80
# Maximum number of documents and of contributors in each; characters around the span with the lowest p.
MAX_DOCUMENTS, MAX_CONTRIBUTORS, CONTEXT_CHARS = 8, 12, 160


class Section(NamedTuple):
    """A section of the page: title, sentences, and a table with the number of rows not shown."""

    title: str
    sentences: list[str]
    head: list[str]
    rows: list[list[str]]
    hidden: int
    foot: str = ""
    documents: Sequence["Document"] = ()


# Parts of a text, each with its type, or an empty string.
Parts = list[tuple[str, str]]
# Name of a document, and its annotations: the consensus first, then each contributor.
Document = tuple[str, list[tuple[str, Parts]]]


def task_section(result: AuditResult) -> Section | None:
    """The section of the task; None for classification and regression."""
    return None if result.structured is None else VIEWS[result.structured.kind](result.structured)


def sentences(shape: StructuredResult) -> list[str]:
    """Sentences on a task; for grades also whether their order was used, and the reason."""
    if not shape.figures:
        return shape.sentences
    used = "an ordinal model" if shape.figures["ordered"] else "a model of unordered classes"
    loss, plain = shape.figures["log_loss"], shape.figures["log_loss_unordered"]
    reason = f"the log loss of held-out grades is {loss:.2f} with the order and {plain:.2f} without it"
    return [*shape.sentences, f"Grades are estimated by {used}: {reason}."]


def _ranking(shape: StructuredResult) -> Section:
    frame = shape.tables["ranking"]
    grouped = frame["group"].n_unique() > 1
    head = ["rank", "candidate", "score", "95% interval", "comparisons", "p ahead of next"]
    head = ["group", *head] if grouped else head
    rows = []
    for row in frame.head(MAX_ROWS).iter_rows(named=True):
        names = [truncate(row["group"], NAME_WIDTH)] if grouped else []
        names += [f"{row['rank']}", truncate(row["candidate"], NAME_WIDTH)]
        score, between = f"{row['score']:+.2f}", f"{row['score_low']:+.2f} to {row['score_high']:+.2f}"
        p = row["p_ahead_of_next"]
        ahead = "" if p is None else format_probability(p)
        ahead += ", not decided" if p is not None and p < 0.95 else ""
        figures = (figure.replace("-", "−") for figure in (score, between))
        rows.append([*names, *figures, f"{row['n_comparisons']:,}", ahead])
    foot = (
        "Scores are log-odds: a reliable judge prefers a candidate whose score is higher by 1 in 73% of "
        "comparisons. Candidates with overlapping intervals are not ranked reliably. ranking.csv has all "
        "rows."
    )
    return Section("Ranking", sentences(shape), head, rows, frame.height - len(rows), foot)


def _places(shape: StructuredResult) -> Section:
    frame = shape.tables[shape.kind]
    numbers = [name for name in ("start", "end", "x", "y", "width", "height") if name in frame.columns]
    head = ["document", *numbers, "type", "p_present", "annotated by"]
    n_annotators = dict(shape.frames["seen"].group_by("document").len().iter_rows())
    first = frame.sort("p_present", "document", maintain_order=True).head(MAX_ROWS)
    rows = []
    for row in first.iter_rows(named=True):
        place = (f"{row[name]:g}" for name in numbers)
        document, kind = (truncate(row[name], NAME_WIDTH) for name in ("document", "type"))
        by = f"{row['n_annotators']} of {n_annotators[row['document']]}"
        rows.append([document, *place, kind, format_probability(row["p_present"]), by])
    foot = (
        f"Sorted by p_present, the probability that the annotation is correct. {shape.kind}.csv has all rows."
    )
    title = shape.kind.capitalize()
    return Section(title, sentences(shape), head, rows, frame.height - len(rows), foot, _documents(shape))


def _documents(shape: StructuredResult) -> list[Document]:
    """Excerpts of the documents with the lowest p_present, around that annotation."""
    if "texts" not in shape.frames:
        return []
    consensus, texts = shape.tables[shape.kind], dict(shape.frames["texts"].iter_rows())
    unsure = consensus.sort("p_present", "document", maintain_order=True)
    unsure = unsure.unique("document", keep="first", maintain_order=True)
    documents = []
    for row in unsure.head(MAX_DOCUMENTS).iter_rows(named=True):
        if (text := texts.get(row["document"])) is None:
            continue
        low = max(0, min(row["start"] - CONTEXT_CHARS, len(text) - 2 * CONTEXT_CHARS))
        high = min(len(text), low + 2 * CONTEXT_CHARS)
        here = pl.col("document") == row["document"]
        people = shape.frames["seen"].filter(here)["contributor"].head(MAX_CONTRIBUTORS).to_list()
        marks = shape.frames["marks"].filter(here)
        lines = [("consensus", split_text(text, consensus.filter(here), low, high))]
        for name in people:
            own = split_text(text, marks.filter(pl.col("contributor") == name), low, high)
            lines.append((truncate(name, 24), own))
        documents.append((truncate(row["document"], NAME_WIDTH), lines))
    return documents


def split_text(text: str, spans: pl.DataFrame, low: int, high: int) -> Parts:
    """Split a text by its spans; of overlapping spans the first is shown."""
    parts, position = [], low
    for start, end, kind in spans.sort("start", "end").select("start", "end", "type").iter_rows():
        if start < position or start >= high:
            continue
        parts += [(text[position:start], "")] if start > position else []
        parts.append((text[start : min(end, high)], kind))
        position = min(end, high)
    return [*parts, (text[position:high], "")] if position < high else parts


def _listed(name: str, title: str, head: dict[str, str], foot: str) -> Callable[[StructuredResult], Section]:
    """Return a view of a table, lowest probability first."""

    def view(shape: StructuredResult) -> Section:
        frame = shape.tables[name]
        by = ["min_p_consensus"] if "min_p_consensus" in head else []
        first = frame.sort(by, nulls_last=True, maintain_order=True).head(MAX_ROWS) if by else frame
        rows = [[cell(value) for value in row] for row in first.head(MAX_ROWS).select(*head).iter_rows()]
        return Section(title, sentences(shape), [*head.values()], rows, frame.height - len(rows), foot)

    def cell(value: object) -> str:
        text = f"{value:.2f}" if isinstance(value, float) else truncate(str(value), NAME_WIDTH)
        return "" if value is None else text

    return view


_TAGS = {"item": "item", "tags": "tags", "min_p_consensus": "min p_consensus", "n_annotators": "annotators"}
_GRADES = {
    "item": "item", "grade": "grade", "grade_low": "low", "grade_high": "high", "grade_mean": "mean",
    "n_labels": "labels",
}  # fmt: skip
VIEWS: dict[str, Callable[[StructuredResult], Section]] = {
    "preferences": _ranking,
    "spans": _places,
    "boxes": _places,
    "tags": _listed(
        "tags", "Tags", _TAGS, "min p_consensus: lowest probability of a tag, or of its absence."
    ),
    "ordinal": _listed("ordinal", "Grades", _GRADES, "grade: median; low and high: 90% interval."),
}
