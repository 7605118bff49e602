"""Krum scores against a direct computation, by tiles, by references, and in linear memory."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anml.core.errors import InputError
from anml.networks import sample_krum as krum
from anml.networks.factors import DenseFactor, Factors
from anml.networks.sample_krum import k_smallest, krum_scores
from krum_sums import by_references, directly, with_outliers


def as_factors(points) -> Factors:
    """Samples whose gradients are the points, and a bias that is the same for all."""
    gradients = np.asarray(points, dtype=np.float64)
    return Factors([DenseFactor(gradients, np.ones((len(gradients), 1)))], np.zeros(len(gradients)))


def test_outliers_score_high():
    scores = krum_scores(as_factors(with_outliers(70, 5)), 10)
    assert scores[70:].min() > scores[:70].max()


def test_by_hand():
    points = np.array([[0.0], [1.0], [3.0], [10.0]])
    np.testing.assert_allclose(krum_scores(as_factors(points), 1), [1, 1, 4, 49])
    np.testing.assert_allclose(krum_scores(as_factors(points), 2), [1 + 9, 1 + 4, 4 + 9, 49 + 81])


@given(st.integers(2, 40), st.integers(1, 5), st.integers(1, 40), st.integers(0, 99), st.integers(1, 9))
def test_equals_the_direct_sum_in_tiles_of_any_height(n, d, k, seed, rows):
    points = np.random.default_rng(seed).normal(size=(n, d))
    k = min(k, n - 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(krum, "TILE_BYTES", n * 8 * rows)
        np.testing.assert_allclose(krum_scores(as_factors(points), k), directly(points, k), rtol=1e-8)


def test_with_several_layers():
    rng = np.random.default_rng(0)
    layers = [DenseFactor(rng.normal(size=(300, a)), rng.normal(size=(300, d))) for a, d in ((5, 7), (7, 3))]
    whole = np.concatenate(
        [np.concatenate([np.einsum("ni,nj->nij", f.a, f.d).reshape(300, -1), f.d], axis=1) for f in layers],
        axis=1,
    )
    result = krum_scores(Factors(layers, np.zeros(300)), 10)
    np.testing.assert_allclose(result, directly(whole, 10), rtol=1e-9)


def test_ties_lose_nothing():
    points = np.random.default_rng(0).integers(0, 3, size=(120, 2)).astype(float)
    np.testing.assert_allclose(krum_scores(as_factors(points), 11), directly(points, 11), atol=1e-9)


def test_all_samples_as_references_is_exact():
    points = np.random.default_rng(0).normal(size=(50, 4))
    np.testing.assert_array_equal(
        krum_scores(as_factors(points), 10, references=50), krum_scores(as_factors(points), 10)
    )


@pytest.mark.parametrize("rows", [1, 7, 1_000])
def test_references_leave_the_sample_itself_out(monkeypatch, rows):
    monkeypatch.setattr(krum, "TILE_BYTES", 8 * 8 * rows)
    points = np.random.default_rng(0).normal(size=(30, 2))
    scores = krum_scores(as_factors(points), 3, references=8, seed=5)
    np.testing.assert_allclose(scores, by_references(points, 3, 8, seed=5), rtol=1e-6)


def test_one_sample_and_one_reference():
    np.testing.assert_array_equal(krum_scores(as_factors([[1.0]]), 0), [0])
    scores = krum_scores(as_factors([[0.0], [1.0], [2.0]]), 5, references=1)
    assert np.isfinite(scores).all()
    assert (scores == 0).sum() == 1


def test_no_references():
    with pytest.raises(InputError, match="references must be at least 1"):
        krum_scores(as_factors([[0.0], [1.0]]), 1, references=0)


def test_duplicates_are_at_distance_zero():
    points = np.ones((20, 3), dtype=np.float32)
    np.testing.assert_allclose(krum_scores(as_factors(points), 10), 0, atol=1e-6)


def test_the_smallest_of_each_row():
    tile = np.array([[5.0, 1.0, 3.0], [2.0, np.inf, 0.0]])
    assert np.sort(k_smallest(tile, 2)).tolist() == [[1, 3], [0, 2]]


def test_working_memory_does_not_grow_with_the_square_of_n():
    gradients = np.random.default_rng(0).normal(size=(12_000, 4)).astype(np.float32)
    factors = Factors([DenseFactor(gradients, np.ones((12_000, 1), np.float32))], np.zeros(12_000))
    tracemalloc.start()
    krum_scores(factors, 10)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # All distances would take 549 MiB; three tiles of 8 MiB and their sums are in memory at a time.
    assert peak < 60 * 2**20
