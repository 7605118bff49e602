"""Values of the user's own kinds: results hold what the table held, and frames beside it go by its index."""

from typing import Any

import narwhals as nw
import polars as pl

from anml.core.errors import InputError
from anml.intake.columns import Columns
from anml.intake.plain import as_text

# Columns of results that hold values of a column of the table, by that column's role.
ROLES = {
    "contributor": ("contributor", "copies_of"),
    "label": ("label", "predicted", "suggested", "consensus"),
    "item": ("item",),
}


def typed(frame: pl.DataFrame, table: Any, columns: Columns) -> pl.DataFrame:
    """Results with the table's own values: a label that came as a number is a number again."""
    if table is None:
        return frame
    for role, names in ROLES.items():
        source = getattr(columns, role, None)
        if source not in table.frame.columns or table.frame[source].dtype == pl.String:
            continue
        values = table.frame[source].unique().drop_nulls()
        texts = as_text(values)
        for name in names:
            if name in frame.columns and frame[name].dtype == pl.String:
                same = frame[name].replace_strict(texts, values, default=None, return_dtype=values.dtype)
                # What is no value of the table, as the name for all contributors, keeps the column text.
                if same.null_count() == frame[name].null_count():
                    frame = frame.with_columns(same.alias(name))
    return frame


def by_index(what: str, given: Any, data: Any) -> Any:
    """A pandas frame or column beside a frame, in the order of the index of that; or an error."""
    frame = nw.dependencies.is_pandas_dataframe(given) or nw.dependencies.is_pandas_series(given)
    if not (nw.dependencies.is_pandas_dataframe(data) and frame):
        return given
    index = given.index
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
    at = index.get_indexer(data.index)
    if (at < 0).any():
        missing = data.index[int((at < 0).argmax())]
        raise InputError(f"the {what} have no row of index {str(missing)!r}; align them, or name a key")
    return given.iloc[at]
