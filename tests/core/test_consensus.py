"""One label for each item: worked out by hand, and the same whatever the order of rows."""

import numpy as np
import pytest

from anml.core.consensus import equal_voices, given_right, join_numbers, join_posteriors


def test_rows_of_an_item_are_joined_by_the_mean_of_their_logarithms():
    truth = np.array([[0.9, 0.1], [0.5, 0.5], [0.2, 0.8]])
    found = join_posteriors(truth, np.array([1, 1, 0]))
    odds = np.sqrt((0.9 / 0.1) * (0.5 / 0.5))
    assert found[0] == pytest.approx([0.2, 0.8])
    assert found[1] == pytest.approx([odds / (1 + odds), 1 / (1 + odds)])


def test_a_row_that_is_sure_does_not_make_the_others_impossible():
    found = join_posteriors(np.array([[1.0, 0.0], [0.5, 0.5]]), np.array([0, 0]))
    assert 0.99 < found[0, 0] < 1
    assert np.isfinite(found).all()


def test_equal_voices_follow_the_majority():
    y, items = np.array([2, 2, 1, 0, 1]), np.array([0, 0, 0, 1, 1])
    found = equal_voices(y, items, 3, 0.6)
    odds = 0.6 / 0.2
    assert found[0] == pytest.approx(np.array([1, odds, odds**2]) / (1 + odds + odds**2))
    assert found[1] == pytest.approx(np.array([odds, odds, 1]) / (1 + 2 * odds))


@pytest.mark.parametrize("p", [0.0, 0.1, 1.0])
def test_a_voice_never_speaks_against_what_it_says(p):
    found = equal_voices(np.array([0, 0, 1]), np.zeros(3, dtype=int), 3, p)
    assert found[0, 0] >= found[0, 1] >= found[0, 2]
    assert found.sum() == pytest.approx(1)


def test_numbers_are_joined_by_their_precision():
    mean, deviation = join_numbers(np.array([1.0, 4.0, 7.0]), np.array([1.0, 2.0, 3.0]), np.array([0, 0, 1]))
    assert mean == pytest.approx([(1 + 4 / 4) / 1.25, 7])
    # Two views of the same labels are not twice as precise.
    assert deviation == pytest.approx([np.sqrt(2 / 1.25), 3])


def test_the_order_of_rows_changes_nothing():
    rng = np.random.default_rng(0)
    truth, items = rng.dirichlet(np.ones(4), 50), rng.integers(0, 9, 50)
    order = rng.permutation(50)
    assert join_posteriors(truth, items) == pytest.approx(join_posteriors(truth[order], items[order]))


def test_a_posterior_agrees_with_the_label_being_right():
    truth, y, p = np.array([[0.9, 0.1, 0.0], [0.2, 0.3, 0.5]]), np.array([0, 2]), np.array([0.3, 0.5])
    found = given_right(truth, y, p)
    assert found.sum(axis=1) == pytest.approx([1, 1])
    assert found[[0, 1], y] == pytest.approx(p)
    assert found[0].argmax() == 1
    assert found[1] == pytest.approx(truth[1])
