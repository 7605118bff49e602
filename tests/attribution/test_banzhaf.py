"""Banzhaf: by hand, against the definition, and neither split nor copied to advantage."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anml.attribution.games import all_coalitions
from anml.attribution.semivalues import banzhaf, exact_banzhaf
from experiments.valuation.data_shapley import shapley
from small_games import noisy

tables = st.integers(0, 2**32 - 1).map(lambda seed: np.random.default_rng(seed).normal(size=32))


@given(table=tables)
def test_banzhaf_is_not_raised_by_splitting(table):
    """A player who splits in two has in total what it had: the game of four, player 3 made of 3 and 4."""
    members = all_coalitions(4)
    merged = np.column_stack([members, members[:, 3]])
    together = table[(merged * 2 ** np.arange(5)).sum(axis=1)]
    assert exact_banzhaf(table)[3:].sum() == pytest.approx(exact_banzhaf(together)[3])


def test_shapley_is_raised_by_copying_and_banzhaf_is_not():
    """The known weakness: two hold what is needed, each alone; a copy of one takes from the other."""

    def either(some):
        return (some[:, 0] | some[:, 1]).astype(float)

    def copied(some):
        return either(np.column_stack([some[:, 0] | some[:, 2], some[:, 1]]))

    assert shapley(either, 2).value.tolist() == [0.5, 0.5]
    assert shapley(copied, 3).value[[0, 2]].sum() == pytest.approx(2 / 3)
    assert banzhaf(either, 2).value.tolist() == [0.5, 0.5]
    assert banzhaf(copied, 3).value[[0, 2]].sum() == pytest.approx(0.5)


def slow(table):
    """The mean of what a player adds, over all coalitions of the others."""
    n = len(table).bit_length() - 1
    found = []
    for player in range(n):
        without = [place for place in range(2**n) if not place >> player & 1]
        found.append(np.mean([table[place | 1 << player] - table[place] for place in without]))
    return found


@given(table=tables)
def test_is_its_definition(table):
    assert exact_banzhaf(table) == pytest.approx(slow(table))


@given(table=tables, shift=st.floats(-5, 5))
def test_what_nobody_changes_does_not_count(table, shift):
    assert exact_banzhaf(table + shift) == pytest.approx(exact_banzhaf(table), abs=1e-9)


def test_a_coalition_and_the_rest_say_something_of_everybody():
    """In an additive game, a coalition and its complement differ in utility by the signed sum of talents."""
    talent = np.arange(12.0)
    found = banzhaf(lambda some: some @ talent, 12, n_evaluations=4_000)
    assert found.value == pytest.approx(talent, abs=2.5)
    assert ((found.low <= talent) & (talent <= found.high)).mean() > 0.7
    assert found.evaluations <= 4_000


def test_coalitions_are_evaluated_in_bounded_batches():
    asked = []

    def game(some):
        asked.append(len(some))
        return some.sum(axis=1)

    banzhaf(game, 30, n_evaluations=5_000)
    assert max(asked) <= 1_024
    assert sum(asked) == 5_000


def test_the_same_seed_gives_the_same_values():
    one, two, other = (banzhaf(noisy(14), 14, n_evaluations=200, random_state=s) for s in (3, 3, 4))
    assert one.value.tolist() == two.value.tolist() != other.value.tolist()
