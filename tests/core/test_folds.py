"""Folds: dealt evenly by class, one item never in two, the same for the same seed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anml.core.folds import assign_folds


def rng(seed=0):
    return np.random.default_rng(seed)


labels_ = st.lists(st.integers(0, 3), min_size=1, max_size=60).map(np.array)


@given(labels_, st.integers(2, 6), st.integers(0, 9))
def test_folds_differ_by_at_most_one_row(labels, k, seed):
    sizes = np.bincount(assign_folds(labels, None, k, rng(seed)), minlength=k)
    assert sizes.max() - sizes.min() <= 1
    assert sizes.sum() == len(labels)


@given(labels_, st.integers(2, 6), st.integers(0, 9))
def test_each_class_is_spread_evenly(labels, k, seed):
    folds = assign_folds(labels, None, k, rng(seed))
    for label in np.unique(labels):
        sizes = np.bincount(folds[labels == label], minlength=k)
        assert sizes.max() - sizes.min() <= 1


@given(labels_, st.integers(2, 5), st.integers(0, 9))
def test_an_item_is_never_in_two_folds(labels, k, seed):
    groups = rng(seed).integers(0, max(len(labels) // 3, 1), len(labels))
    folds = assign_folds(labels, groups, k, rng(seed))
    for group in np.unique(groups):
        assert len(set(folds[groups == group])) == 1


def test_items_count_for_the_class_of_their_first_row():
    # Items a, b of class 0 and c, d of class 1, each with a stray second label.
    groups = np.repeat(["a", "b", "c", "d"], 2)
    labels = np.array([0, 1, 0, 1, 1, 0, 1, 0])
    for seed in range(10):
        folds = assign_folds(labels, groups, 2, rng(seed))[::2]
        assert sorted(folds[:2]) == [0, 1]
        assert sorted(folds[2:]) == [0, 1]


def test_without_labels_items_are_dealt_alone():
    groups = np.arange(10)
    folds = assign_folds(None, groups, 5, rng())
    np.testing.assert_array_equal(np.bincount(folds), [2] * 5)


def test_the_same_seed_gives_the_same_folds_and_another_seed_others():
    labels = np.arange(40) % 2
    one, two, other = (assign_folds(labels, None, 4, rng(seed)) for seed in (3, 3, 4))
    np.testing.assert_array_equal(one, two)
    assert (one != other).any()


def test_rows_are_dealt_at_random_and_not_in_turn():
    """Every row meets every fold, whatever its place."""
    labels = np.zeros(8, dtype=int)
    met = {
        (row, fold) for seed in range(60) for row, fold in enumerate(assign_folds(labels, None, 4, rng(seed)))
    }
    assert len(met) == 8 * 4


@pytest.mark.parametrize("k", [5, 50])
def test_more_folds_than_rows_leave_some_empty(k):
    folds = assign_folds(np.array([0, 1, 1]), None, k, rng())
    assert len(set(folds)) == 3
