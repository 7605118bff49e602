"""Predictors are pooled by the likelihood of held-out labels, each with its confusion matrix."""

import numpy as np
import pytest

from anml.predictors.pool import pool_predictions


def named(truth: np.ndarray, p: float, classes: int = 3) -> np.ndarray:
    found = np.full((len(truth), classes), (1 - p) / (classes - 1))
    found[np.arange(len(truth)), truth] = p
    return np.log(found)


def test_a_predictor_that_sees_through_wrong_labels_is_not_to_blame_for_them() -> None:
    """Two fifths of the first class are labelled as the second: who names the truth tells labels as well."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 900)
    y = np.where((truth == 0) & (rng.uniform(size=900) < 0.4), 1, truth)
    flat = np.log(np.tile(np.bincount(y) / 900, (900, 1)))
    found = pool_predictions([named(truth, 0.98), flat], y)
    assert found.share[0] > 0.95
    # By hand: the labels of the first class have two outcomes, the others nearly one.
    first = int((truth == 0).sum())
    entropy = -(0.4 * np.log(0.4) + 0.6 * np.log(0.6))
    assert found.likelihood == pytest.approx(-first * entropy, rel=0.25)


def test_shares_and_probabilities_sum_to_one() -> None:
    rng = np.random.default_rng(1)
    y = rng.integers(0, 3, 60)
    each = [np.log(rng.dirichlet(np.ones(3), 60)) for _ in range(3)]
    found = pool_predictions(each, y, rng.uniform(size=60))
    assert found.share.sum() == pytest.approx(1.0)
    assert np.exp(found.log_p).sum(axis=1) == pytest.approx(np.ones(60))


def test_labels_that_do_not_count_change_nothing() -> None:
    rng = np.random.default_rng(2)
    y = rng.integers(0, 3, 80)
    each = [np.log(rng.dirichlet(np.ones(3), 80)) for _ in range(2)]
    weight = np.r_[np.ones(40), np.zeros(40)]
    other = y.copy()
    other[40:] = (other[40:] + 1) % 3
    assert pool_predictions(each, y, weight).share == pytest.approx(
        pool_predictions(each, other, weight).share
    )
