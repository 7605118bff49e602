"""Columns beside X: aligned by a pandas index, complete, and of their own type."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from anml.core.errors import InputError
from anml.sklearn.alignment import align_rows, as_column, distinct_values, is_missing, with_own_type


def test_columns_follow_the_first_index_and_arrays_their_position():
    X = pd.DataFrame({"a": [1, 2, 3]}, index=["p", "q", "r"])
    y = pd.Series([30, 10, 20], index=["r", "p", "q"])
    rows = align_rows(X=X, y=y, item=["x", "y", "z"])
    assert rows["y"].tolist() == [10, 20, 30]
    assert rows["item"] == ["x", "y", "z"]


@pytest.mark.parametrize(
    ("index", "message"),
    [
        (["p", "q", "s"], "y has no row with index 'r' of X"),
        (["p", "q", "q"], "that of y has 'q' twice"),
    ],
)
def test_an_index_that_does_not_fit_is_refused(index, message):
    X = pd.DataFrame({"a": [1, 2, 3]}, index=["p", "q", "r"])
    with pytest.raises(InputError, match=message):
        align_rows(X=X, y=pd.Series([1, 2, 3], index=index))


def test_a_column_is_one_value_per_sample_without_gaps():
    assert as_column("item", ["a", "b"], 2).tolist() == ["a", "b"]
    with pytest.raises(InputError, match="item must be one value per sample: 3 expected, got 2"):
        as_column("item", ["a", "b"], 3)
    with pytest.raises(InputError, match="item is missing in 1 row, the first at position 1"):
        as_column("item", ["a", None], 2)
    assert [is_missing(value) for value in (None, float("nan"), pd.NA, pd.NaT, 0, "")] == [True] * 4 + [
        False
    ] * 2


def test_contributors_keep_their_type_and_are_sorted_by_value():
    values, codes = distinct_values("contributor", np.array([10, 9, 10, 100]))
    assert (values.tolist(), codes.tolist()) == ([10, 100, 9], [0, 2, 0, 1])
    frame = with_own_type(pl.DataFrame({"contributor": ["10", "100", "9"], "rows": [2, 1, 1]}), values)
    assert frame["contributor"].to_list() == [9, 10, 100]
    assert frame["rows"].to_list() == [1, 2, 1]
