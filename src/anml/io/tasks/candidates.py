"""Spans and boxes as labels: each marked place is a candidate for all contributors shown the document."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import polars as pl

from anml.core.errors import InputError
from anml.core.text import pluralise
from anml.io.plain import as_text
from anml.io.roles import ALIASES
from anml.io.tables import read_table
from anml.io.tasks.types import (
    SPANS,
    CandidateLabels,
    Given,
    StructuredTask,
    column,
    contributor_column,
    extra_columns,
)

NO_SPAN = "(nothing)"
DOCUMENTS = ("document", "doc", "doc_id", "document_id", "image", "text_id", "sentence_id", *ALIASES["item"])
TYPES = ("type", "entity", "entity_type", "tag", "category", *ALIASES["label"])
TEXTS = ("text", "body", "content")
# Columns that rows have in any case; other columns of a mark are carried along.
OUTPUT_COLUMNS = ("item", "label", "near", "candidate", "document")


class SpanAnnotations(NamedTuple):
    """Annotated spans or boxes (document, contributor, type, coordinates), exposure, and texts."""

    marks: pl.DataFrame
    exposure: pl.DataFrame | None
    texts: pl.DataFrame | None
    lengths: pl.DataFrame | None = None
    warnings: tuple[str, ...] = ()
    # Columns that describe a span, not its document.
    alone: tuple[str, ...] = ()


def read_marks(frame: pl.DataFrame, given: Given, numbers: Mapping[str, tuple[str, ...]]) -> SpanAnnotations:
    """Marks of a table by names of `numbers`' columns; a row without any says that nothing was found."""
    contributor, frame = contributor_column(frame, given)
    named = {"document": given.get("item"), "type": given.get("label")}
    taken = {**given, "contributor": contributor, **named}
    document = column(frame, taken, "document", DOCUMENTS)
    places = {role: column(frame, taken, role, aliases) for role, aliases in numbers.items()}
    taken |= {**places, "document": document}
    kind = column(frame, {**taken, "type": named["type"]}, "type", TYPES)
    at = {role: _number(frame[name]) for role, name in places.items()}
    marked: dict[str, Any] = {"contributor": contributor, "type": as_text(frame[kind]), **at}
    marks = frame.select(document=as_text(frame[document]), **marked)
    text = next((name for name in TEXTS if name in frame.columns), None)
    texts, notes = None if text is None else marks.select("document", text=as_text(frame[text])), []
    if texts is not None and texts.drop_nulls().unique().height > texts.drop_nulls()["document"].n_unique():
        notes = [f"column {text!r} differs within a document, so it is not taken for the document's text"]
        texts = None
    exposure, lengths = _seen(given.get("assignments"), marks)
    roles = (document, contributor, kind, *places.values(), *(() if text is None else (text,)))
    rest = extra_columns(frame, roles, (*marks.columns, *OUTPUT_COLUMNS))
    alone = tuple(given[name] for name in ("true_label", "test_label") if given.get(name) in rest.columns)
    return SpanAnnotations(marks.hstack(rest), exposure, texts, lengths, tuple(notes), alone)


def _number(series: pl.Series) -> pl.Series:
    read = series.cast(pl.Float64, strict=False)
    if (bad := series.is_not_null() & ~read.is_finite().fill_null(False)).any():
        raise InputError(f"column {series.name!r} has {str(series.filter(bad)[0])!r}, which is no position")
    return read


def _seen(path: object, marks: pl.DataFrame) -> tuple[pl.DataFrame | None, pl.DataFrame | None]:
    """Read the exposure table (document, contributor), with document lengths if present."""
    if path is None:
        return None, None
    frame = read_table(path, name="assignments").frame
    contributor_name = column(frame, {}, "contributor", ALIASES["contributor"])
    document = column(frame, {}, "document", DOCUMENTS)
    exposure = frame.select(document=as_text(frame[document]), contributor=as_text(frame[contributor_name]))
    if gaps := exposure.height - exposure.drop_nulls().height:
        raise InputError(f"{gaps} rows of the table of who saw what lack a document or a contributor")
    if not (unknown := marks.join(exposure, on=["document", "contributor"], how="anti")).is_empty():
        row = unknown.row(0, named=True)
        why = f"{row['contributor']!r} marked document {row['document']!r}"
        raise InputError(f"{why}, which by the table of who saw what they did not see")
    if "length" not in frame.columns:
        return exposure, None
    return exposure, frame.select(document=as_text(frame[document]), length=_number(frame["length"])).unique()


