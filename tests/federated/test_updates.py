"""The door of aggregation: what is let in, distances, sketches."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anml.core.errors import InputError
from anml.federated.updates import (
    as_updates,
    check_malicious,
    column_blocks,
    combine,
    non_finite_clients,
    norms,
    project,
    squared_distances,
)


def test_distances_are_those_of_updates_also_where_models_hardly_differ():
    rng = np.random.default_rng(0)
    tiny = (1e-4 * rng.normal(size=(10, 20_000))).astype(np.float32) + np.float32(1.0)
    exact = np.square(tiny[:, None].astype(np.float64) - tiny[None].astype(np.float64)).sum(axis=2)
    assert squared_distances(tiny) == pytest.approx(exact, rel=1e-4, abs=1e-9)


def test_sketch_keeps_distances():
    rng = np.random.default_rng(0)
    updates = rng.normal(size=(6, 50_000))
    exact = squared_distances(updates)
    apart = squared_distances(project(updates, 4_096, rng))
    off = ~np.eye(6, dtype=bool)
    assert np.abs(apart[off] / exact[off] - 1).max() < 0.1


class TestDoor:
    def test_lists_of_arrays_of_any_shape_are_rows(self):
        result = as_updates([np.ones((2, 3)), np.zeros((3, 2))])
        assert result.shape == (2, 6)

    @pytest.mark.parametrize(
        ("dtype", "kept"),
        [
            (np.float32, np.float32),
            (np.float64, np.float64),
            (np.int32, np.float64),
            (np.float16, np.float64),
        ],
    )
    def test_precision(self, dtype, kept):
        assert as_updates(np.ones((2, 2), dtype=dtype)).dtype == kept

    def test_an_array_is_not_copied(self):
        updates = np.ones((2, 2))
        assert as_updates(updates) is updates

    @pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
    def test_the_client_is_named(self, bad):
        updates = np.zeros((4, 3))
        updates[2, 1] = bad
        assert non_finite_clients(updates) == [2]
        with pytest.raises(InputError, match="the update of client 2 has 1 missing or infinite values"):
            as_updates(updates)

    def test_large_values_whose_sum_overflows_are_sound(self):
        assert non_finite_clients(np.full((2, 3), 1.7e308)) == []
        assert non_finite_clients(np.array([[np.inf, -np.inf], [1.0, 2.0]])) == [0]

    @pytest.mark.parametrize(
        ("f", "says"),
        [(-1, "must be at least 0, got -1"), (3, "X needs it, got f = 3 for n = 5"), (True, "whole")],
    )
    def test_how_many_may_lie(self, f, says):
        with pytest.raises(InputError, match=says):
            check_malicious(f, 5, 2, "X", "it")


class TestDistances:
    @settings(max_examples=20)
    @given(st.integers(2, 8), st.integers(1, 30), st.integers(0, 99))
    def test_are_those_of_all_pairs(self, n, d, seed):
        updates = np.random.default_rng(seed).normal(size=(n, d))
        slow = np.square(updates[:, None] - updates[None]).sum(axis=2)
        np.testing.assert_allclose(squared_distances(updates), slow, atol=1e-9)
        np.testing.assert_allclose(norms(updates), np.linalg.norm(updates, axis=1))

    @pytest.mark.parametrize("size", [1, 7, 1000])
    def test_blocks_cover_every_column_once(self, size):
        columns = np.concatenate([np.arange(50)[block] for block in column_blocks(np.zeros((2, 50)), size)])
        np.testing.assert_array_equal(columns, np.arange(50))

    def test_it_does_not_matter_where_updates_are_measured_from(self):
        updates = np.random.default_rng(0).normal(size=(4, 6)).astype(np.float32)
        np.testing.assert_allclose(squared_distances(updates + 100), squared_distances(updates), rtol=1e-3)


class TestParts:
    def test_combine_keeps_the_precision(self):
        result = combine(np.array([[1.0, 2.0], [3.0, 4.0]], dtype=np.float32), np.array([0.25, 0.75]))
        assert result.dtype == np.float32
        assert result.tolist() == [2.5, 3.5]

    def test_short_updates_are_not_sketched(self):
        updates = np.ones((2, 5))
        assert project(updates, 5, np.random.default_rng(0)) is updates

    @settings(max_examples=10)
    @given(st.integers(0, 99))
    def test_sketches_are_linear_and_follow_their_seed(self, seed):
        rng = np.random.default_rng(seed)
        updates = rng.normal(size=(3, 100))
        one = project(updates, 16, np.random.default_rng(seed))
        np.testing.assert_allclose(project(3 * updates, 16, np.random.default_rng(seed)), 3 * one)
        total = project(updates.sum(axis=0, keepdims=True), 16, np.random.default_rng(seed))
        np.testing.assert_allclose(total[0], one.sum(axis=0), atol=1e-9)
