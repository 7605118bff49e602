"""Times in any of the usual forms become instants, and instants become ages in years."""

from datetime import UTC, date, datetime
from typing import Any

import numpy as np
import polars as pl

from anml.core.checks import Floats
from anml.core.errors import InputError
from anml.signals.freshness import DAYS_PER_YEAR

ISO = (
    r"^\s*(\d{4})[-/](\d{1,2})(?:[-/](\d{1,2}))?"
    r"(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?)?\s*(Z|z|UTC|[+-]\d{2}:?\d{2})?\s*$"
)
ALLOWED_TIMES_TEXT = "dates and times as 2024-01-31 or 2024-01-31T12:00:00Z, years, or seconds since 1970"
MICROSECONDS_PER_YEAR = DAYS_PER_YEAR * 86400 * 1e6
YEARS = (1800, 2200)
# Counts since 1970 by their size: from here on a number is read as s, ms, us or ns.
EPOCHS = ((1e8, 1e6), (1e11, 1e3), (1e14, 1.0), (1e17, 1e-3))


def parse_times(series: pl.Series) -> pl.Series:
    """Read a column of times; what cannot be read is missing in the result. Without a zone it is UTC."""
    dtype = series.dtype
    if isinstance(dtype, pl.Datetime):
        return series.cast(pl.Datetime("us", dtype.time_zone)).dt.replace_time_zone(None)
    if isinstance(dtype, pl.Date):
        return series.cast(pl.Datetime("us"))
    if dtype.is_numeric():
        return _from_numbers(series.cast(pl.Float64))
    if dtype == pl.String:
        read = _from_iso(series)
        if read.null_count() == series.null_count():
            return read
        numbers = series.str.strip_chars().cast(pl.Float64, strict=False)
        return read.zip_with(read.is_not_null(), _from_numbers(numbers))
    return pl.Series(series.name, [None] * len(series), dtype=pl.Datetime("us"))


def require_times(series: pl.Series) -> pl.Series:
    """Read a column of times, or name the first value that is none."""
    read = parse_times(series)
    if (bad := read.is_null() & series.is_not_null()).any():
        first = series.filter(bad)[0]
        why = f"column {series.name!r} has {bad.sum()} values that are not times, the first {str(first)!r}"
        raise InputError(f"{why}; allowed: {ALLOWED_TIMES_TEXT}")
    return read


def are_times(series: pl.Series) -> bool:
    """Say whether every value of a column can be read as a time, looking at a few first."""
    return looks_like_times(series) and parse_times(series.drop_nulls()).null_count() == 0


def looks_like_times(series: pl.Series) -> bool:
    """Say whether the first values of a column can be read as times."""
    first = series.drop_nulls().head(100)
    return not first.is_empty() and parse_times(first).null_count() == 0


def parse_moment(value: Any) -> datetime | None:
    """Read the moment that ages count from: a date, a time, or either as text."""
    if value is None or isinstance(value, datetime):
        return value
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day)
    try:
        return datetime.fromisoformat(value)
    except (TypeError, ValueError):
        raise InputError(f"reference_time must be a date or time such as 2026-01-31, got {value!r}") from None


def ages(times: pl.Series, now: datetime | None) -> tuple[Floats, datetime, int]:
    """Ages in years from `now`, else the newest, that moment, and how many were later, which have age 0."""
    newest = times.max()
    if now is None:
        now = newest if isinstance(newest, datetime) else datetime(1970, 1, 1)
    elif now.tzinfo is not None:
        now = now.astimezone(UTC).replace(tzinfo=None)
    elapsed = (pl.lit(now).cast(pl.Datetime("us")).dt.epoch("us") - pl.col("t").dt.epoch("us")) / 1.0
    years = times.to_frame("t").select(elapsed / MICROSECONDS_PER_YEAR).to_series().fill_null(0.0).to_numpy()
    return np.maximum(years, 0.0), now, int((years < 0).sum())


def _from_numbers(values: pl.Series) -> pl.Series:
    number = pl.col("number")
    year = number.floor().cast(pl.Int32, strict=False)
    within = ((number - number.floor()) * MICROSECONDS_PER_YEAR).cast(pl.Int64, strict=False)
    read: Any = pl.when(number.is_between(*YEARS)).then(pl.datetime(year, 1, 1).dt.epoch("us") + within)
    for lowest, factor in EPOCHS:
        since = (number * factor).round().cast(pl.Int64, strict=False)
        read = read.when((number.abs() >= lowest) & (number.abs() < lowest * 1e3)).then(since)
    instant = read.otherwise(None).cast(pl.Datetime("us"))
    return values.to_frame("number").select(instant).to_series().alias(values.name)


def _from_iso(series: pl.Series) -> pl.Series:
    # Pieces are cut out and put together in one form, because a column may mix dates and times.
    cut = series.str.extract_groups(ISO).struct.unnest()
    cut.columns = ["year", "month", "day", "hour", "minute", "second", "part", "zone"]
    defaults = {"month": "01", "day": "01", "hour": "00", "minute": "00", "second": "00"}
    two = (pl.col(name).str.zfill(2).fill_null(rest) for name, rest in defaults.items())
    form = pl.format("{}-{}-{}T{}:{}:{}.{}", "year", *two, pl.col("part").fill_null("0"))
    read = form.str.strptime(pl.Datetime("us"), "%Y-%m-%dT%H:%M:%S%.f", strict=False)
    digits = pl.col("zone").str.replace_all(":|Z|z|UTC", "").replace("", None)
    minutes = digits.str.slice(1, 2).cast(pl.Int64) * 60 + digits.str.slice(3, 2).cast(pl.Int64)
    offset = pl.when(digits.str.starts_with("-")).then(-minutes).otherwise(minutes).fill_null(0)
    return cut.select((read - pl.duration(minutes=offset)).alias(series.name or "")).to_series()
