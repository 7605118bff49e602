"""Numbers, truth values and dates: centred, scaled, gaps filled by the median and marked."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from anml.core.checks import Floats
from anml.core.errors import InputError
from anml.io.times import MICROSECONDS_PER_YEAR, require_times

# Far outside of anything learned from; keeps a wild value in a new table finite in 32 bits.
LIMIT = 1e6


def _numbers(series: pl.Series) -> pl.Series:
    if series.dtype.is_numeric() or series.dtype == pl.Boolean:
        return series.cast(pl.Float64)
    text = series.cast(pl.String).str.strip_chars()
    values = text.cast(pl.Float64, strict=False)
    if (bad := values.is_null() & series.is_not_null()).any():
        why = f"column {series.name!r} must hold numbers as in the table learned from"
        raise InputError(f"{why}, got {str(series.filter(bad)[0])!r} ({bad.sum()} such values)")
    return values


def _booleans(series: pl.Series) -> pl.Series:
    if series.dtype != pl.String:
        return _numbers(series)
    return _numbers(series.str.strip_chars().str.to_lowercase().replace({"true": "1", "false": "0"}))


READERS: dict[str, Callable[[pl.Series], pl.Series]] = {
    "number": _numbers,
    "boolean": _booleans,
    # Years since 1970.
    "date": lambda series: require_times(series).dt.epoch("us") / MICROSECONDS_PER_YEAR,
}


def read_numbers(series: pl.Series, kind: str) -> Floats:
    """Return a column as floats with NaN for what is missing or infinite."""
    values = READERS[kind](series).cast(pl.Float64).to_numpy().astype(np.float64)
    return np.where(np.isfinite(values), values, np.nan)


@dataclass(frozen=True)
class NumberColumn:
    """Fitted encoding of one numeric column."""

    column: str
    kind: str
    median: float
    mean: float
    scale: float
    gaps: bool

    @classmethod
    def fit(cls, series: pl.Series, kind: str, seed: int) -> "NumberColumn":
        """Learn centre and scale from the values present; `seed` is not needed."""
        values = read_numbers(series, kind)
        # Sorted, so that the sums do not depend on the order of rows.
        known = np.sort(values[~np.isnan(values)])
        if len(known) == 0:
            return cls(series.name, kind, 0.0, 0.0, 1.0, True)
        peak = float(np.abs(known).max())
        # Squares of very large or very small numbers would leave the range of floats.
        unit = 1.0 if peak == 0 or 1e-100 < peak < 1e100 else peak
        median, mean, scale = (
            float(statistic(known / unit)) * unit for statistic in (np.median, np.mean, np.std)
        )
        scale = scale if scale > 1e-12 * peak else 1.0
        return cls(series.name, kind, median, mean, scale, gaps=len(known) < len(values))

    @property
    def names(self) -> list[str]:
        """One name per number made of the column."""
        return [self.column, f"{self.column} (missing)"] if self.gaps else [self.column]

    def fill(self, series: pl.Series, out: np.ndarray[Any, Any]) -> None:
        """Write the column's numbers into `out`, of shape (rows, names)."""
        values = read_numbers(series, self.kind)
        missing = np.isnan(values)
        values[missing] = self.median
        with np.errstate(over="ignore"):
            standard = (values - self.mean) / self.scale
        out[:, 0] = np.clip(standard, -LIMIT, LIMIT)
        if self.gaps:
            out[:, 1] = missing
