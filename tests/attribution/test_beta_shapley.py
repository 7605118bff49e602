"""Beta Shapley: weights of sizes by hand, between Shapley and leaving one out."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anml.attribution.semivalues import banzhaf, beta_shapley, exact_beta_shapley, exact_shapley, size_weights
from anml.core.errors import InputError
from small_games import glove


def test_banzhaf_and_beta_of_the_gloves_by_hand():
    # Player 0 adds 1 to three of the four coalitions of the others, the others to one of four.
    assert banzhaf(glove, 3).value.tolist() == [0.75, 0.25, 0.25]
    # Beta(4, 1) weighs sizes 0, 1, 2 of the others by 10 : 4 : 1 over 15 (two coalitions of size 1).
    assert size_weights(3, 4, 1) == pytest.approx(np.array([10, 8 / 2, 1]) / 15)
    assert beta_shapley(glove, 3).value == pytest.approx([5 / 15, 2 / 15, 2 / 15])


positive = st.floats(0.2, 8)


@given(st.integers(1, 12), positive, positive)
def test_weights_of_sizes_are_a_distribution(n, alpha, beta):
    found = size_weights(n, alpha, beta)
    assert found.sum() == pytest.approx(1)
    assert (found >= 0).all()


@given(st.integers(2, 10), positive, positive)
def test_swapping_the_two_turns_sizes_round(n, alpha, beta):
    assert size_weights(n, alpha, beta) == pytest.approx(size_weights(n, beta, alpha)[::-1])


@given(st.integers(2, 10))
def test_one_and_one_weighs_all_sizes_alike(n):
    assert size_weights(n, 1, 1) == pytest.approx(np.full(n, 1 / n))


@given(st.integers(0, 999))
def test_one_and_one_is_shapley(seed):
    table = np.random.default_rng(seed).normal(size=16)
    assert exact_beta_shapley(table, 1, 1) == pytest.approx(exact_shapley(table))


def test_a_large_alpha_is_worth_alone_and_a_large_beta_worth_to_all():
    """All weight on no others, and on all others: leaving one out."""
    table = np.random.default_rng(0).normal(size=16)
    alone = [table[1 << player] - table[0] for player in range(4)]
    last = [table[15] - table[15 ^ 1 << player] for player in range(4)]
    assert exact_beta_shapley(table, 1e7, 1) == pytest.approx(alone, abs=1e-5)
    assert exact_beta_shapley(table, 1, 1e7) == pytest.approx(last, abs=1e-5)


@pytest.mark.parametrize(("alpha", "beta"), [(0, 1), (1, 0), (-1, 1), (np.inf, 1)])
def test_both_lie_above_zero(alpha, beta):
    with pytest.raises(InputError, match=r"must lie in \(0, inf\)"):
        beta_shapley(glove, 3, alpha=alpha, beta=beta)
