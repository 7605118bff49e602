"""Categories: one column of zeros and ones per frequent level."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from anml.intake.plain import as_text, codes_in

MOST_LEVELS = 50


@dataclass(frozen=True)
class CategoryColumn:
    """What was learned about a column of categories; an unseen level is "other" if there is one."""

    column: str
    kind: str
    levels: tuple[str, ...]
    other: bool
    gaps: bool

    @classmethod
    def fit(cls, series: pl.Series, kind: str, seed: int) -> "CategoryColumn":
        """Learn the most frequent levels, ties by name; `seed` is not needed."""
        texts = as_text(series).alias("level")
        counts = texts.drop_nulls().value_counts().sort(["count", "level"], descending=[True, False])
        levels = counts["level"].to_list()
        kept = tuple(levels[:MOST_LEVELS])
        return cls(series.name, kind, kept, len(levels) > MOST_LEVELS, bool(texts.null_count()))

    @property
    def names(self) -> list[str]:
        """One name per number made of the column."""
        names = [f"{self.column}={level}" for level in self.levels]
        names += [f"{self.column} (other)"] * self.other
        return names + [f"{self.column} (missing)"] * self.gaps

    def fill(self, series: pl.Series, out: np.ndarray[Any, Any]) -> None:
        """Write the column's numbers into `out`, of shape (rows, names)."""
        texts = as_text(series)
        codes = codes_in(texts, list(self.levels))
        missing = texts.is_null().to_numpy()
        out[:] = 0
        known = np.flatnonzero(codes >= 0)
        out[known, codes[known]] = 1
        if self.other:
            out[(codes < 0) & ~missing, len(self.levels)] = 1
        if self.gaps:
            out[missing, -1] = 1
