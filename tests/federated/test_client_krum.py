"""Krum: by hand, against sums over all pairs, and laws."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anml.core.errors import InputError
from anml.federated.client_krum import krum, krum_scores_from_distances
from anml.federated.updates import squared_distances

LINE = np.array([[0.0], [1.0], [2.0], [3.0], [90.0]])


def test_krum_by_hand():
    result = krum(LINE, malicious=1)
    # n - f - 2 = 2 nearest: 0 has 1 + 4, 1 has 1 + 1, 2 has 1 + 1, 3 has 1 + 4, 90 has 87^2 + 88^2.
    assert result.scores == pytest.approx([-5.0, -2.0, -2.0, -5.0, -(87.0**2 + 88.0**2)])
    assert result.update.tolist() == [1.0]
    assert result.weights.tolist() == [0, 1, 0, 0, 0]


def slow(updates, count):
    """Distances to all others, sorted, a client at a time."""
    results = []
    for at, one in enumerate(updates):
        apart = sorted(float(np.square(one - other).sum()) for to, other in enumerate(updates) if to != at)
        results.append(sum(apart[:count]))
    return results


@settings(max_examples=20)
@given(st.integers(5, 14), st.integers(0, 99), st.integers(1, 4))
def test_scores_are_sums_over_the_nearest(n, seed, f):
    f = min(f, (n - 3) // 2)
    updates = np.random.default_rng(seed).normal(size=(n, 4))
    result = krum(updates, malicious=f)
    np.testing.assert_allclose(-result.scores, slow(updates, n - f - 2), rtol=1e-9)
    np.testing.assert_array_equal(result.update, updates[int(np.argmin(slow(updates, n - f - 2)))])


def test_the_result_is_a_copy_of_one_clients_update():
    updates = LINE.copy()
    krum(updates, malicious=1).update[:] = 7.0
    np.testing.assert_array_equal(updates, LINE)


@settings(max_examples=20)
@given(st.integers(0, 99), st.floats(0.1, 100), st.floats(-50, 50))
def test_another_unit_and_origin_choose_the_same_client(seed, factor, shift):
    updates = np.random.default_rng(seed).normal(size=(9, 3))
    one, two = krum(updates, 2), krum(factor * updates + shift, 2)
    np.testing.assert_array_equal(one.weights, two.weights)
    np.testing.assert_allclose(two.scores, factor**2 * one.scores, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("asked", "used"), [(0, 1), (3, 3), (99, 4)])
def test_neighbours_lie_between_one_and_all_others(asked, used):
    apart = squared_distances(LINE)
    np.testing.assert_allclose(krum_scores_from_distances(apart, 1, asked), slow(LINE, used))


@pytest.mark.parametrize(
    ("malicious", "says"),
    [
        (2, r"Krum needs 2 f \+ 2 < n, got f = 2 for n = 5"),
        (-1, "must be at least 0, got -1"),
        (1.5, "whole number"),
    ],
)
def test_numbers_of_liars_that_cannot_be_are_refused(malicious, says):
    with pytest.raises(InputError, match=says):
        krum(LINE, malicious)
