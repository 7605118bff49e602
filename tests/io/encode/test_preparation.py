"""Feature encoder applied to another table: properties for columns of every type."""

import json
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anml.core.errors import InputError
from anml.io.encode.preparation import ENCODERS, FeatureEncoder
from anml.io.plain import normalise_types
from intake_tables import mixed_table


def test_a_missing_column_is_named() -> None:
    table = mixed_table()
    preparation = FeatureEncoder.fit(table, ["size", "colour", "ripe"], 0)
    with pytest.raises(InputError, match="lacks 2 columns that the model was trained on: 'colour', 'ripe'"):
        preparation.transform(table.drop("colour", "ripe"))


def test_unknown_format() -> None:
    with pytest.raises(InputError, match="format 99; this version reads 1"):
        FeatureEncoder.from_parts({"format": 99}, {})


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


@settings(max_examples=50)
@given(st.lists(COLUMN, min_size=1, max_size=4), st.randoms(use_true_random=False))
def test_laws_of_every_table(columns: list[list[Any]], random: Any) -> None:
    frame = normalise_types(
        pl.DataFrame({f"c{at}": values for at, values in enumerate(columns)}, strict=False)
    )
    preparation = FeatureEncoder.fit(frame, frame.columns, seed=0)
    x = preparation.transform(frame)
    assert x.dtype == np.float32
    assert x.shape == (12, len(preparation.feature_names))
    assert np.isfinite(x).all()
    # Parts through JSON give the same bits.
    settings_, arrays = preparation.to_parts()
    again = FeatureEncoder.from_parts(json.loads(json.dumps(settings_, allow_nan=False)), arrays)
    assert again.feature_names == preparation.feature_names
    assert again.transform(frame).tobytes() == x.tobytes()
    # The order of rows permutes x, whether only applied or learned anew.
    order = list(range(12))
    random.shuffle(order)
    shuffled = frame[order]
    assert preparation.transform(shuffled).tobytes() == x[order].tobytes()
    assert (
        FeatureEncoder.fit(shuffled, frame.columns, seed=0).transform(shuffled).tobytes()
        == x[order].tobytes()
    )


@pytest.mark.parametrize("seed", [0, 1])
def test_laws_with_text_that_is_reduced(seed: int) -> None:
    random = np.random.default_rng(seed)
    vocabulary = np.array([f"word{at}" for at in range(300)])
    texts = [" ".join(random.choice(vocabulary, 12)) for _ in range(150)]
    frame = mixed_table(150, seed).with_columns(words=pl.Series(texts))
    preparation = FeatureEncoder.fit(frame, FEATURES, seed)
    x = preparation.transform(frame)
    settings_, arrays = preparation.to_parts()
    assert all(isinstance(array, np.ndarray) and array.flags["C_CONTIGUOUS"] for array in arrays.values())
    again = FeatureEncoder.from_parts(json.loads(json.dumps(settings_)), arrays)
    assert again.transform(frame).tobytes() == x.tobytes()
    order = random.permutation(150)
    shuffled = FeatureEncoder.fit(frame[order], FEATURES, seed).transform(frame[order])
    np.testing.assert_allclose(shuffled, x[order], atol=1e-5)
    assert preparation.transform(frame[:1]).tobytes() == x[:1].tobytes()


EXAMPLES: dict[str, list[Any]] = {
    "number": [1.0, 2.0, None, 5.0] * 3,
    "boolean": [True, False, None, True] * 3,
    "date": ["2024-01-31", "2023-05-01", None, "2020-02-29"] * 3,
    "category": ["red", "blue", None, "red"] * 3,
    "text": ["rain sun again", "sun wind again", "wind rain again", "rain sun wind", "again again rain"],
}


def test_every_encoder_has_an_example() -> None:
    assert set(EXAMPLES) == set(ENCODERS)


@pytest.mark.parametrize("kind", ENCODERS)
class TestEveryEncoder:
    def learned(self, kind: str, seed: int = 0) -> tuple[Any, pl.Series]:
        series = normalise_types(pl.DataFrame({"c": EXAMPLES[kind]}))["c"]
        return ENCODERS[kind].fit(series, kind, seed), series

    def filled(self, column: Any, series: pl.Series) -> np.ndarray[Any, Any]:
        out = np.zeros((len(series), len(column.names)), dtype=np.float32)
        column.fill(series, out)
        return out

    def test_remembers_its_column_and_kind(self, kind: str) -> None:
        column, _ = self.learned(kind)
        assert (column.column, column.kind) == ("c", kind)
        assert column.names
        assert len(set(column.names)) == len(column.names)
        assert all(name.startswith("c") for name in column.names)

    def test_parts_survive_json_and_give_the_same_bits(self, kind: str) -> None:
        column, series = self.learned(kind)
        settings_, arrays = FeatureEncoder((column,)).to_parts()
        kept = json.loads(json.dumps(settings_, allow_nan=False))
        (again,) = FeatureEncoder.from_parts(kept, arrays).columns
        assert again.names == column.names
        assert self.filled(again, series).tobytes() == self.filled(column, series).tobytes()

    def test_a_row_is_written_alike_alone_and_among_others(self, kind: str) -> None:
        column, series = self.learned(kind)
        whole = self.filled(column, series)
        for at in range(len(series)):
            np.testing.assert_array_equal(self.filled(column, series[at : at + 1])[0], whole[at])

    def test_different_values_are_written_differently(self, kind: str) -> None:
        column, series = self.learned(kind)
        made = {tuple(row) for row in self.filled(column, series).tolist()}
        assert len(made) == series.n_unique()

    def test_nothing_known_is_no_error(self, kind: str) -> None:
        column, series = self.learned(kind)
        empty = pl.Series("c", [None] * 3, dtype=series.dtype)
        assert np.isfinite(self.filled(column, empty)).all()

    def test_the_seed_gives_the_same_column(self, kind: str) -> None:
        one, two = (FeatureEncoder((self.learned(kind, seed=3)[0],)).to_parts() for _ in range(2))
        assert one[0] == two[0]
        for name, array in one[1].items():
            np.testing.assert_array_equal(array, two[1][name])


def test_columns_stand_side_by_side_in_the_order_asked_for() -> None:
    frame = mixed_table()
    one = FeatureEncoder.fit(frame, ["size", "colour"], 0)
    two = FeatureEncoder.fit(frame, ["colour", "size"], 0)
    width = len(one.columns[0].names)
    x, y = one.transform(frame), two.transform(frame)
    np.testing.assert_array_equal(x[:, :width], y[:, -width:])
    np.testing.assert_array_equal(x[:, width:], y[:, :-width])


def test_no_features_are_no_columns() -> None:
    assert FeatureEncoder.fit(mixed_table(5), [], 0).transform(mixed_table(5)).shape == (5, 0)


def test_lists_cannot_be_features() -> None:
    with pytest.raises(InputError, match=r"column 'c' holds List\(Int64\), which cannot be a feature"):
        FeatureEncoder.fit(pl.DataFrame({"c": [[1], [2]]}), ["c"], 0)
