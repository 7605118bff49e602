"""The conditions and crowds for the final run: repeatable, complete, and with the stated bad contributors."""

import numpy as np
import pytest

from experiments.bank.conditions import CONDITIONS as BANK
from experiments.bank.sources import TEST_ROWS
from experiments.unseen.annotators import copy_answers, repeat_previous, session_progress, sibling
from experiments.unseen.conditions import CONDITIONS
from experiments.unseen.crowds import CROWDS

ALL = {**CONDITIONS, **CROWDS}
# Bad contributors whose answers are often right: the common class, one language of four, some exact prices.
OFTEN_RIGHT = ("rare_class_never_seen", "languages", "decimal_point_lost")


def test_thirty_conditions_and_five_crowds_are_none_of_the_bank():
    assert (len(CONDITIONS), len(CROWDS)) == (30, 5)
    assert not set(ALL) & set(BANK)


@pytest.mark.parametrize("name", ALL)
def test_a_seed_decides_the_rows(name):
    first, again, other = (ALL[name](seed) for seed in (3, 3, 4))
    for field in ("x", "y", "contributor", "item"):
        assert np.array_equal(getattr(first.seen, field), getattr(again.seen, field))
    assert np.array_equal(first.truth.x_test, again.truth.x_test)
    assert not np.array_equal(first.seen.y, other.seen.y)


@pytest.mark.parametrize("name", ALL)
def test_rows_are_complete_and_bad_contributors_are_worse_than_the_median(name):
    case = ALL[name](0)
    inputs, truth = case.seen, case.truth
    assert len(inputs.x) == len(inputs.y) == len(inputs.contributor) == len(truth.y)
    assert len(truth.y_test) == (TEST_ROWS if name in CONDITIONS else 0)
    assert np.isfinite(inputs.x).all()
    if not inputs.numeric:
        assert set(np.unique(inputs.y)) <= set(range(inputs.classes))
        assert 0 < case.wrong.mean() < 0.5
    assert all((values is None or (values >= 0).all()) for values in (inputs.v, inputs.r, inputs.age))
    bad = case.bad & (inputs.rows >= 40)
    if bad.any() and name not in OFTEN_RIGHT:
        accuracy = inputs.mean(case.right.astype(float))
        assert accuracy[bad].max() < np.median(accuracy[~case.bad]) - 0.15


def test_behaviours_of_annotators_on_rows_worked_by_hand():
    contributor, label = np.array([0, 1, 0, 1, 0]), np.array([2, 3, 4, 5, 0])
    assert repeat_previous(label, contributor, np.array([1, 0, 0, 1, 1], dtype=bool)).tolist() == [
        2,
        3,
        4,
        3,
        4,
    ]
    item = np.array([0, 0, 1, 1, 2])
    assert copy_answers(item, contributor, label, 0, 1, np.ones(5, dtype=bool)).tolist() == [3, 3, 5, 5, 0]
    assert session_progress(contributor, 2).tolist() == [0, 0, 0.5, 0.5, 0]
    assert sibling(np.array([0, 1, 4, 5])).tolist() == [1, 0, 5, 4]
