"""What was learned from the training table, and how to apply it to another."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from anml.core.errors import InputError
from anml.intake.encode.category import CategoryColumn
from anml.intake.encode.kinds import kind_of
from anml.intake.encode.number import NumberColumn
from anml.intake.encode.text import TextColumn

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
class Preparation:
    """How the columns of a table become numbers."""

    columns: tuple[Encoded, ...]

    @classmethod
    def fit(cls, frame: pl.DataFrame, features: Sequence[str], seed: int) -> "Preparation":
        """Learn from the columns `features` of a table."""
        columns = []
        for name in features:
            series = frame[name]
            kind = kind_of(series)
            if kind not in ENCODERS:
                raise InputError(f"column {name!r} holds {series.dtype}, which cannot be a feature")
            columns.append(ENCODERS[kind].fit(series, kind, seed))
        return cls(tuple(columns))

    @property
    def feature_names(self) -> list[str]:
        """One name per column of the array."""
        return [name for column in self.columns for name in column.names]

    def transform(self, frame: pl.DataFrame) -> npt.NDArray[np.float32]:
        """Return the table's features as an array (rows, features)."""
        absent = [column.column for column in self.columns if column.column not in frame.columns]
        if absent:
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
    def from_parts(cls, settings: dict[str, Any], arrays: dict[str, np.ndarray[Any, Any]]) -> "Preparation":
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
