"""Shapley: known games, every order, truncation, and what copies do to it."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anml.attribution.games import all_coalitions
from anml.attribution.semivalues import exact_shapley
from experiments.valuation.data_shapley import shapley
from small_games import airport, glove, noisy


def test_shapley_of_known_games():
    assert shapley(glove, 3).value == pytest.approx([2 / 3, 1 / 6, 1 / 6])
    # Each stretch is shared by those who need it: 1/4, 1/4 + 1/3, ..., + 7.
    share = [1 / 4, 1 / 4 + 1 / 3, 1 / 4 + 1 / 3 + 1 / 2, 1 / 4 + 1 / 3 + 1 / 2 + 7]
    assert shapley(airport, 4).value == pytest.approx(share)


tables = st.integers(0, 2**32 - 1).map(lambda seed: np.random.default_rng(seed).normal(size=32))


@given(table=tables)
def test_shapley_is_efficient(table):
    assert exact_shapley(table).sum() == pytest.approx(table[-1] - table[0])


def test_truncation_saves_evaluations():
    flat = noisy(14)
    plain = shapley(flat, 14, n_evaluations=2_000)
    cut = shapley(flat, 14, n_evaluations=2_000, tolerance=0.2)
    assert cut.evaluations < plain.evaluations or cut.value == pytest.approx(plain.value, abs=0.2)


def test_all_orders_agree_with_the_definition():
    game = noisy(5)
    total = np.zeros(5)
    for order in itertools.permutations(range(5)):
        members = np.zeros((6, 5), dtype=bool)
        for step, player in enumerate(order):
            members[step + 1 :, player] = True
        total[list(order)] += np.diff(game(members))
    assert shapley(game, 5).value == pytest.approx(total / math.factorial(5))


def slow(table):
    """k! (n - k - 1)! / n! times what a player adds, over all coalitions of the others."""
    n = len(table).bit_length() - 1
    found = np.zeros(n)
    for player in range(n):
        for place in range(2**n):
            if not place >> player & 1:
                k = place.bit_count()
                weight = math.factorial(k) * math.factorial(n - k - 1) / math.factorial(n)
                found[player] += weight * (table[place | 1 << player] - table[place])
    return found


@given(table=tables)
def test_is_its_formula(table):
    assert exact_shapley(table) == pytest.approx(slow(table))


@given(table=tables)
def test_a_player_who_adds_the_same_everywhere_is_worth_that(table):
    """The game of five in which the last adds 7 to whatever the others are worth."""
    members = all_coalitions(5)
    others = table[(members[:, :4] * 2 ** np.arange(4)).sum(axis=1)]
    assert exact_shapley(others + 7 * members[:, 4])[4] == pytest.approx(7)


def test_a_budget_of_all_coalitions_is_exact_and_one_less_is_not():
    game = noisy(6)
    assert shapley(game, 6, n_evaluations=64).exact
    sampled = shapley(game, 6, n_evaluations=63)
    assert not sampled.exact
    assert sampled.evaluations <= 63


def test_one_player_is_worth_all_of_it():
    found = shapley(lambda some: 3.0 + 4.0 * some[:, 0], 1)
    assert found.value.tolist() == [4.0]
    assert found.evaluations == 2


def test_an_order_with_its_reverse_cancels_games_of_pairs():
    """In a game of pairs, an order and its reverse together give the exact value."""
    rng = np.random.default_rng(0)
    pairs = rng.normal(size=(8, 8))

    def game(some):
        return np.einsum("bi,ij,bj->b", some.astype(float), pairs, some)

    found = shapley(game, 8, n_evaluations=100)
    assert found.value == pytest.approx(exact_shapley(game(all_coalitions(8))))
