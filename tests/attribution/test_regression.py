"""Shapley by least squares: coalitions drawn, weights, values that sum up."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anml.attribution.games import all_coalitions
from anml.attribution.semivalues import exact_shapley, paired_coalitions
from anml.attribution.semivalues import shapley as shapley_by_regression
from experiments.valuation.data_shapley import shapley
from small_games import noisy


def test_sampled_shapley_is_efficient_and_repeatable():
    game = noisy(14)
    for way in (shapley, shapley_by_regression):
        one = way(game, 14, n_evaluations=600, random_state=3)
        two = way(game, 14, n_evaluations=600, random_state=3)
        assert one.value.tolist() == two.value.tolist()
        total = game(np.ones((1, 14), dtype=bool))[0] - game(np.zeros((1, 14), dtype=bool))[0]
        assert one.value.sum() == pytest.approx(total)


@settings(max_examples=15)
@given(st.integers(4, 11), st.integers(10, 200), st.integers(0, 99))
def test_coalitions_are_drawn_once_each_at_most_half_of_the_players(n, pairs, seed):
    pairs = min(pairs, 2 ** (n - 1) - 1)
    some, weights, whole = paired_coalitions(n, pairs, np.random.default_rng(seed))
    sizes = some.sum(axis=1)
    assert len(some) <= pairs
    assert sizes.min() >= 1
    assert sizes.max() <= n // 2
    assert len({members.tobytes() for members in some}) == len(some)
    assert not {members.tobytes() for members in some} & {(~members).tobytes() for members in some}
    assert (weights > 0).all()
    for size in np.unique(sizes):
        every = math.comb(n, size) // (2 if 2 * size == n else 1)
        assert whole[sizes == size].all() == ((sizes == size).sum() == every)


def test_weights_of_a_size_are_those_of_shapleys_kernel():
    some, weights, _ = paired_coalitions(6, 31, np.random.default_rng(0))
    sizes = some.sum(axis=1)
    # (n - 1) / (k (n - k)), for a size and for the rest of it: 1 and 5, 2 and 4, 3 with itself.
    total = {size: weights[sizes == size].sum() for size in (1, 2, 3)}
    assert total == pytest.approx({1: 2 * 5 / 5, 2: 2 * 5 / 8, 3: 5 / 9})


@pytest.mark.parametrize("n", [5, 6, 8])
def test_all_pairs_but_one_are_nearly_exact(n):
    game = noisy(n)
    found = shapley_by_regression(game, n, n_evaluations=2**n - 1)
    assert found.value == pytest.approx(exact_shapley(game(all_coalitions(n))), abs=0.01)


def test_games_that_add_up_are_exact_from_few_coalitions():
    talent = np.random.default_rng(0).normal(size=20)
    found = shapley_by_regression(lambda some: some @ talent, 20, n_evaluations=100)
    assert found.value == pytest.approx(talent, abs=1e-6)
    assert (found.high - found.low).max() < 1e-5


def test_a_larger_budget_says_it_more_exactly():
    widths = []
    for budget in (60, 240, 900):
        found = shapley_by_regression(noisy(12), 12, n_evaluations=budget)
        widths.append(float((found.high - found.low).mean()))
    assert widths[0] > widths[1] > widths[2]
