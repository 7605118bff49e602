"""Games of coalitions: tables, semivalues, intervals, and utilities that fail."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from anml.attribution.games import (
    MAX_EXACT_PLAYERS,
    all_coalitions,
    evaluate,
    exact_values,
    of_samples,
    semivalue,
    table_of,
)
from anml.attribution.semivalues import banzhaf, beta_shapley, size_weights
from anml.core.errors import InputError
from anml.core.stats import mean_interval
from experiments.valuation.data_shapley import semivalues_by_reuse, shapley


@pytest.mark.parametrize("n", [1, 2, 5])
def test_every_coalition_once_in_the_order_of_its_bits(n):
    members = all_coalitions(n)
    assert members.shape == (2**n, n)
    assert (members @ 2 ** np.arange(n)).tolist() == list(range(2**n))


def test_too_many_players_to_go_through():
    with pytest.raises(
        InputError, match=rf"2\^{MAX_EXACT_PLAYERS + 1} coalitions are too many to go through"
    ):
        all_coalitions(MAX_EXACT_PLAYERS + 1)


@given(st.integers(0, 999))
def test_a_semivalue_is_a_weighted_mean_of_what_a_player_adds(seed):
    rng = np.random.default_rng(seed)
    table, weights = rng.normal(size=8), rng.uniform(size=3)
    slow = []
    for player in range(3):
        without = [at for at in range(8) if not at >> player & 1]
        slow.append(sum(weights[at.bit_count()] * (table[at | 1 << player] - table[at]) for at in without))
    assert semivalue(table, lambda n: weights) == pytest.approx(slow)


@pytest.mark.parametrize(
    ("table", "says"),
    [
        (np.zeros(6), r"2\^n entries, got \(6,\)"),
        (np.zeros((2, 2)), r"2\^n entries"),
        ([1.0], r"2\^n entries"),
        ([0.0, np.nan], "missing or infinite"),
    ],
)
def test_tables_that_are_none(table, says):
    with pytest.raises(InputError, match=says):
        semivalue(table, np.ones)


@given(st.lists(st.floats(-5, 5), min_size=2, max_size=20))
def test_intervals_of_samples_are_those_of_a_mean(samples):
    found = of_samples(np.array(samples)[:, None], 7)
    mean, low, high = mean_interval(samples)
    assert (found.value[0], found.low[0], found.high[0]) == pytest.approx((mean, low, high), abs=1e-5)
    assert found.evaluations == 7


def test_one_sample_says_nothing_of_its_interval():
    found = of_samples([[3.0]], 1)
    assert (found.value[0], found.low[0], found.high[0]) == (3, -np.inf, np.inf)
    assert not found.exact
    assert exact_values(np.array([1.0]), 2).exact


def test_an_error_of_ours_inside_a_utility_is_passed_on():
    def refusing(some):
        raise InputError("these rows cannot be used")

    with pytest.raises(InputError, match=r"^these rows cannot be used$"):
        evaluate(refusing, all_coalitions(2))


def test_the_coalition_whose_worth_is_missing_is_named():
    worth = np.array([0.0, 1.0, np.inf, 2.0])
    with pytest.raises(InputError, match=r"the utility of coalition \[1\] is not a finite number"):
        evaluate(lambda some: worth, all_coalitions(2))


def test_a_table_is_the_worth_of_every_coalition():
    assert table_of(lambda some: some.sum(axis=1), 2).tolist() == [0, 1, 1, 2]


@pytest.mark.parametrize(
    ("shares", "exact"),
    [
        (lambda n: np.full(n, 1 / n), shapley),
        (lambda n: size_weights(n, 4.0, 1.0), beta_shapley),
        (lambda n: binom.pmf(np.arange(n), n - 1, 0.5), banzhaf),
    ],
)
def test_coalitions_that_serve_everybody_give_the_exact_value_on_average(shares, exact):
    table = np.random.default_rng(0).normal(size=64)

    def utility(some):
        return table[some @ (1 << np.arange(6))]

    found = semivalues_by_reuse(utility, 6, shares(6), budget=60_000, rng=np.random.default_rng(1))
    assert found == pytest.approx(exact(utility, 6).value, abs=0.05)


def test_a_player_who_adds_the_same_everywhere_is_worth_that():
    worth = np.arange(40.0)
    found = semivalues_by_reuse(
        lambda some: some @ worth, 40, np.full(40, 1 / 40), budget=60_000, rng=np.random.default_rng(0)
    )
    assert np.corrcoef(found, worth)[0, 1] > 0.85
