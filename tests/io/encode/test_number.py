"""Numbers, truth values and dates: centred, scaled, gaps filled and marked."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anml.core.errors import InputError
from anml.io.encode.number import LIMIT, READERS, read_numbers
from intake_tables import applied, fitted


def test_numbers_by_hand() -> None:
    preparation, x = fitted(2.0, None, 4.0, 9.0)
    # Mean 5, median 4, variance (9 + 1 + 16) / 3.
    scale = np.sqrt(26 / 3)
    expected = [[-3 / scale, 0], [-1 / scale, 1], [-1 / scale, 0], [4 / scale, 0]]
    np.testing.assert_allclose(x, expected, rtol=1e-6)
    assert preparation.feature_names == ["c", "c (missing)"]
    assert applied(preparation, "5", dtype=pl.String) == [[0.0, 0.0]]


def test_numbers_at_the_edges() -> None:
    assert fitted(3.0, 3.0)[1].tolist() == [[0.0], [0.0]]
    assert fitted(None, None, dtype=pl.Float64)[1].tolist() == [[0.0, 1.0], [0.0, 1.0]]
    for size in (1.7e308, 5e-324, 1e-200):
        assert fitted(-size, size)[1].tolist() == [[-1.0], [1.0]]
    preparation, _ = fitted(0.0, 1.0)
    assert applied(preparation, 1e300, float("-inf"), None) == [[1e6], [0.0], [0.0]]
    with pytest.raises(InputError, match=r"column 'c' must hold numbers .* got 'tall' \(1 such values\)"):
        applied(preparation, "tall", "1")


def test_booleans_and_dates() -> None:
    preparation, x = fitted(True, False)
    assert x.tolist() == [[1.0], [-1.0]]
    assert applied(preparation, "False", "true") == applied(preparation, 0, 1) == [[-1.0], [1.0]]
    preparation, x = fitted("2024-01-01", "2024-01-03")
    assert x.tolist() == [[-1.0], [1.0]]
    np.testing.assert_allclose(applied(preparation, "2024-01-02T00:00:00Z"), [[0.0]], atol=1e-6)
    with pytest.raises(InputError, match="'c' has 1 values that are not times, the first 'soon'"):
        applied(preparation, "soon")


numbers = st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=20)


@given(numbers)
def test_values_learned_from_have_mean_nought_and_deviation_one(values: list[float]) -> None:
    x = fitted(*values)[1][:, 0].astype(np.float64)
    if np.ptp(values) > 1e-3:
        assert abs(x.mean()) < 1e-3
        assert abs(x.std() - 1) < 1e-3


@given(numbers, st.floats(0.1, 100), st.floats(-1e3, 1e3))
def test_another_unit_of_the_column_changes_nothing(values: list[float], factor: float, shift: float) -> None:
    if np.ptp(values) > 1:
        one, two = fitted(*values)[1], fitted(*(factor * value + shift for value in values))[1]
        np.testing.assert_allclose(one, two, atol=1e-3)


@given(numbers)
def test_a_gap_is_filled_by_the_median_and_marked(values: list[float]) -> None:
    preparation, x = fitted(*values, None)
    assert x[-1, 1] == 1
    assert x[:-1, 1].sum() == 0
    np.testing.assert_allclose(x[-1, 0], applied(preparation, float(np.median(values)))[0][0], atol=1e-6)


def test_a_gap_where_there_was_none_is_filled_without_a_mark() -> None:
    preparation, _ = fitted(1.0, 2.0, 6.0)
    assert preparation.feature_names == ["c"]
    assert applied(preparation, None, 2.0)[0] == applied(preparation, None, 2.0)[1]


@pytest.mark.parametrize("kind", READERS)
def test_every_kind_reads_what_is_missing_as_missing(kind: str) -> None:
    result = read_numbers(pl.Series("c", [None, None], dtype=pl.String), kind)
    assert np.isnan(result).all()


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("number", " 2.5 ", 2.5),
        ("number", "1e3", 1000.0),
        ("boolean", "TRUE", 1.0),
        ("boolean", " false ", 0.0),
        ("boolean", "1", 1.0),
        ("date", "1970-01-01", 0.0),
        ("date", "2000-01-01", 10957 / 365.25),
    ],
)
def test_text_is_read_as_its_kind(kind: str, value: str, expected: float) -> None:
    np.testing.assert_allclose(read_numbers(pl.Series("c", [value]), kind), [expected])


@given(st.floats(allow_nan=False))
def test_nothing_in_a_new_table_leaves_the_range_of_32_bits(value: float) -> None:
    preparation, _ = fitted(0.0, 1e-9)
    assert abs(applied(preparation, value)[0][0]) <= LIMIT
