"""The kinds of column, one by one, and the laws that hold for all of them."""

import json
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from intake_tables import mixed_table

from anml.core.errors import InputError
from anml.intake.encode.category import MOST_LEVELS
from anml.intake.encode.kinds import kind_of
from anml.intake.encode.preparation import ENCODERS, Preparation
from anml.intake.plain import plain


def fitted(*values: Any, seed: int = 0, dtype: Any = None) -> tuple[Preparation, np.ndarray[Any, Any]]:
    frame = plain(pl.DataFrame({"c": pl.Series(values, dtype=dtype, strict=False)}))
    preparation = Preparation.fit(frame, ["c"], seed)
    return preparation, preparation.transform(frame)


def applied(preparation: Preparation, *values: Any, dtype: Any = None) -> list[list[float]]:
    frame = plain(pl.DataFrame({"c": pl.Series(values, dtype=dtype, strict=False)}))
    made: list[list[float]] = preparation.transform(frame).tolist()
    return made


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, 2], "number"),
        ([1.5, None], "number"),
        ([True, None], "boolean"),
        (["2024-01-31", None], "date"),
        (["2024-01-31T10:00:00Z", "2024-02-01"], "date"),
        (["2024-01-31", "never"], "category"),
        (["2024", "2025"], "category"),
        (["red", "blue"], "category"),
        (["strongly agree with it", "do not agree at all"] * 5, "category"),
        ([f"this is text {at}" for at in range(6)], "text"),
        ([f"this is text {at}" for at in range(60)] * 20, "text"),
        ([f"user{at}" for at in range(60)], "category"),
        ([None, None], "category"),
        ([[1], [2]], "nested"),
    ],
)
def test_kinds(values: list[Any], kind: str) -> None:
    series = plain(pl.DataFrame({"c": values}))["c"]
    assert kind_of(series) == kind
    assert kind in ENCODERS or kind == "nested"


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


def test_categories_by_hand() -> None:
    preparation, x = fitted("b", "a", "b", None, "c")
    assert preparation.feature_names == ["c=b", "c=a", "c=c", "c (missing)"]
    assert x.tolist() == [[1, 0, 0, 0], [0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]]
    assert applied(preparation, "new", None, "a") == [[0, 0, 0, 0], [0, 0, 0, 1], [0, 1, 0, 0]]


def test_rare_levels_are_one() -> None:
    levels = [f"l{at:03}" for at in range(MOST_LEVELS + 5)]
    preparation, x = fitted(*levels, *levels[5:])
    assert x.shape[1] == MOST_LEVELS + 1
    assert preparation.feature_names[0] == "c=l005"
    assert preparation.feature_names[-1] == "c (other)"
    assert x[:5, -1].tolist() == [1] * 5
    assert x[:, :-1].sum() == 2 * MOST_LEVELS
    assert applied(preparation, "unseen", None)[0][-1] == 1
    assert sum(applied(preparation, "unseen", None)[1]) == 0


def test_numbered_levels_read_as_numbers_elsewhere() -> None:
    preparation, _ = fitted("1", "2", "x")
    assert applied(preparation, 2, 1) == applied(preparation, 2.0, 1.0) == [[0, 1, 0], [1, 0, 0]]


def test_a_missing_column_is_named() -> None:
    table = mixed_table()
    preparation = Preparation.fit(table, ["size", "colour", "ripe"], 0)
    with pytest.raises(InputError, match="lacks 2 columns that the model was trained on: 'colour', 'ripe'"):
        preparation.transform(table.drop("colour", "ripe"))


def test_unknown_format() -> None:
    with pytest.raises(InputError, match="format 99; this version reads 1"):
        Preparation.from_parts({"format": 99}, {})


FEATURES = ["size", "count", "colour", "ripe", "seen", "words"]
COLUMN = st.one_of(
    st.lists(st.none() | st.floats(allow_nan=True, allow_infinity=True), min_size=12, max_size=12),
    st.lists(st.none() | st.integers(-(2**62), 2**62), min_size=12, max_size=12),
    st.lists(st.none() | st.booleans(), min_size=12, max_size=12),
    st.lists(st.none() | st.text(max_size=8), min_size=12, max_size=12),
    st.lists(st.none() | st.datetimes().map(lambda time: time.replace(fold=0)), min_size=12, max_size=12),
    st.lists(
        st.lists(st.sampled_from(["rain", "sun", "wind", "snow"]), min_size=3).map(" ".join),
        min_size=12,
        max_size=12,
    ),
)


@settings(max_examples=100)
@given(st.lists(COLUMN, min_size=1, max_size=4), st.randoms(use_true_random=False))
def test_laws_of_every_table(columns: list[list[Any]], random: Any) -> None:
    frame = plain(pl.DataFrame({f"c{at}": values for at, values in enumerate(columns)}, strict=False))
    preparation = Preparation.fit(frame, frame.columns, seed=0)
    x = preparation.transform(frame)
    assert x.dtype == np.float32
    assert x.shape == (12, len(preparation.feature_names))
    assert np.isfinite(x).all()
    # Parts through JSON give the same bits.
    settings_, arrays = preparation.to_parts()
    again = Preparation.from_parts(json.loads(json.dumps(settings_, allow_nan=False)), arrays)
    assert again.feature_names == preparation.feature_names
    assert again.transform(frame).tobytes() == x.tobytes()
    # The order of rows permutes x, whether only applied or learned anew.
    order = list(range(12))
    random.shuffle(order)
    shuffled = frame[order]
    assert preparation.transform(shuffled).tobytes() == x[order].tobytes()
    assert (
        Preparation.fit(shuffled, frame.columns, seed=0).transform(shuffled).tobytes() == x[order].tobytes()
    )


@pytest.mark.parametrize("seed", [0, 1])
def test_laws_with_text_that_is_reduced(seed: int) -> None:
    random = np.random.default_rng(seed)
    vocabulary = np.array([f"word{at}" for at in range(300)])
    texts = [" ".join(random.choice(vocabulary, 12)) for _ in range(150)]
    frame = mixed_table(150, seed).with_columns(words=pl.Series(texts))
    preparation = Preparation.fit(frame, FEATURES, seed)
    x = preparation.transform(frame)
    settings_, arrays = preparation.to_parts()
    assert all(isinstance(array, np.ndarray) and array.flags["C_CONTIGUOUS"] for array in arrays.values())
    again = Preparation.from_parts(json.loads(json.dumps(settings_)), arrays)
    assert again.transform(frame).tobytes() == x.tobytes()
    order = random.permutation(150)
    shuffled = Preparation.fit(frame[order], FEATURES, seed).transform(frame[order])
    np.testing.assert_allclose(shuffled, x[order], atol=1e-5)
    assert preparation.transform(frame[:1]).tobytes() == x[:1].tobytes()
