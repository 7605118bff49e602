"""Spans of text: candidates by their first and last letter, and where they overlap."""

import polars as pl

from anml.core.errors import InputError
from anml.io.tasks.candidates import SpanAnnotations, candidate_labels, first_example, read_marks, valid_spans
from anml.io.tasks.types import SPANS, CandidateLabels, Given

SPAN_ALIASES = {
    "start": ("start", "begin", "start_offset", "start_char"),
    "end": ("end", "stop", "end_offset", "end_char"),
}
SPAN_KEY = ["document", "start", "end"]


def read_spans(frame: pl.DataFrame, given: Given) -> CandidateLabels:
    """Spans of a table: document, contributor, start, end (the first letter after it), type."""
    return reduce_spans(read_marks(frame, given, SPAN_ALIASES))


def reduce_spans(read: SpanAnnotations) -> CandidateLabels:
    """Return each marked span as a candidate for all contributors shown its document."""
    marks, exposure, warnings = valid_spans(read, SPAN_ALIASES)
    texts = None if read.texts is None else read.texts.drop_nulls().unique("document", maintain_order=True)
    lengths = read.lengths
    if texts is not None and not texts.is_empty():
        lengths = texts.select("document", length=pl.col("text").str.len_chars().cast(pl.Float64))
    _check(marks, lengths)
    marks = marks.with_columns(pl.col("start", "end").cast(pl.Int64))
    candidates = marks.select(SPAN_KEY).unique().sort(SPAN_KEY).with_row_index("candidate")
    candidates = candidates.with_columns(item=pl.format("{}:{}-{}", *SPAN_KEY))
    marks = marks.join(candidates.select("candidate", *SPAN_KEY), on=SPAN_KEY, maintain_order="left")
    others = candidates.select(*SPAN_KEY, other="candidate")
    both = marks.join(others, on="document", suffix="_o")
    meets = (pl.col("start") < pl.col("end_o")) & (pl.col("start_o") < pl.col("end"))
    near = both.filter(meets & (pl.col("candidate") != pl.col("other")))
    near = near.select("contributor", candidate="other")
    return candidate_labels(SPANS, candidates, marks, exposure, near, texts, warnings)


def _check(marks: pl.DataFrame, lengths: pl.DataFrame | None) -> None:
    whole = pl.col("start") == pl.col("start").floor()
    for bad, why in (
        (~whole | (pl.col("end") != pl.col("end").floor()), "is no whole number of letters"),
        (pl.col("start") < 0, "begins before the document does"),
        (pl.col("start") >= pl.col("end"), "ends before it begins"),
    ):
        if not (wrong := marks.filter(bad)).is_empty():
            raise InputError(f"{first_example(wrong)} {why}")
    if lengths is not None:
        beyond = marks.join(lengths, on="document").filter(pl.col("end") > pl.col("length"))
        if not beyond.is_empty():
            problem = f"{first_example(beyond)} ends beyond the document"
            raise InputError(f"{problem}, which has {beyond['length'][0]:g} letters")
