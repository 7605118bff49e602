"""Who changed over time: dated, both ways, and never without reason."""

import numpy as np
import pytest

from anml.core.people.periods import FEWEST, Changes, changes


def checked(right_before, right_after, n=60, seed=0):
    """Labels of one person that are checked nine times in ten, right so often in either half."""
    rng = np.random.default_rng(seed)
    right = np.r_[rng.random(n) < right_before, rng.random(n) < right_after]
    likely = np.where(right, 0.9, 0.05)
    return likely, 0.95 - likely, np.zeros(2 * n, dtype=int), np.arange(2.0 * n)


def test_who_gets_lazy_is_dated():
    found = changes(*checked(0.97, 0.25), 1)
    assert found.any
    assert found.when[0] == pytest.approx(60, abs=6)
    assert found.before[0] > 0.85
    assert found.after[0] < 0.4


def test_who_learns_is_dated_as_well():
    found = changes(*checked(0.3, 0.97), 1)
    assert found.before[0] < 0.5 < found.after[0]


@pytest.mark.parametrize("right", [0.3, 0.7, 0.95])
def test_who_stays_the_same_is_not_split(right):
    assert not any(changes(*checked(right, right, seed=seed), 1).any for seed in range(20))


def test_few_rows_are_not_split():
    likely, wrong, who, when = checked(1.0, 0.0, n=FEWEST - 1)
    assert not changes(likely, wrong, who, when, 1).any


def test_rows_of_one_moment_stay_together():
    likely, wrong, who, _ = checked(1.0, 0.0)
    assert not changes(likely, wrong, who, np.zeros(len(who)), 1).any


def test_parts_of_people():
    found = Changes(np.array([np.nan, 3.0]), np.array([np.nan, 0.9]), np.array([np.nan, 0.2]))
    codes, owner = found.codes(np.array([0, 0, 1, 1]), np.array([1.0, 5.0, 2.0, 3.0]))
    assert codes.tolist() == [0, 0, 1, 2]
    assert owner.tolist() == [0, 1, 1]
