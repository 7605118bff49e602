"""Near-copies: found whoever made them, however many columns there are; ordinary rows stay alone."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from anml.predictors.duplicates import COPY_DISTANCE_RATIO, near_duplicate_groups


def rng(seed=0):
    return np.random.default_rng(seed)


def groups_of(x, seed=0):
    return near_duplicate_groups(x, rng(seed))


def spread(n=300, d=6, seed=0):
    return rng(seed).normal(size=(n, d))


@pytest.mark.parametrize("columns", [1, 6, 40])
def test_rows_that_are_nobodys_copy_stay_alone(columns):
    x = spread(d=columns) if columns > 1 else np.linspace(0, 1, 300)[:, None]
    assert len(np.unique(groups_of(x))) == 300


def test_in_a_plane_few_rows_are_taken_for_copies_by_chance():
    # A disc of a quarter of the radius holds a sixteenth: 1 - 2^(-1/16), or 4% of the rows, have one so near.
    assert len(np.unique(groups_of(spread(d=2)))) > 0.95 * 300


@pytest.mark.parametrize("noise", [0.0, 0.005, 0.02])
@pytest.mark.parametrize("columns", [3, 12, 60])
def test_copies_are_found_through_noise(noise, columns):
    x = spread(d=columns)
    x[250:] = x[:50] + noise * rng(1).normal(size=(50, columns))
    groups = groups_of(x)
    # Where noise is near the reach of a copy, a border of bins cuts off some.
    assert (groups[250:] == groups[:50]).mean() > (0.75 if noise == 0.02 and columns == 3 else 0.95)
    assert len(np.unique(groups)) >= 250


def test_copies_of_copies_are_one_group():
    x = spread()
    x[297:] = x[0] + 0.001 * rng(2).normal(size=(3, 6))
    groups = groups_of(x)
    assert len({int(groups[at]) for at in (0, 297, 298, 299)}) == 1


def test_a_common_kind_of_row_is_no_copy():
    """Rows shared by more than a tenth of the table are not duplicates."""
    x = spread()
    x[:60] = x[0]
    groups = groups_of(x)
    assert len(np.unique(groups[:60])) == 60
    assert len(np.unique(groups)) == 300


def test_a_table_in_which_most_rows_have_an_equal_has_no_copies():
    x = np.repeat(spread(150), 2, axis=0)
    np.testing.assert_array_equal(groups_of(x), np.arange(300))


@pytest.mark.parametrize("x", [np.zeros((0, 3)), np.ones((2, 3)), np.ones((50, 0)), np.ones((50, 4))])
def test_tables_with_nothing_to_compare(x):
    np.testing.assert_array_equal(groups_of(x), np.arange(len(x)))


@settings(max_examples=15)
@given(st.integers(0, 999))
def test_nothing_is_joined_but_what_is_near(seed):
    """Against all distances: a group of two is within reach, and reach is a quarter of what is usual."""
    x = spread(120, 4, seed)
    x[100:110] = x[:10] + 0.01
    groups = groups_of(x, seed)
    apart = cdist(x, x)
    np.fill_diagonal(apart, np.inf)
    usual = np.median(apart.min(axis=1))
    for group in np.flatnonzero(np.bincount(groups) > 1):
        rows = np.flatnonzero(groups == group)
        assert apart[np.ix_(rows, rows)].min() <= COPY_DISTANCE_RATIO * usual * 1.25


@settings(max_examples=10)
@given(st.integers(0, 99), st.floats(0.01, 100))
def test_the_unit_of_all_features_does_not_matter(seed, factor):
    x = spread(100, 4, seed)
    x[90:] = x[:10] + 0.005
    np.testing.assert_array_equal(groups_of(x, seed) == groups_of(x * factor, seed), True)


def test_group_numbers_count_from_zero_without_gaps():
    x = spread()
    x[290:] = x[:10]
    groups = groups_of(x)
    assert sorted(set(groups.tolist())) == list(range(int(groups.max()) + 1))


def test_the_same_seed_gives_the_same_groups():
    x = spread()
    x[250:] = x[:50] + 0.01
    np.testing.assert_array_equal(groups_of(x, 5), groups_of(x, 5))
