"""Predictions and embeddings as arrays: put in order, checked row by row, named where they are wrong."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anml.core.errors import InputError
from anml.io.labels import Labels
from anml.io.side_inputs import TOLERANCE, read_embeddings, read_predictions, read_vectors
from anml.io.tables import read_table

CLASSES = ["a", "b", "c"]
TABLE = read_table(pl.DataFrame({"id": [10, 11, 12, 13], "label": ["a", "b", "c", "a"]}))
ROWS = np.arange(4)
P = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6], [1.0, 0.0, 0.0]])


def labels(task="classification", classes=None):
    return Labels(np.zeros(4, dtype=np.int64), task, CLASSES if classes is None else classes, [])


def read(source, rows=ROWS, key=None, **more):
    return read_predictions(source, TABLE, rows, labels(**more), key)[0]


class TestProbabilities:
    def test_an_array_passes_as_it_is(self):
        np.testing.assert_allclose(read(P), P)

    @given(st.permutations(range(3)))
    def test_named_columns_may_come_in_any_order(self, order):
        frame = pl.DataFrame({CLASSES[at]: P[:, at] for at in order})
        np.testing.assert_allclose(read(frame), P)

    @given(st.lists(st.integers(0, 3), min_size=1, max_size=4, unique=True))
    def test_only_rows_that_are_used_are_read(self, rows):
        np.testing.assert_allclose(read(P, np.array(rows)), P[rows])

    @given(st.permutations(range(4)))
    def test_a_key_puts_rows_in_order(self, order):
        frame = pl.DataFrame(
            {"id": [10 + at for at in order], **{c: P[order, i] for i, c in enumerate(CLASSES)}}
        )
        np.testing.assert_allclose(read(frame, key="id"), P)

    @pytest.mark.parametrize("off", [TOLERANCE * 0.9, -TOLERANCE * 0.9])
    def test_what_rounding_left_over_is_shared_out(self, off):
        result = read(P * (1 + off))
        np.testing.assert_allclose(result.sum(axis=1), 1)
        np.testing.assert_allclose(result, P, atol=1e-9)

    def test_a_little_below_zero_is_zero(self):
        rounded = P.copy()
        rounded[3] = [1.0, -1e-12, 0.0]
        assert read(rounded).min() == 0

    @pytest.mark.parametrize("shape", [(4,), (4, 1)])
    def test_of_two_classes_one_column_without_a_name_is_the_second(self, shape):
        second = np.array([0.1, 0.5, 0.9, 1.0])
        result = read(second.reshape(shape), classes=["no", "yes"])
        np.testing.assert_allclose(result, np.column_stack([1 - second, second]))

    @pytest.mark.parametrize(("name", "first"), [("a", True), ("b", False), ("A", True)])
    def test_of_two_classes_one_named_column_is_enough(self, name, first):
        p = np.array([0.9, 0.2, 0.5, 0.0])
        result = read(pl.DataFrame({name: p}), classes=["a", "b"])
        np.testing.assert_allclose(result[:, 0 if first else 1], p)
        np.testing.assert_allclose(result.sum(axis=1), 1)

    @pytest.mark.parametrize(
        ("source", "says"),
        [
            (P[:, :2], r"one column for each of the 3 classes \('a', 'b', 'c'\), got 2"),
            (P * 2, "must sum to 1, got 2 in row 0 .off by more than 0.001 in 4 rows"),
            (np.where(P == 0.8, np.nan, P), "1 values are missing or infinite, the first in row 1"),
            (P - 0.3, "must be probabilities, which are not negative, got -0.2 in row 0"),
            (
                pl.DataFrame({"a": P[:, 0], "b": P[:, 1]}),
                "have no column for class 'c'; one for each is needed",
            ),
            (pl.DataFrame(dict.fromkeys("abcd", P[:, 0])), "column 'd' of the predictions is no class"),
            (
                pl.DataFrame({"a": P[:, 0], "A": P[:, 1], "c": P[:, 2]}),
                "column 'A' .* a second column of a class",
            ),
            (P[:3], "the predictions have 3 rows and the table has 4"),
        ],
    )
    def test_what_is_wrong_is_one_sentence(self, source, says):
        with pytest.raises(InputError, match=says) as raised:
            read(source)
        assert "\n" not in str(raised.value)

    def test_rows_are_named_as_in_the_table(self):
        bad = P.copy()
        bad[3] = 2.0
        with pytest.raises(InputError, match="in row 3"):
            read(bad, np.array([1, 3]))


class TestQuantities:
    def test_one_column_in_any_form(self):
        values = np.array([1.0, -2.0, 3.5, 0.0])
        for source in (values, values[:, None], pl.DataFrame({"said": values}), pl.Series(values)):
            np.testing.assert_array_equal(read(source, task="regression"), values)

    @pytest.mark.parametrize(
        ("source", "says"),
        [
            (P, "predictions of a quantity are one column, got 3"),
            (
                pl.DataFrame({"id": [1, 2, 3, 4], "p": P[:, 0]}),
                "column 'id' is also in the table: name it as key",
            ),
            (np.array([1.0, np.inf, 0, 0]), "missing or infinite, the first in row 1"),
        ],
    )
    def test_what_is_wrong_is_one_sentence(self, source, says):
        with pytest.raises(InputError, match=says):
            read(source, task="regression")


class TestEmbeddings:
    @settings(max_examples=20)
    @given(st.integers(1, 6), st.integers(0, 99))
    def test_vectors_are_those_of_the_rows_used(self, width, seed):
        vectors = np.random.default_rng(seed).normal(size=(4, width))
        result, about = read_embeddings(vectors, TABLE, np.array([2, 0]))
        assert result.dtype == np.float32
        np.testing.assert_array_equal(result, vectors[[2, 0]].astype(np.float32))
        assert len(about["sha256"]) == 64

    def test_equal_numbers_have_equal_hashes_and_others_others(self):
        vectors = np.arange(8.0).reshape(4, 2)
        hashes = [
            read_embeddings(x, TABLE, ROWS)[1]["sha256"] for x in (vectors, vectors.copy(), vectors + 1)
        ]
        assert hashes[0] == hashes[1] != hashes[2]

    @pytest.mark.parametrize(
        ("source", "says"),
        [
            (np.zeros((4, 0)), "at least one dimension"),
            (np.full((4, 2), 1e300), r"embeddings are too large, such as 1e\+300"),
            (np.full((4, 2), np.nan), "8 values are missing or infinite"),
            (np.zeros(4), r"embeddings must be an array \(rows, columns\)"),
        ],
    )
    def test_what_is_wrong_is_one_sentence(self, source, says):
        with pytest.raises(InputError, match=says):
            read_embeddings(source, TABLE, ROWS)


class TestVectors:
    def test_a_frame_or_an_array_of_the_right_width(self):
        vectors = np.arange(6.0).reshape(3, 2)
        np.testing.assert_array_equal(read_vectors(vectors, 2), vectors)
        np.testing.assert_array_equal(read_vectors(pl.DataFrame(vectors, schema=["x", "y"]), 2), vectors)

    def test_another_width_is_named(self):
        with pytest.raises(InputError, match="trained on embeddings of 3 dimensions, got 2"):
            read_vectors(np.zeros((2, 2)), 3)
