"""One label for each item: worked out by hand, and the same whatever the order of rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anml.annotators.consensus import (
    pool_posteriors_by_item,
    pool_values_by_item,
    rescale_to_p_correct,
    unweighted_posterior,
)


def test_rows_of_an_item_are_joined_by_the_mean_of_their_logarithms():
    truth = np.array([[0.9, 0.1], [0.5, 0.5], [0.2, 0.8]])
    found = pool_posteriors_by_item(truth, np.array([1, 1, 0]))
    odds = np.sqrt((0.9 / 0.1) * (0.5 / 0.5))
    assert found[0] == pytest.approx([0.2, 0.8])
    assert found[1] == pytest.approx([odds / (1 + odds), 1 / (1 + odds)])


def test_a_row_that_is_sure_does_not_make_the_others_impossible():
    found = pool_posteriors_by_item(np.array([[1.0, 0.0], [0.5, 0.5]]), np.array([0, 0]))
    assert 0.99 < found[0, 0] < 1
    assert np.isfinite(found).all()


def test_equal_voices_follow_the_majority():
    y, items = np.array([2, 2, 1, 0, 1]), np.array([0, 0, 0, 1, 1])
    found = unweighted_posterior(y, items, 3, 0.6)
    odds = 0.6 / 0.2
    assert found[0] == pytest.approx(np.array([1, odds, odds**2]) / (1 + odds + odds**2))
    assert found[1] == pytest.approx(np.array([odds, odds, 1]) / (1 + 2 * odds))


@pytest.mark.parametrize("p", [0.0, 0.1, 1.0])
def test_a_voice_never_speaks_against_what_it_says(p):
    found = unweighted_posterior(np.array([0, 0, 1]), np.zeros(3, dtype=int), 3, p)
    assert found[0, 0] >= found[0, 1] >= found[0, 2]
    assert found.sum() == pytest.approx(1)


def test_numbers_are_joined_by_their_precision():
    mean, deviation = pool_values_by_item(
        np.array([1.0, 4.0, 7.0]), np.array([1.0, 2.0, 3.0]), np.array([0, 0, 1])
    )
    assert mean == pytest.approx([(1 + 4 / 4) / 1.25, 7])
    # Two views of the same labels are not twice as precise.
    assert deviation == pytest.approx([np.sqrt(2 / 1.25), 3])


def test_the_order_of_rows_changes_nothing():
    rng = np.random.default_rng(0)
    truth, items = rng.dirichlet(np.ones(4), 50), rng.integers(0, 9, 50)
    order = rng.permutation(50)
    assert pool_posteriors_by_item(truth, items) == pytest.approx(
        pool_posteriors_by_item(truth[order], items[order])
    )


def test_a_posterior_agrees_with_the_label_being_right():
    truth, y, p = np.array([[0.9, 0.1, 0.0], [0.2, 0.3, 0.5]]), np.array([0, 2]), np.array([0.3, 0.5])
    found = rescale_to_p_correct(truth, y, p)
    assert found.sum(axis=1) == pytest.approx([1, 1])
    assert found[[0, 1], y] == pytest.approx(p)
    assert found[0].argmax() == 1
    assert found[1] == pytest.approx(truth[1])


@st.composite
def rows_of_items(draw):
    """Posteriors of rows, and the item of each; every item has a row."""
    n, classes = draw(st.integers(1, 15)), draw(st.integers(2, 4))
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    items = np.unique(rng.integers(0, 5, n), return_inverse=True)[1]
    return rng.dirichlet(np.ones(classes), n), items, rng.integers(0, classes, n), rng


@given(rows_of_items())
def test_posteriors_of_items_are_distributions_between_those_of_their_rows(drawn):
    truth, items, _, _ = drawn
    found = pool_posteriors_by_item(truth, items)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    for item in range(len(found)):
        odds = np.log(truth[items == item][:, 0] / truth[items == item][:, 1])
        assert odds.min() - 1e-6 <= np.log(found[item, 0] / found[item, 1]) <= odds.max() + 1e-6


@given(rows_of_items())
def test_an_item_of_one_row_keeps_its_posterior(drawn):
    truth, _, _, _ = drawn
    np.testing.assert_allclose(pool_posteriors_by_item(truth, np.arange(len(truth))), truth, atol=1e-9)


@given(rows_of_items())
def test_saying_it_twice_does_not_make_it_surer(drawn):
    truth, items, _, _ = drawn
    twice = pool_posteriors_by_item(np.tile(truth, (2, 1)), np.tile(items, 2))
    np.testing.assert_allclose(twice, pool_posteriors_by_item(truth, items), atol=1e-9)


@given(rows_of_items(), st.floats(0.01, 0.99))
def test_the_likeliest_class_is_the_one_most_labels_name(drawn, p):
    truth, items, y, _ = drawn
    found = unweighted_posterior(y, items, truth.shape[1], p)
    for item in range(len(found)):
        votes = np.bincount(y[items == item], minlength=truth.shape[1])
        assert found[item, votes.argmax()] >= found[item].max() - 1e-12


@given(rows_of_items())
def test_numbers_of_items_lie_between_their_rows(drawn):
    _, items, _, rng = drawn
    mean, deviation = rng.normal(size=len(items)), rng.uniform(0.1, 2, len(items))
    joined, doubt = pool_values_by_item(mean, deviation, items)
    for item in range(len(joined)):
        own = items == item
        assert mean[own].min() - 1e-9 <= joined[item] <= mean[own].max() + 1e-9
        assert deviation[own].min() - 1e-9 <= doubt[item] <= deviation[own].max() + 1e-9


@given(rows_of_items())
def test_the_rest_keeps_its_proportions_when_the_label_is_given_a_probability(drawn):
    truth, _, y, rng = drawn
    before = truth.copy()
    p = rng.uniform(size=len(y))
    found = rescale_to_p_correct(truth, y, p)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    np.testing.assert_allclose(found[np.arange(len(y)), y], p)
    for row in range(len(y)):
        others = np.flatnonzero(np.arange(truth.shape[1]) != y[row])
        expected = before[row, others] / before[row, others].sum() * (1 - p[row])
        np.testing.assert_allclose(found[row, others], expected, atol=1e-9)
    np.testing.assert_array_equal(truth, before)
