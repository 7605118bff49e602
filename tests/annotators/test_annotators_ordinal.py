"""Grades by their order, where that predicts better than plain classes."""

import numpy as np
import pytest

from anml.annotators.ordinal import SLIP_RATE, _confusion_grid, fit_grades

UNKNOWN = -1


def graded(answer, items=200, people=15, each=4, seed=0):
    """Grades 0 to 4 by people who answer as `answer(rng, truth, person)` does, and the truth."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 5, items)
    who = np.concatenate([rng.choice(people, each, replace=False) for _ in range(items)])
    item = np.repeat(np.arange(items), each)
    y = np.array([answer(rng, truth[i], w) for i, w in zip(item, who, strict=True)])
    return item, who, y, truth


def leaning(rng, truth, person):
    """Every third is lenient, every third severe, by more than a grade."""
    return int(np.clip(np.rint(truth + 1.2 * (person % 3 - 1) + rng.normal(0, 0.5)), 0, 4))


def unordered(rng, truth, person):
    """Draw a label whose errors are two grades off."""
    return int(truth if rng.random() < 0.7 else (truth + 2) % 5)


def test_a_matrix_by_hand():
    # Of three grades, no shift, slope 1 and noise 2: from the middle, 0.5 is a quarter of a deviation away.
    ways = _confusion_grid(3)
    assert ways.shape[1:] == (3, 3)
    np.testing.assert_allclose(ways.sum(axis=2), 1)
    middle = [0.4013, 0.1974, 0.4013]
    assert (
        np.isclose(ways[:, 1], (1 - SLIP_RATE) * np.array(middle) + SLIP_RATE / 3, atol=1e-3)
        .all(axis=1)
        .any()
    )


def test_order_is_used_where_people_lean_and_finds_more_than_the_median():
    item, who, y, truth = graded(leaning)
    found = fit_grades(item, who, y, 5, np.full(200, UNKNOWN), np.random.default_rng(0))
    assert found.ordered
    assert found.loss < found.plain
    median = np.array([np.median(y[item == i]) for i in range(200)])
    assert np.abs(found.posterior.argmax(axis=1) - truth).mean() < 0.8 * np.abs(median - truth).mean()
    np.testing.assert_allclose(found.posterior.sum(axis=1), 1)


@pytest.mark.parametrize("seed", range(3))
def test_plain_classes_stay_where_errors_know_no_order(seed):
    item, who, y, truth = graded(unordered, seed=seed)
    found = fit_grades(item, who, y, 5, np.full(200, UNKNOWN), np.random.default_rng(0))
    assert not found.ordered
    assert (found.posterior.argmax(axis=1) == truth).mean() > 0.85


def test_what_is_known_stays():
    item, who, y, _ = graded(leaning, items=60)
    right = np.full(60, UNKNOWN)
    right[:2] = [4, 0]
    found = fit_grades(item, who, y, 5, right, np.random.default_rng(0))
    assert found.posterior[0].tolist() == [0, 0, 0, 0, 1]
    assert found.posterior[1].tolist() == [1, 0, 0, 0, 0]


def test_turning_the_scale_around_turns_the_grades_around():
    item, who, y, _ = graded(leaning, items=80)
    none = np.full(80, UNKNOWN)
    up, down = (fit_grades(item, who, each, 5, none, np.random.default_rng(0)) for each in (y, 4 - y))
    np.testing.assert_allclose(up.posterior, down.posterior[:, ::-1], atol=1e-3)
