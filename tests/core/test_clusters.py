"""Labels that contradict the clusters of their classes: found where clusters are fair, else not asked."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

from anml.core.attacks import align_poison, choose, flip_labels
from anml.core.clusters import at_rate, contradictions


def clouds(n, classes, apart, seed, width=4):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    centres = apart * np.eye(classes, width)
    return rng.normal(size=(n, width)) + centres[y], y


def believed(found):
    return special.expit(special.logit(1 - found.rate) + found.odds) > 0.5


@pytest.mark.parametrize("share", [0.1, 0.2, 0.3, 0.4])
def test_flips_between_clear_clusters_are_found(share):
    x, truth = clouds(600, 3, 7.0, 0)
    wrong = choose(600, share, np.random.default_rng(1))
    found = contradictions(x, flip_labels(truth, wrong, 3, np.random.default_rng(2)), 3)
    assert found.separated
    assert abs(found.rate - share) < 0.02
    assert np.mean(believed(found) == ~wrong) > 0.98


@pytest.mark.parametrize("share", [0.1, 0.3])
def test_poison_pulled_to_the_neighbour_is_found(share):
    x, truth = clouds(900, 3, 8.0, 3)
    wrong = choose(900, share, np.random.default_rng(4))
    moved, labels = align_poison(x, truth, wrong, 3, 0.3)
    found = contradictions(moved, labels, 3)
    assert found.separated
    assert np.mean(wrong[believed(found)]) < 0.15 * share


def test_clean_clusters_are_not_condemned():
    x, y = clouds(600, 3, 7.0, 5)
    found = contradictions(x, y, 3)
    assert not found.separated
    assert found.rate < 0.02


def overlapping():
    x, y = clouds(800, 2, 1.5, 6)
    return x, y


def in_two_parts():
    rng = np.random.default_rng(7)
    corner = rng.choice([-3.0, 3.0], (800, 2))
    return corner + rng.normal(size=(800, 2)), (corner[:, 0] * corner[:, 1] > 0).astype(int)


def categories():
    rng = np.random.default_rng(8)
    y = rng.integers(0, 2, 800)
    marks = rng.uniform(size=(800, 6)) < np.where(y, 0.9, 0.1)[:, None]
    return marks.astype(float), np.where(rng.uniform(size=800) < 0.1, 1 - y, y)


@pytest.mark.parametrize("make", [overlapping, in_two_parts, categories], ids=lambda f: f.__name__)
def test_where_clusters_are_no_fair_picture_they_are_not_asked(make):
    x, y = make()
    assert not contradictions(x, y, 2).separated


@pytest.mark.parametrize(
    ("x", "y", "classes"),
    [
        (np.zeros((10, 3)), np.arange(10) % 2, 2),  # nothing varies
        (np.arange(10.0)[:, None], np.zeros(10, int), 2),  # one class
        (np.arange(10.0)[:, None], np.r_[np.zeros(9, int), 1], 2),  # a class of one sample
        (np.zeros((10, 0)), np.arange(10) % 2, 2),  # no columns
    ],
    ids=["constant", "one class", "lone sample", "no columns"],
)
def test_too_little_to_judge_by_says_nothing(x, y, classes):
    found = contradictions(x, y, classes)
    assert not found.separated
    assert found.rate == 0
    assert not found.odds.any()


def test_a_class_that_never_occurs_changes_nothing():
    x, y = clouds(300, 2, 7.0, 9)
    y[:30] = 1 - y[:30]
    some, more = contradictions(x, y, 2), contradictions(x, 2 * y, 4)
    assert np.allclose(some.odds, more.odds)
    assert some.separated == more.separated


@settings(max_examples=30, deadline=None)
@given(st.floats(0.01, 0.5), st.integers(0, 2**16))
def test_at_rate_gives_that_rate(rate, seed):
    odds = np.random.default_rng(seed).normal(scale=5, size=50)
    shifted = at_rate(odds, rate)
    assert np.isclose(special.expit(special.logit(1 - rate) + shifted).mean(), 1 - rate, atol=1e-6)
    assert np.allclose(np.diff(shifted - odds), 0)


def test_many_rows_are_judged_by_clouds_of_some():
    x, y = clouds(20_000, 3, 7.0, 10)
    wrong = choose(20_000, 0.2, np.random.default_rng(11))
    found = contradictions(x, flip_labels(y, wrong, 3, np.random.default_rng(12)), 3)
    assert found.separated
    assert np.mean(believed(found) == ~wrong) > 0.98


def test_a_wide_table_is_seen_as_its_narrow_part_is():
    rng = np.random.default_rng(5)
    y = np.arange(300) % 3
    narrow = rng.normal(size=(300, 4)) + 8 * np.eye(3, 4)[y]
    labels = y.copy()
    labels[:30] = (labels[:30] + 1) % 3
    wide = np.c_[narrow, 0.05 * rng.normal(size=(300, 700))]
    found = contradictions(wide, labels, 3)
    assert found.separated
    assert ((found.odds < 0) == (np.arange(300) < 30)).mean() > 0.98
    again = contradictions(wide, labels, 3)
    np.testing.assert_array_equal(found.odds, again.odds)
