"""Spans of text: candidates by their first and last letter, and where they overlap."""

import polars as pl

from anml.core.errors import InputError
from anml.intake.shapes.places import Marks, found_marks, judged, named, read_marks
from anml.intake.shapes.shape import SPANS, Given, Reduced

SPANNED = {
    "start": ("start", "begin", "start_offset", "start_char"),
    "end": ("end", "stop", "end_offset", "end_char"),
}
PLACE = ["document", "start", "end"]


def read_spans(frame: pl.DataFrame, given: Given) -> Reduced:
    """Spans of a table: document, contributor, start, end (the first letter after it), type."""
    return reduce_spans(read_marks(frame, given, SPANNED))


def reduce_spans(read: Marks) -> Reduced:
    """Every span that anybody marked, judged by all who saw its document."""
    marks, seen, warnings = found_marks(read, SPANNED)
    texts = None if read.texts is None else read.texts.drop_nulls().unique("document", maintain_order=True)
    lengths = read.lengths
    if texts is not None and not texts.is_empty():
        lengths = texts.select("document", length=pl.col("text").str.len_chars().cast(pl.Float64))
    _check(marks, lengths)
    marks = marks.with_columns(pl.col("start", "end").cast(pl.Int64))
    candidates = marks.select(PLACE).unique().sort(PLACE).with_row_index("candidate")
    candidates = candidates.with_columns(item=pl.format("{}:{}-{}", *PLACE))
    marks = marks.join(candidates.select("candidate", *PLACE), on=PLACE, maintain_order="left")
    others = candidates.select(*PLACE, other="candidate")
    both = marks.join(others, on="document", suffix="_o")
    meets = (pl.col("start") < pl.col("end_o")) & (pl.col("start_o") < pl.col("end"))
    near = both.filter(meets & (pl.col("candidate") != pl.col("other")))
    near = near.select("contributor", candidate="other")
    return judged(SPANS, candidates, marks, seen, near, texts, warnings)


def _check(marks: pl.DataFrame, lengths: pl.DataFrame | None) -> None:
    whole = pl.col("start") == pl.col("start").floor()
    for bad, why in (
        (~whole | (pl.col("end") != pl.col("end").floor()), "is no whole number of letters"),
        (pl.col("start") < 0, "begins before the document does"),
        (pl.col("start") >= pl.col("end"), "ends before it begins"),
    ):
        if not (wrong := marks.filter(bad)).is_empty():
            raise InputError(f"{named(wrong)} {why}")
    if lengths is not None:
        beyond = marks.join(lengths, on="document").filter(pl.col("end") > pl.col("length"))
        if not beyond.is_empty():
            said = f"{named(beyond)} ends beyond the document"
            raise InputError(f"{said}, which has {beyond['length'][0]:g} letters")
