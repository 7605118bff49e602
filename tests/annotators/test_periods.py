"""Change points: dated, in both directions, with a bounded false alarm rate."""

import numpy as np
import pytest

from anml.annotators.periods import ChangePoints, _log_prior, detect_change_points
from anml.annotators.verdicts import MIN_ROWS_TO_FLAG


def checked(right_before, right_after, n=60, seed=0):
    """Labels of one person that are checked nine times in ten, right so often in either half."""
    rng = np.random.default_rng(seed)
    right = np.r_[rng.random(n) < right_before, rng.random(n) < right_after]
    likely = np.where(right, 0.9, 0.05)
    return likely, 0.95 - likely, np.zeros(2 * n, dtype=int), np.arange(2.0 * n)


def test_who_gets_lazy_is_dated():
    found = detect_change_points(*checked(0.97, 0.25), 1)
    assert found.any
    assert found.when[0] == pytest.approx(60, abs=6)
    assert found.before[0] > 0.85
    assert found.after[0] < 0.4


def test_who_learns_is_dated_as_well():
    found = detect_change_points(*checked(0.3, 0.97), 1)
    assert found.before[0] < 0.5 < found.after[0]


@pytest.mark.parametrize("right", [0.3, 0.7, 0.95])
def test_who_stays_the_same_is_not_split(right):
    assert not any(detect_change_points(*checked(right, right, seed=seed), 1).any for seed in range(20))


def test_few_rows_are_not_split():
    likely, wrong, who, when = checked(1.0, 0.0, n=MIN_ROWS_TO_FLAG - 1)
    assert not detect_change_points(likely, wrong, who, when, 1).any


def test_rows_of_one_moment_stay_together():
    likely, wrong, who, _ = checked(1.0, 0.0)
    assert not detect_change_points(likely, wrong, who, np.zeros(len(who)), 1).any


def test_parts_of_people():
    found = ChangePoints(np.array([np.nan, 3.0]), np.array([np.nan, 0.9]), np.array([np.nan, 0.2]))
    codes, owner = found.codes(np.array([0, 0, 1, 1]), np.array([1.0, 5.0, 2.0, 3.0]))
    assert codes.tolist() == [0, 0, 1, 2]
    assert owner.tolist() == [0, 1, 1]


def test_the_prior_of_when_is_at_most_one_in_sum_however_many_labels():
    """By hand: the terms telescope to one less ln 2 over the logarithm of the last."""
    total = np.exp(_log_prior(np.arange(MIN_ROWS_TO_FLAG, MIN_ROWS_TO_FLAG + 10_000))).sum()
    assert total == pytest.approx(1 - np.log(2) / np.log(10_002))


@pytest.mark.parametrize("share", [0.5, 0.8, 0.95])
def test_false_alarms_stay_below_the_stated_rate_however_often_one_looks(share):
    """Two hundred people who stay the same, looked at after every ten labels, at a rate of one in ten."""
    people, labels, rate = 200, 120, 0.1
    likely = np.where(np.random.default_rng(7).random((people, labels)) < share, 0.9, 0.05)
    alarmed = np.zeros(people, dtype=bool)
    for n in range(2 * MIN_ROWS_TO_FLAG, labels + 1, 10):
        seen = likely[:, :n].ravel()
        who, when = np.repeat(np.arange(people), n), np.tile(np.arange(float(n)), people)
        alarmed |= np.isfinite(detect_change_points(seen, 0.95 - seen, who, when, people, rate).when)
    assert alarmed.mean() <= rate


def test_a_change_is_found_at_the_first_look_that_can_tell():
    likely, wrong, who, when = checked(0.97, 0.25)
    looks = [
        n for n in range(65, 121, 5) if detect_change_points(likely[:n], wrong[:n], who[:n], when[:n], 1).any
    ]
    assert looks
    assert looks[0] <= 90
    assert looks == list(range(looks[0], 121, 5))
