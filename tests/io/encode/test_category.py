"""Categories: one column per frequent level, and what becomes of the others."""

from typing import Any

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from anml.io.encode.preparation import MAX_LEVELS
from intake_tables import applied, fitted


def test_categories_by_hand() -> None:
    preparation, x = fitted("b", "a", "b", None, "c")
    assert preparation.feature_names == ["c=b", "c=a", "c=c", "c (missing)"]
    assert x.tolist() == [[1, 0, 0, 0], [0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]]
    assert applied(preparation, "new", None, "a") == [[0, 0, 0, 0], [0, 0, 0, 1], [0, 1, 0, 0]]


def test_rare_levels_are_one() -> None:
    levels = [f"l{at:03}" for at in range(MAX_LEVELS + 5)]
    preparation, x = fitted(*levels, *levels[5:])
    assert x.shape[1] == MAX_LEVELS + 1
    assert preparation.feature_names[0] == "c=l005"
    assert preparation.feature_names[-1] == "c (other)"
    assert x[:5, -1].tolist() == [1] * 5
    assert x[:, :-1].sum() == 2 * MAX_LEVELS
    assert applied(preparation, "unseen", None)[0][-1] == 1
    assert sum(applied(preparation, "unseen", None)[1]) == 0


def test_numbered_levels_read_as_numbers_elsewhere() -> None:
    preparation, _ = fitted("1", "2", "x")
    assert applied(preparation, 2, 1) == applied(preparation, 2.0, 1.0) == [[0, 1, 0], [1, 0, 0]]


levels_ = st.lists(st.sampled_from(["a", "b", "c", None]), min_size=1, max_size=20).filter(any)


@given(levels_)
def test_every_row_is_one_level_or_missing(values: list[str | None]) -> None:
    preparation, x = fitted(*values)
    assert (x.sum(axis=1) == 1).all()
    names = preparation.feature_names
    for value, row in zip(values, x, strict=True):
        assert names[int(row.argmax())] == ("c (missing)" if value is None else f"c={value}")


@given(levels_, st.randoms())
def test_the_order_of_rows_does_not_matter(values: list[str | None], random: Any) -> None:
    one, two = fitted(*values)[0], fitted(*random.sample(values, len(values)))[0]
    assert one.feature_names == two.feature_names


@given(levels_)
def test_frequent_levels_come_first_and_ties_by_name(values: list[str | None]) -> None:
    [column] = fitted(*values)[0].columns
    counts = [(-values.count(level), level) for level in column.levels]
    assert counts == sorted(counts)


def test_a_level_that_was_never_seen_is_nothing_where_there_is_no_other() -> None:
    preparation, _ = fitted("a", "b")
    assert applied(preparation, "z", None) == [[0, 0], [0, 0]]


def test_what_was_written_before_is_overwritten() -> None:
    [column] = fitted("a", "b")[0].columns
    out = np.full((2, 2), 7.0, dtype=np.float32)
    column.fill(pl.Series(["a", "z"]), out)
    assert out.tolist() == [[1, 0], [0, 0]]
