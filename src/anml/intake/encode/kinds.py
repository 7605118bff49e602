"""Which kind of feature is a column?"""

import polars as pl

from anml.intake.plain import is_nested
from anml.intake.times import are_times

FEW_TEXTS = 50
WORDS = r"\w+"


def kind_of(series: pl.Series) -> str:
    """Return number, boolean, date, text or category; nested columns have no kind and are "nested"."""
    dtype = series.dtype
    if is_nested(dtype):
        return "nested"
    if dtype.is_numeric():
        return "number"
    if dtype == pl.Boolean:
        return "boolean"
    first = series.drop_nulls().head(20) if dtype == pl.String else series.clear()
    like_dates = not first.is_empty() and first.str.contains(r"^\s*\d{4}[-/]\d{1,2}[-/]\d{1,2}").all()
    if isinstance(dtype, pl.Date | pl.Datetime) or (like_dates and are_times(series)):
        return "date"
    return "text" if is_text(series) else "category"


def is_text(series: pl.Series) -> bool:
    """Whether strings are written text, not names of levels: several words, and rarely the same or many."""
    texts = series.drop_nulls()
    distinct = texts.unique()
    if distinct.is_empty():
        return False
    words = _mean(distinct.str.count_matches(WORDS))
    varied = distinct.len() >= texts.len() / 2 and distinct.len() > 2
    if distinct.len() > FEW_TEXTS:
        return words >= 3 or _mean(distinct.str.len_chars()) >= FEW_TEXTS
    return varied and words >= 3


def _mean(series: pl.Series) -> float:
    return float(series.cast(pl.Float64).to_numpy().mean())
