"""Restore the types of the input in results; align frames by index."""

from collections.abc import Collection, Mapping
from typing import Any

import narwhals as nw
import polars as pl

from anml.core.errors import InputError
from anml.io.columns import Columns
from anml.io.plain import as_text, from_text

# Columns of results with values of an input column, by the role of that column.
ROLES = {
    "contributor": ("contributor", "duplicates_of"),
    "label": ("label", "predicted_label", "suggested_label", "consensus_label", "true_label"),
    "item": ("item",),
}


def column_types(frame: pl.DataFrame, columns: Columns) -> dict[str, pl.DataType]:
    """Types of contributors, labels and items in a table, if they are not text."""
    columns_by_role = {role: getattr(columns, role, None) for role in ROLES}
    types = {role: frame.schema[name] for role, name in columns_by_role.items() if name in frame.columns}
    return {role: kind for role, kind in types.items() if kind != pl.String}


def restore_types(frame: pl.DataFrame, kinds: Mapping[str, pl.DataType]) -> pl.DataFrame:
    """Convert contributors, labels and items of a result back to the types of the table."""
    for role, kind in kinds.items():
        for name in ROLES[role]:
            if name in frame.columns and frame[name].dtype == pl.String:
                same = from_text(frame[name], kind)
                # A column with a value that is not in the table, such as (all), stays text.
                if same.null_count() == frame[name].null_count():
                    frame = frame.with_columns(same.alias(name))
    return frame


def to_text(frame: pl.DataFrame, roles: Collection[str] = tuple(ROLES)) -> pl.DataFrame:
    """Convert contributors, labels and items of a result to text."""
    for role in roles:
        others = [name for name in ROLES[role] if name in frame.columns and frame[name].dtype != pl.String]
        if others:
            values = pl.concat([frame[name].unique().alias(role) for name in others]).unique().drop_nulls()
            each = pl.col(others).replace_strict(
                values, as_text(values), default=None, return_dtype=pl.String
            )
            frame = frame.with_columns(each)
    return frame


def align_by_index(name: str, values: Any, data: Any) -> Any:
    """Align a pandas frame or column with the index of the data; raise if this is not possible."""
    if not (nw.dependencies.is_pandas_dataframe(values) or nw.dependencies.is_pandas_series(values)):
        return values
    index = values.index
    if not nw.dependencies.is_pandas_dataframe(data):
        if list(index) == list(range(len(index))):
            return values
        why = f"the {name} have an index and the data have none, so rows cannot be matched"
        raise InputError(f"{why}; name a column as key, or give an array in the order of the rows")
    # A default RangeIndex is aligned by position.
    plain = type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1
    if index.equals(data.index) or (plain and not data.index.isin(index).all()):
        return values
    if plain:
        raise InputError(
            f"the {name} are numbered from 0, and the index of the data has these numbers in another order; "
            f"give the {name} the index of the data, or pass an array in the order of the rows"
        )
    if not (index.is_unique and data.index.is_unique):
        raise InputError(f"the {name} and the data have other indexes, and one has duplicates; name a key")
    if ((at := index.get_indexer(data.index)) < 0).any():
        missing = data.index[int((at < 0).argmax())]
        raise InputError(f"the {name} have no row of index {str(missing)!r}; align them, or name a key")
    return values.iloc[at]
