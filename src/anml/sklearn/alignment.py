"""Columns beside X: pandas objects aligned by index, and identifiers that keep their type."""

from typing import Any

import narwhals as nw
import numpy as np
import polars as pl

from anml.core.checks import Array, as_codes
from anml.core.errors import InputError
from anml.core.text import pluralise


def align_rows(**columns: Any) -> dict[str, Any]:
    """Return columns in the row order of the first one that has a pandas index.

    Columns without an index are taken by position. A pandas object whose index has other values is an error.

    Examples
    --------
    >>> import pandas as pd
    >>> X, y = pd.DataFrame({"a": [1, 2]}, index=["p", "q"]), pd.Series([20, 10], index=["q", "p"])
    >>> align_rows(X=X, y=y)["y"].tolist()
    [10, 20]
    """
    indexes = {name: index_of(values) for name, values in columns.items()}
    first = next((name for name, index in indexes.items() if index is not None), None)
    if first is None:
        return columns
    index = indexes[first]
    return {
        name: values if own is None or own.equals(index) else _reorder(name, values, own, first, index)
        for (name, values), own in zip(columns.items(), indexes.values(), strict=True)
    }


def index_of(values: Any) -> Any:
    """Return the index of a pandas frame or series, and None for anything else."""
    pandas = nw.dependencies.is_pandas_dataframe(values) or nw.dependencies.is_pandas_series(values)
    return values.index if pandas else None


def _reorder(name: str, values: Any, own: Any, first: str, index: Any) -> Any:
    advice = f"give {name} the index of {first}, or as an array in the order of the rows"
    for owner, each in ((name, own), (first, index)):
        if not each.is_unique:
            twice = each[each.duplicated()].tolist()[0]
            why = f"{name} has another index than {first}, and that of {owner} has {twice!r} twice"
            raise InputError(f"{why}; {advice}")
    places = own.get_indexer(index)
    if (places < 0).any():
        missing = index[[int((places < 0).argmax())]].tolist()[0]
        raise InputError(f"{name} has no row with index {missing!r} of {first}; {advice}")
    return values.iloc[places]


def is_missing(value: Any) -> bool:
    """Return True for None, NaN and the missing values of pandas."""
    # A missing value of pandas is neither equal to itself nor comparable.
    return value is None or type(value).__name__ in ("NAType", "NaTType") or bool(value != value)


def as_column(name: str, values: Any, n: int) -> Array:
    """Return one value per sample without gaps, as an array."""
    array = np.asarray(values)
    if array.ndim != 1 or len(array) != n:
        got = len(array) if array.ndim == 1 else f"an array of shape {array.shape}"
        raise InputError(f"{name} must be one value per sample: {n} expected, got {got}")
    if array.dtype.kind in "fOMm":
        missing = np.array([is_missing(value) for value in array.tolist()], dtype=bool)
        if missing.any():
            first = int(missing.argmax())
            rows = pluralise(int(missing.sum()), "row")
            raise InputError(f"{name} is missing in {rows}, the first at position {first}")
    return array


def distinct_values(name: str, values: Array) -> tuple[Array, Array]:
    """Return the distinct identifiers, in the order of the codes of `as_codes`, and these codes.

    Examples
    --------
    >>> distinct_values("contributor", np.array([10, 9, 10]))
    (array([10,  9]), array([0, 1, 0]))
    """
    codes, _ = as_codes(name, values, len(values))
    return values[np.unique(codes, return_index=True)[1]], codes


def sorting_order(values: Array) -> Array:
    """Return the order that sorts values of one type; values that cannot be compared stay where they are."""
    try:
        return np.argsort(values, kind="stable")
    except TypeError:
        return np.arange(len(values))


def as_series(values: Array) -> pl.Series:
    """Return an array as a polars series of the same type, as text where polars has no such type."""
    series = pl.Series(values.tolist() if values.dtype.kind in "OUS" else values, strict=False)
    return pl.Series([str(value) for value in values.tolist()]) if series.dtype == pl.Object else series


def with_own_type(frame: pl.DataFrame, values: Array) -> pl.DataFrame:
    """Return a frame of contributors, in the order of `as_codes`, with their own values, sorted by them."""
    typed = frame.with_columns(as_series(values).alias("contributor"))
    return typed[sorting_order(values)]
