"""Feature encoding: type of each column, its fitted encoding, and application to another table."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from anml.core.errors import InputError
from anml.io.encode.number import NumberColumn
from anml.io.encode.text import TextColumn
from anml.io.plain import as_text, codes_in, is_nested
from anml.io.times import are_times

MAX_LEVELS = 50
MIN_TEXTS = 50
WORD_PATTERN = r"\w+"
ADDRESS = r"^\w+://\S+$|^\S*[^\s.]\.[a-zA-Z]\w{1,4}$"


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


def are_addresses(series: pl.Series) -> bool:
    """True if all texts of a column are addresses or names of files."""
    texts = series.head(1000) if series.dtype == pl.String else series.clear()
    return len(texts) > 0 and bool(texts.str.contains(ADDRESS).all())


def is_text(series: pl.Series) -> bool:
    """True if strings are written text, not categories: several words, and few repetitions."""
    texts = series.drop_nulls() if series.dtype == pl.String else series.clear()
    distinct = texts.unique()
    if distinct.is_empty() or are_addresses(distinct):
        return False
    words = _mean(distinct.str.count_matches(WORD_PATTERN))
    varied = distinct.len() >= texts.len() / 2 and distinct.len() > 2
    if distinct.len() > MIN_TEXTS:
        return words >= 3 or _mean(distinct.str.len_chars()) >= MIN_TEXTS
    return varied and words >= 3


def _mean(series: pl.Series) -> float:
    return float(series.cast(pl.Float64).to_numpy().mean())


@dataclass(frozen=True)
class CategoryColumn:
    """Fitted encoding of a categorical column; an unknown level is encoded as "other" if that exists."""

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
        kept = tuple(levels[:MAX_LEVELS])
        return cls(series.name, kind, kept, len(levels) > MAX_LEVELS, bool(texts.null_count()))

    @property
    def names(self) -> list[str]:
        """One name per number made of the column."""
        names = [f"{self.column}={level}" for level in self.levels]
        names += [f"{self.column} (other)"] * self.other
        return names + [f"{self.column} (missing)"] * self.gaps

    def fill(self, series: pl.Series, out: np.ndarray[Any, Any]) -> None:
        """Write the column's numbers into `out`, of shape (rows, names)."""
        codes, missing = codes_in(as_text(series), list(self.levels)), series.is_null().to_numpy()
        out[:] = 0
        known = np.flatnonzero(codes >= 0)
        out[known, codes[known]] = 1
        if self.other:
            out[(codes < 0) & ~missing, len(self.levels)] = 1
        if self.gaps:
            out[missing, -1] = 1


FORMAT = 1
Encoded = NumberColumn | CategoryColumn | TextColumn
ENCODERS: dict[str, Any] = {
    "number": NumberColumn,
    "boolean": NumberColumn,
    "date": NumberColumn,
    "category": CategoryColumn,
    "text": TextColumn,
}


@dataclass(frozen=True)
class FeatureEncoder:
    """Fitted encoding of the feature columns of a table."""

    columns: tuple[Encoded, ...]

    @classmethod
    def fit(cls, frame: pl.DataFrame, features: Sequence[str], seed: int) -> "FeatureEncoder":
        """Learn from the columns `features` of a table."""
        columns = []
        for name in features:
            series = frame[name]
            if (kind := kind_of(series)) not in ENCODERS:
                raise InputError(f"column {name!r} holds {series.dtype}, which cannot be a feature")
            columns.append(ENCODERS[kind].fit(series, kind, seed))
        return cls(tuple(columns))

    @property
    def feature_names(self) -> list[str]:
        """One name per column of the array."""
        return [name for column in self.columns for name in column.names]

    def transform(self, frame: pl.DataFrame) -> npt.NDArray[np.float32]:
        """Return the table's features as an array (rows, features)."""
        if absent := [column.column for column in self.columns if column.column not in frame.columns]:
            listed = ", ".join(repr(name) for name in absent[:5])
            raise InputError(f"the table lacks {len(absent)} columns that the model was trained on: {listed}")
        widths = [len(column.names) for column in self.columns]
        out = np.zeros((frame.height, sum(widths)), dtype=np.float32)
        for column, end, width in zip(self.columns, np.cumsum(widths), widths, strict=True):
            column.fill(frame[column.column], out[:, end - width : end])
        return out

    def to_parts(self) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]:
        """Return a JSON-able dict and named arrays that `from_parts` turns back into the same."""
        kept: list[dict[str, Any]] = []
        arrays: dict[str, np.ndarray[Any, Any]] = {}
        for at, column in enumerate(self.columns):
            own = {name: value for name, value in vars(column).items() if isinstance(value, np.ndarray)}
            arrays |= {f"{at}.{name}": value for name, value in own.items()}
            kept.append({name: value for name, value in vars(column).items() if name not in own})
        return {"format": FORMAT, "columns": kept}, arrays

    @classmethod
    def from_parts(
        cls, settings: dict[str, Any], arrays: dict[str, np.ndarray[Any, Any]]
    ) -> "FeatureEncoder":
        """Rebuild from `to_parts`."""
        if settings.get("format") != FORMAT:
            made_by = settings.get("format")
            raise InputError(f"the preparation has format {made_by!r}; this version reads {FORMAT}")
        columns = []
        for at, kept in enumerate(settings["columns"]):
            own = {name.split(".", 1)[1]: a for name, a in arrays.items() if name.startswith(f"{at}.")}
            # JSON knows no tuples.
            plain = {name: tuple(v) if isinstance(v, list) else v for name, v in kept.items()}
            columns.append(ENCODERS[kept["kind"]](**plain, **own))
        return cls(tuple(columns))