def valid_spans(
    read: SpanAnnotations, numbers: Iterable[str]
) -> tuple[pl.DataFrame, pl.DataFrame, list[str]]:
    """Marks that are some, who saw what (with what stands beside), and what is to be said of that."""
    warnings, marks = [*read.warnings], read.marks
    place = ("type", *numbers)
    nothing = pl.all_horizontal(pl.col(place).is_null())
    if read.exposure is None and marks.filter(nothing).is_empty():
        unseen = (
            "nothing says who saw a document and marked nothing there, so whoever marks nothing is overlooked"
        )
        warnings.append(f"{unseen}; name a table of documents and contributors as task.assignments")
    rest = pl.exclude("document", "contributor", *place, *read.alone).drop_nulls().first()
    about = marks.group_by("document", "contributor", maintain_order=True).agg(rest)
    exposure = (
        about
        if read.exposure is None
        else read.exposure.unique(["document", "contributor"], maintain_order=True)
    )
    if read.exposure is not None and about.width > 2:
        exposure = exposure.join(about, on=["document", "contributor"], how="left", maintain_order="left")
    if idle := set(exposure["contributor"]) - set(marks.filter(~nothing)["contributor"]):
        warnings.append(f"{pluralise(len(idle), 'contributor')} marked nothing anywhere: {sorted(idle)[0]!r}")
    marks = marks.filter(~nothing)
    if marks.is_empty():
        raise InputError("nobody marked anything")
    if NO_SPAN in marks["type"]:
        raise InputError(f"a mark has the type {NO_SPAN!r}, which stands for none here; call it otherwise")
    if not (gaps := marks.filter(pl.any_horizontal(pl.col(place).is_null()))).is_empty():
        raise InputError(f"{first_example(gaps)} has no complete place, or no type")
    if exposure.group_by("document").len()["len"].max() == 1:
        raise InputError("every document was seen by one contributor only, so nobody can be compared")
    return marks, exposure, warnings


def candidate_labels(
    kind: str, candidates: pl.DataFrame, marks: pl.DataFrame, exposure: pl.DataFrame, near: pl.DataFrame,
    texts: pl.DataFrame | None, warnings: list[str],
) -> CandidateLabels:  # fmt: skip
    """Return the label of each candidate by every contributor who was shown its document."""
    once = marks.unique(["candidate", "contributor"], keep="first", maintain_order=True)
    if once.height < marks.height:
        twice = pluralise(marks.height - once.height, "mark")
        warnings = [*warnings, f"{twice} of a place that the same person had marked already left out"]
    rows = candidates.join(exposure, on="document", maintain_order="left_right")
    own = [
        name for name in exposure.columns if name in once.columns and name not in ("document", "contributor")
    ]
    alone = [name for name in once.columns if name not in (*exposure.columns, *candidates.columns, "type")]
    both = (pl.col(name).alias(f"{name} ") for name in own)
    labels = once.select("candidate", "contributor", *alone, *both, label="type")
    rows = rows.join(labels, on=["candidate", "contributor"], how="left", maintain_order="left")
    neighbours = near.select("candidate", "contributor").unique().with_columns(near=pl.lit(True))
    rows = rows.join(neighbours, on=["candidate", "contributor"], how="left", maintain_order="left")
    # A value of a mark overrides that of its document.
    merged = [pl.coalesce(f"{name} ", name).alias(name) for name in own]
    rows = rows.with_columns(pl.col("label").fill_null(NO_SPAN), pl.col("near").fill_null(False), *merged)
    rows = rows.drop(f"{name} " for name in own)
    if rows["label"].n_unique() == 1:
        raise InputError("all who saw a document marked the same there; there is nothing to compare")
    first = ["item", "contributor", "label"]
    notes = [
        f"{pluralise(once.height, 'mark')} in {pluralise(exposure['document'].n_unique(), 'document')} by "
        f"{pluralise(exposure['contributor'].n_unique(), 'contributor')}; each of "
        f"{pluralise(candidates.height, 'place')} that anybody marked is judged by all who saw its document"
    ]
    frames = {"candidates": candidates, "marks": once, "seen": exposure.select("document", "contributor")}
    frames |= {} if texts is None else {"texts": texts}
    unit = "span label" if kind == SPANS else "box label"
    shape = StructuredTask(kind, unit, frames)
    return CandidateLabels(rows.select(*first, pl.exclude(first)), shape, notes, warnings)


def first_example(wrong: pl.DataFrame) -> str:
    """The first of some marks, for a message."""
    row = wrong.row(0, named=True)
    numbers = {name: value for name, value in row.items() if isinstance(value, float) and name != "length"}
    place = ", ".join(f"{name} {value:g}" for name, value in numbers.items())
    return f"the mark {row['type']!r} ({place}) by {row['contributor']!r} in document {row['document']!r}"
