"""Backdoors in what a network makes of rows: by hand, laws, and bad input."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anml.core.errors import InputError
from experiments.valuation.backdoors import FAR, activation_clusters, spectral_signatures

BOTH = (spectral_signatures, activation_clusters)


def planted(seed: int, share: float = 0.15) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two classes of noise; part of the first is moved far along one direction."""
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(400, 8)), np.repeat([0, 1], 200)
    bad = (y == 0) & (np.arange(400) < 400 * share / 2)
    x[bad, 3] += 9
    return x, y, bad


def test_a_line_by_hand():
    """0, 1, 2, 3 and 12: the middle is 2, the usual distance from it 1, so 12 is ten away."""
    value = spectral_signatures(np.array([[0.0], [1.0], [2.0], [3.0], [12.0]]), np.zeros(5))
    assert value == pytest.approx(FAR - np.array([2, 1, 0, 1, 10]) / 1.4826)


@pytest.mark.parametrize("find", BOTH)
@pytest.mark.parametrize("seed", range(3))
def test_what_is_planted_is_found_and_hardly_anything_else(find, seed):
    x, y, bad = planted(seed)
    result = find(x, y) <= 0
    assert result[bad].all()
    assert result[~bad].mean() < 0.02


@pytest.mark.parametrize("find", BOTH)
def test_where_nothing_is_planted_hardly_anything_is_found(find):
    x, y, _ = planted(5, share=0.0)
    assert (find(x, y) <= 0).mean() < 0.02


@given(st.integers(0, 2**32 - 1))
def test_the_order_of_rows_and_a_shift_leave_no_trace(seed):
    x, y, _ = planted(seed)
    order = np.random.default_rng(seed).permutation(len(y))
    result = spectral_signatures(x, y)
    assert spectral_signatures(x[order] + 7.0, y[order]) == pytest.approx(result[order], abs=1e-6)


@pytest.mark.parametrize("find", BOTH)
def test_rows_that_are_all_alike_stay(find):
    assert (find(np.ones((6, 2)), np.zeros(6)) > 0).all()


@pytest.mark.parametrize("find", BOTH)
@pytest.mark.parametrize("features", [np.ones(3), np.ones((2, 1)), np.full((3, 1), np.nan)])
def test_bad_input_is_one_sentence(find, features):
    with pytest.raises(InputError, match="features must be finite, with one label a row"):
        find(features, np.zeros(3))


def test_poison_that_outnumbers_the_honest_rows_of_its_class_is_that_of_fewer_contributors():
    x, y, bad = planted(0, share=0.7)
    contributor = np.where(bad, np.arange(400) % 3, 3 + np.arange(400) % 7)
    # By rows alone the honest are the smaller part; by who holds them they are not.
    assert not (activation_clusters(x, y) <= 0)[bad].any()
    result = activation_clusters(x, y, contributor) <= 0
    assert result[bad].all()
    assert not result[~bad].any()


def test_a_cluster_that_most_contributors_hold_is_no_backdoor():
    x, y, _ = planted(0)
    assert (activation_clusters(x, y, np.arange(400) % 5) > 0).all()
