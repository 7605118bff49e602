"""Camps of contributors: seen when they contradict each other, whoever is right, and only then."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anml.core.attacks import collude_labels
from anml.core.camps import opposed_camp
from anml.core.combine import LARGE_CAMP
from anml.core.domain import Signals
from anml.core.weigh import RECIPES, weigh_signals


def table(n=800, classes=3, workers=20, apart=2.0, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, classes, n)
    x = rng.normal(size=(n, 4)) + apart * np.eye(classes, 4)[truth]
    return x, truth, rng.integers(0, workers, n), rng


def test_honest_contributors_are_one_camp():
    x, y, who, _ = table()
    assert opposed_camp(x, y, who, 3) == 0


@pytest.mark.parametrize("liars", [8, 12])
def test_two_camps_are_seen_whichever_is_the_larger(liars):
    x, y, who, _ = table(n=2_000)
    lies = collude_labels(y, who < liars, 3)
    smaller = min(np.mean(who < liars), np.mean(who >= liars))
    assert opposed_camp(x, lies, who, 3) == pytest.approx(smaller, abs=0.06)


def test_half_that_turn_two_classes_round():
    x, y, who, _ = table(classes=2)
    assert opposed_camp(x, np.where(who < 10, 1 - y, y), who, 2) > 0.45


def test_guessers_are_no_camp():
    x, y, who, rng = table()
    assert opposed_camp(x, np.where(who < 10, rng.integers(0, 3, 800), y), who, 3) < 0.1


def test_features_that_say_nothing_make_no_camps():
    shares = [opposed_camp(*table(apart=0.0, seed=seed)[:3], 3) for seed in range(10)]
    assert max(shares) < LARGE_CAMP


def test_contributors_who_send_different_things_are_no_camps():
    x, y, who, _ = table(n=2_000)
    moved = x + 3.0 * who[:, None] * np.array([1.0, -1.0, 0.5, 0.0])
    assert opposed_camp(moved, y, who, 3) == 0


@pytest.mark.parametrize(
    ("y", "codes", "classes"),
    [
        (np.zeros(6, int), np.arange(6) % 2, 1),
        (np.arange(6) % 2, np.zeros(6, int), 2),
        (np.arange(6) % 2, np.arange(6), 2),
    ],
    ids=["one class", "one contributor", "one row each"],
)
def test_where_nothing_can_be_compared_there_are_no_camps(y, codes, classes):
    assert opposed_camp(np.arange(12.0).reshape(6, 2), y, codes, classes) == 0


def test_constant_columns_do_no_harm():
    x, y, who, _ = table()
    assert opposed_camp(np.c_[x, np.ones(len(x))], y, who, 3) == 0
    assert opposed_camp(np.ones_like(x), y, who, 3) == 0


@settings(max_examples=25)
@given(st.integers(0, 10_000))
def test_names_of_contributors_and_order_of_rows_do_not_matter(seed):
    x, y, who, rng = table(n=300, workers=6, seed=seed)
    y = np.where(who < 3, (y + 1) % 3, y)
    order, renamed = rng.permutation(300), rng.permutation(6)
    share = opposed_camp(x, y, who, 3)
    assert 0 <= share <= 0.5
    assert opposed_camp(x[order], y[order], renamed[who[order]], 3) == pytest.approx(share)


def test_more_contributors_than_are_looked_at():
    x, y, who, _ = table(n=6_000, workers=1_500)
    assert opposed_camp(x, y, who, 3) < 0.05


def test_the_gate_says_so_even_when_every_label_is_believed():
    signals = Signals.of(np.ones(10), clean=np.full(10, 0.99))
    told = Signals(**{**signals.__dict__, "opposed": 0.45})
    assert weigh_signals(signals, RECIPES["evidence"]).gate.branch == "evidence"
    gate = weigh_signals(told, RECIPES["evidence"]).gate
    assert gate.branch == "doubtful"
    assert "45% of the rows" in gate.reason


def test_a_smaller_camp_is_doubtful_only_where_it_is_not_seen_through():
    """A fifth contradict the others: fine if they are not believed, doubtful if they are."""
    who = np.repeat(np.arange(10), 10)
    for clean, branch in ((np.where(who < 2, 0.1, 0.95), "evidence"), (np.full(100, 0.95), "doubtful")):
        signals = Signals.of(np.ones(100), contributor=who, clean=clean)
        told = Signals(**{**signals.__dict__, "opposed": 0.2})
        assert weigh_signals(told, RECIPES["evidence"]).gate.branch == branch
