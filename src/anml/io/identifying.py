"""Columns that number, identify or repeat rows, items, contributors or labels, recognised by their values."""

from collections.abc import Mapping

import numpy as np
import polars as pl

from anml.core.checks import Ints
from anml.io.encode.preparation import is_text
from anml.io.plain import as_text, is_nested

# Columns with fewer different numbers are measurements or codes.
MIN_NUMBERS = 20
# Rows that are looked at before a whole column is.
HEAD = 1000
# Share of steps from row to row that are +1 or -1 in a running number.
MIN_STEPS = 0.9
# A number that begins again more often is periodic, as an hour or a month is.
MAX_BATCHES = 5
# Log of the probability of so few repeated numbers by chance, below which numbers are identifiers.
MAX_LOG_CHANCE = -7.0
# Rows from which equal groups of rows are not a coincidence, and mean rows of a group.
MIN_TABLE, MIN_ROWS = 40, 1.5
# Share of distinct values from which text identifies rows.
MIN_DISTINCT = 0.95


def numbering_reason(series: pl.Series, rows: Ints | None = None) -> str | None:
    """Return why whole numbers identify rows or items; `rows` are the first rows of the items."""
    if not (series.dtype.is_integer() or series.dtype.is_float()) or series.null_count():
        return None
    head = series.head(HEAD)
    if head.n_unique() < min(MIN_NUMBERS, series.len()) or series.len() < MIN_NUMBERS or not _whole(head):
        return None
    if not _whole(series):
        return None
    numbers = series.cast(pl.Int64).to_numpy()
    if _counts_up(numbers):
        return "a running number"
    numbers = numbers if rows is None else numbers[rows]
    distinct, times = np.unique(numbers, return_counts=True)
    if len(distinct) < MIN_NUMBERS:
        return None
    if len(distinct) == len(numbers):
        steps = np.diff(numbers)
        if (steps > 0).all() or (steps < 0).all():
            return "a different number in every row, in the order of the rows"
    # Values drawn from a range repeat unless the range is far larger than their number squared.
    n, span = len(distinct), float(distinct[-1]) - float(distinct[0]) + 1
    equally_often = times.min() == times.max() and (times[0] == 1 or n >= 2 * MIN_NUMBERS)
    if equally_often and -(n**2) / (2 * span) < MAX_LOG_CHANCE:
        return "numbers that identify rows"
    return None


def identifying_text(series: pl.Series) -> bool:
    """True if nearly all texts of a column are different, so that they identify rows."""
    return series.drop_nulls().n_unique() >= max(MIN_NUMBERS, MIN_DISTINCT * series.len())


def repeated_role(series: pl.Series, roles: Mapping[str, pl.Series]) -> str | None:
    """Return the role whose column has the same groups of rows as this column."""
    if is_nested(series.dtype) or (series.dtype.is_float() and not _whole(series.head(HEAD))):
        return None
    for role, other in roles.items():
        # Numbers and texts that differ between items may describe them.
        if role == "item" and (series.dtype != pl.String or is_text(series)):
            continue
        if all(_one_to_one(series.head(n), other.head(n)) for n in (HEAD, series.len())):
            return role
    return None


def constant_in(series: pl.Series, other: pl.Series) -> bool:
    """True if rows with one value of `other` have one value of this column, nearly as many in all."""
    for n in (HEAD, series.len()):
        pair = pl.DataFrame({"one": series.head(n), "other": other.head(n)})
        groups = pair["other"].n_unique()
        sparse = groups * MIN_ROWS > pair.height
        if sparse or pair.n_unique() != groups or pair["one"].n_unique() <= max(2, groups / 2):
            return False
    return True


def first_rows(series: pl.Series | None) -> Ints | None:
    """Return the first row of each value, in order."""
    if series is None:
        return None
    return np.sort(np.unique(as_text(series).fill_null("").to_numpy(), return_index=True)[1])


def _one_to_one(one: pl.Series, other: pl.Series) -> bool:
    pair = pl.DataFrame({"one": one, "other": other})
    groups = pair.n_unique()
    if groups < 2 or pair.height < MIN_TABLE or groups * MIN_ROWS > pair.height:
        return False
    return groups == pair["one"].n_unique() == pair["other"].n_unique()


def _whole(series: pl.Series) -> bool:
    return series.dtype.is_integer() or bool(((series == series.round()) & (series.abs() < 2**53)).all())


def _counts_up(numbers: Ints) -> bool:
    """True if a number goes up or down by one from row to row, beginning again now and then."""
    starts = np.flatnonzero(np.diff(numbers, prepend=numbers[0] - 1))
    lengths = np.diff(starts, append=len(numbers))
    if (lengths == lengths[0]).mean() < MIN_STEPS or len(starts) < MIN_NUMBERS:
        return False
    if len(np.unique(numbers)) < max(MIN_NUMBERS, len(starts) / MAX_BATCHES):
        return False
    moved = np.diff(numbers[starts])
    return max(float((moved == 1).mean()), float((moved == -1).mean())) >= MIN_STEPS
