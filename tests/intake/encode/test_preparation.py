"""What was learned from a table, applied to another: laws for columns of every kind."""

import json
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from intake_tables import mixed_table

from anml.core.errors import InputError
from anml.intake.encode.preparation import Preparation
from anml.intake.plain import plain


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
