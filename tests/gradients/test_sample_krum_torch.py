"""Krum scores against a direct computation, by blocks, by references, and in linear memory."""

import tracemalloc
from unittest import mock

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from anml.core.errors import InputError
from anml.gradients import sample_krum_torch as krum
from anml.gradients.factors import LayerFactor, materialised_factors
from anml.gradients.sample_krum_torch import krum_scores
from anml.networks import sample_krum as networks_krum
from anml.networks.factors import Factors
from krum_sums import by_references, directly, with_outliers


def as_factors(points) -> object:
    gradients = torch.tensor(np.asarray(points), dtype=torch.float64)
    return materialised_factors(gradients, torch.zeros(len(gradients), dtype=torch.float64))


def test_by_hand():
    points = np.array([[0.0], [1.0], [3.0], [10.0]])
    np.testing.assert_allclose(krum_scores(as_factors(points), 1), [1, 1, 4, 49])
    np.testing.assert_allclose(krum_scores(as_factors(points), 2), [1 + 9, 1 + 4, 4 + 9, 49 + 81])


@given(st.integers(2, 40), st.integers(1, 5), st.integers(1, 40), st.integers(0, 99))
def test_equals_the_direct_sum(n, d, k, seed):
    points = np.random.default_rng(seed).normal(size=(n, d))
    k = min(k, n - 1)
    np.testing.assert_allclose(krum_scores(as_factors(points), k), directly(points, k), rtol=1e-9)


def test_stripes_of_rows_give_the_same(monkeypatch):
    points = np.random.default_rng(0).normal(size=(100, 4))
    whole = krum_scores(as_factors(points), 10)
    monkeypatch.setattr(networks_krum, "TILE_BYTES", 100 * 8 * 7)
    monkeypatch.setattr(krum, "MAX_NEIGHBOURS", 0)
    np.testing.assert_allclose(krum_scores(as_factors(points), 10), whole, rtol=1e-12)


@given(
    st.integers(12, 200), st.integers(1, 11), st.sampled_from([8, 16, 24, 33, 64]), st.booleans(),
    st.integers(0, 99),
)  # fmt: skip
def test_each_pair_once_gives_the_same(n, k, side, repeated, seed):
    """Tiles above the diagonal serve rows and columns; ragged last tiles, and ties lose nothing."""
    rng = np.random.default_rng(seed)
    points = rng.integers(0, 3, size=(n, 2)).astype(float) if repeated else rng.normal(size=(n, 3))
    with (
        mock.patch.object(networks_krum, "TILE_BYTES", 1),
        mock.patch.object(krum, "TILE_SIZE", {"cpu": side}),
    ):
        scores = krum_scores(as_factors(points), k)
    np.testing.assert_allclose(scores, directly(points, k), rtol=1e-9, atol=1e-9)


def test_each_pair_once_with_the_factors_of_a_network():
    generator = torch.Generator().manual_seed(0)
    shapes = ((5, 7), (7, 3))
    layers = [
        LayerFactor(torch.randn(2_000, a, generator=generator), torch.randn(2_000, d, generator=generator))
        for a, d in shapes
    ]
    factors = Factors(layers, torch.zeros(2_000))
    tiles = krum_scores(factors, 10)
    with mock.patch.object(krum, "MAX_NEIGHBOURS", 0):
        np.testing.assert_allclose(tiles, krum_scores(factors, 10), rtol=2e-5)


def test_all_samples_as_references_is_exact():
    points = np.random.default_rng(0).normal(size=(50, 4))
    np.testing.assert_array_equal(
        krum_scores(as_factors(points), 10, references=50), krum_scores(as_factors(points), 10)
    )


def test_references_leave_the_sample_itself_out():
    points = np.random.default_rng(0).normal(size=(30, 2))
    scores = krum_scores(as_factors(points), 3, references=8, seed=5)
    np.testing.assert_allclose(scores, by_references(points, 3, 8, seed=5), rtol=1e-6)


def test_outliers_score_high():
    scores = krum_scores(as_factors(with_outliers(70, 5)), 10)
    assert scores[70:].min() > scores[:70].max()


def test_one_sample_and_one_reference():
    np.testing.assert_array_equal(krum_scores(as_factors([[1.0]]), 0), [0])
    assert krum_scores(as_factors([[0.0], [1.0], [2.0]]), 5, references=1).shape == (3,)


def test_no_references():
    with pytest.raises(InputError, match="references must be at least 1"):
        krum_scores(as_factors([[0.0], [1.0]]), 1, references=0)


def test_duplicates_are_at_distance_zero():
    points = np.ones((20, 3), dtype=np.float32)
    np.testing.assert_allclose(krum_scores(as_factors(points), 10), 0, atol=1e-6)


def test_working_memory_does_not_grow_with_the_square_of_n():
    """Peak beyond the factors stays near one tile: tiles shrink in rows as n grows."""

    def tile_rows(n):
        return max(1, networks_krum.TILE_BYTES // (n * 4))

    assert tile_rows(100_000) * 100_000 <= networks_krum.TILE_BYTES / 4 + 100_000
    tracemalloc.start()
    gradients = torch.randn(5_000, 4, generator=torch.Generator().manual_seed(0))
    krum_scores(materialised_factors(gradients, torch.zeros(5_000)), 10, references=500)
    assert tracemalloc.get_traced_memory()[1] < 50 * 2**20
    tracemalloc.stop()
