"""What the report shows of judgements that are no classes: rankings of candidates, documents with marks."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import polars as pl

from anml.app.audit.result import Audited, Shaped
from anml.surfaces.names import chance, shortened

MOST_ROWS, NAME = 60, 80
# Documents shown, people in each, and letters on either side of the place that is least sure.
MOST_DOCUMENTS, MOST_PEOPLE, AROUND = 8, 12, 160


class Section(NamedTuple):
    """A part of the page: its title, sentences, and a table with how many more rows there are."""

    title: str
    said: list[str]
    head: list[str]
    rows: list[list[str]]
    hidden: int
    foot: str = ""
    documents: Sequence["Document"] = ()


# A text in parts, each with the type it is marked as, or none.
Parts = list[tuple[str, str]]
# A document, or a piece of it, by name, as all who saw it marked it; the consensus first.
Document = tuple[str, list[tuple[str, Parts]]]


def shape_section(result: Audited) -> Section | None:
    """The section on the shape of the judgements; None where they are classes or numbers."""
    return None if result.shape is None else VIEWS[result.shape.kind](result.shape)


def sentences(shape: Shaped) -> list[str]:
    """What is said of judgements of a shape; of grades also whether their order was used, and why."""
    if not shape.figures:
        return shape.said
    used = "by their order" if shape.figures["ordered"] else "as plain classes"
    loss, plain = shape.figures["loss"], shape.figures["plain"]
    by = f"the log-loss of held-out grades is {loss:.2f} by order and {plain:.2f} as plain classes"
    return [*shape.said, f"Grades are judged {used}: {by}."]


def _ranking(shape: Shaped) -> Section:
    frame = shape.tables["ranking"]
    grouped = frame["group"].n_unique() > 1
    head = ["place", "candidate", "score", "95% interval", "comparisons", "ahead of the next"]
    head = ["group", *head] if grouped else head
    rows = []
    for row in frame.head(MOST_ROWS).iter_rows(named=True):
        names = [shortened(row["group"], NAME)] if grouped else []
        names += [f"{row['place']}", shortened(row["candidate"], NAME)]
        score, between = f"{row['score']:+.2f}", f"{row['low']:+.2f} to {row['high']:+.2f}"
        ahead = "" if row["ahead"] is None else chance(row["ahead"])
        ahead += ", not decided" if ahead and row["ahead"] < 0.95 else ""
        figures = (figure.replace("-", "−") for figure in (score, between))
        rows.append([*names, *figures, f"{row['comparisons']:,}", ahead])
    foot = (
        "Scores are on the scale of log-odds: a careful judge prefers one that is ahead by 1 nearly three "
        "times as often as not. Intervals that overlap much do not rank; ranking.csv has all."
    )
    return Section("Ranking", sentences(shape), head, rows, frame.height - len(rows), foot)


def _places(shape: Shaped) -> Section:
    frame = shape.tables[shape.kind]
    numbers = [name for name in ("start", "end", "x", "y", "width", "height") if name in frame.columns]
    head = ["document", *numbers, "type", "p", "marked by"]
    seen = dict(shape.frames["seen"].group_by("document").len().iter_rows())
    least = frame.sort("p", "document", maintain_order=True).head(MOST_ROWS)
    rows = []
    for row in least.iter_rows(named=True):
        place = (f"{row[name]:g}" for name in numbers)
        document, kind = (shortened(row[name], NAME) for name in ("document", "type"))
        by = f"{row['marked']} of {seen[row['document']]}"
        rows.append([document, *place, kind, chance(row["p"]), by])
    foot = f"The least sure first; {shape.kind}.csv has all. p: probability that there is one."
    title = shape.kind.capitalize()
    return Section(title, sentences(shape), head, rows, frame.height - len(rows), foot, _documents(shape))


def _documents(shape: Shaped) -> list[Document]:
    """The documents with the least sure places, each around its least sure one."""
    if "texts" not in shape.frames:
        return []
    consensus, texts = shape.tables[shape.kind], dict(shape.frames["texts"].iter_rows())
    unsure = consensus.sort("p", "document", maintain_order=True)
    unsure = unsure.unique("document", keep="first", maintain_order=True)
    found = []
    for row in unsure.head(MOST_DOCUMENTS).iter_rows(named=True):
        if (text := texts.get(row["document"])) is None:
            continue
        low = max(0, min(row["start"] - AROUND, len(text) - 2 * AROUND))
        high = min(len(text), low + 2 * AROUND)
        here = pl.col("document") == row["document"]
        people = shape.frames["seen"].filter(here)["contributor"].head(MOST_PEOPLE).to_list()
        marks = shape.frames["marks"].filter(here)
        lines = [("consensus", parts(text, consensus.filter(here), low, high))]
        for who in people:
            own = parts(text, marks.filter(pl.col("contributor") == who), low, high)
            lines.append((shortened(who, 24), own))
        found.append((shortened(row["document"], NAME), lines))
    return found


def parts(text: str, spans: pl.DataFrame, low: int, high: int) -> Parts:
    """A piece of a text in parts; of marks that overlap the first that begins is shown."""
    found, at = [], low
    for start, end, kind in spans.sort("start", "end").select("start", "end", "type").iter_rows():
        if start < at or start >= high:
            continue
        found += [(text[at:start], "")] if start > at else []
        found.append((text[start : min(end, high)], kind))
        at = min(end, high)
    return [*found, (text[at:high], "")] if at < high else found


def _listed(name: str, title: str, head: dict[str, str], foot: str) -> Callable[[Shaped], Section]:
    """A view of a table as it is, the least sure first."""

    def view(shape: Shaped) -> Section:
        frame = shape.tables[name]
        by = ["least_sure"] if "least_sure" in head else []
        first = frame.sort(by, nulls_last=True, maintain_order=True).head(MOST_ROWS) if by else frame
        rows = [[cell(value) for value in row] for row in first.head(MOST_ROWS).select(*head).iter_rows()]
        return Section(title, sentences(shape), [*head.values()], rows, frame.height - len(rows), foot)

    def cell(value: object) -> str:
        text = f"{value:.2f}" if isinstance(value, float) else shortened(str(value), NAME)
        return "" if value is None else text

    return view


_TAGS = {"item": "item", "tags": "tags", "least_sure": "least sure", "seen": "seen by"}
_GRADES = {"item": "item", "grade": "grade", "low": "from", "high": "to", "mean": "mean", "labels": "grades"}
VIEWS: dict[str, Callable[[Shaped], Section]] = {
    "preference": _ranking,
    "spans": _places,
    "boxes": _places,
    "tags": _listed("tags", "Tags", _TAGS, "Least sure: how certain its least certain tag, or absence, is."),
    "ordinal": _listed("grades", "Grades", _GRADES, "From and to hold nine tenths of the probability."),
}
