"""Results in the kind of frame that the user gave."""

from typing import Any

import narwhals as nw
import polars as pl

from anml.core.checks import Ints


def to_native(frame: pl.DataFrame, like: Any | None, rows: Ints | None = None) -> Any:
    """A frame of the kind the user passed in, else polars; `rows` find the index of a pandas frame."""
    if nw.dependencies.is_pandas_dataframe(like):
        made = _to_pandas(frame)
        return made if rows is None else made.set_axis(like.index.take(rows), axis=0)
    if nw.dependencies.is_pyarrow_table(like):
        return frame.to_arrow()
    return frame


def _to_pandas(frame: pl.DataFrame) -> Any:
    try:
        return frame.to_pandas()
    except ModuleNotFoundError:
        import pandas

        return pandas.DataFrame({series.name: series.to_list() for series in frame.get_columns()})
