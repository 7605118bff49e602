"""Values of the user's own kinds: results hold what the table held, and frames beside it go by its index."""

from collections.abc import Collection, Mapping
from typing import Any

import narwhals as nw
import polars as pl

from anml.core.errors import InputError
from anml.io.columns import Columns
from anml.io.plain import as_text, from_text

# Columns of results that hold values of a column of the table, by that column's role.
ROLES = {
    "contributor": ("contributor", "duplicates_of"),
    "label": ("label", "predicted_label", "suggested_label", "consensus_label", "true_label"),
    "item": ("item",),
}


def column_types(frame: pl.DataFrame, columns: Columns) -> dict[str, pl.DataType]:
    """The kinds of contributors, labels and items in a table, where they are not text."""
    named = {role: getattr(columns, role, None) for role in ROLES}
    found = {role: frame.schema[name] for role, name in named.items() if name in frame.columns}
    return {role: kind for role, kind in found.items() if kind != pl.String}


def restore_types(frame: pl.DataFrame, kinds: Mapping[str, pl.DataType]) -> pl.DataFrame:
    """Results with the table's own values: a label that came as a number is a number again."""
    for role, kind in kinds.items():
        for name in ROLES[role]:
            if name in frame.columns and frame[name].dtype == pl.String:
                same = from_text(frame[name], kind)
                # What is no value of the table, as the name for all contributors, keeps the column text.
                if same.null_count() == frame[name].null_count():
                    frame = frame.with_columns(same.alias(name))
    return frame


def to_text(frame: pl.DataFrame, roles: Collection[str] = tuple(ROLES)) -> pl.DataFrame:
    """Results as they are computed with: names and classes are text."""
    for role in roles:
        others = [name for name in ROLES[role] if name in frame.columns and frame[name].dtype != pl.String]
        if others:
            values = pl.concat([frame[name].unique().alias(role) for name in others]).unique().drop_nulls()
            each = pl.col(others).replace_strict(
                values, as_text(values), default=None, return_dtype=pl.String
            )
            frame = frame.with_columns(each)
    return frame


def align_by_index(what: str, given: Any, data: Any) -> Any:
    """A pandas frame or column beside a frame, in the order of the index of that; or an error."""
    if not (nw.dependencies.is_pandas_dataframe(given) or nw.dependencies.is_pandas_series(given)):
        return given
    index = given.index
    if not nw.dependencies.is_pandas_dataframe(data):
        if list(index) == list(range(len(index))):
            return given
        why = f"the {what} have an index, and the data have none to find rows by"
        raise InputError(f"{why}; name a column as key, or give an array in the order of the rows")
    # One that says no more than the order of rows goes by it.
    plain = type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1
    if index.equals(data.index) or (plain and not data.index.isin(index).all()):
        return given
    if plain:
        raise InputError(
            f"the {what} count their rows from 0, and the data have these numbers in another order; give the "
            f"{what} the index of the data, or an array in the order of their rows"
        )
    if not (index.is_unique and data.index.is_unique):
        raise InputError(f"the {what} and the data have other indexes, and one names rows twice; name a key")
    if ((at := index.get_indexer(data.index)) < 0).any():
        missing = data.index[int((at < 0).argmax())]
        raise InputError(f"the {what} have no row of index {str(missing)!r}; align them, or name a key")
    return given.iloc[at]
