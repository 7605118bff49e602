"""Held-out predictions of numbers, and a spread that follows the features where they tell."""

import numpy as np
import pytest

from anml.predictors.numeric import predict_numbers, stacked
from anml.predictors.spread import natural_spread, weighted_median


def scattered(spread_of, n=400, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-2, 2, (n, 3))
    spread = spread_of(x)
    return x, spread * rng.normal(size=n), spread, np.arange(n) % 5


def test_weighted_median():
    assert weighted_median(np.array([3.0, 1.0, 2.0]), np.ones(3)) == 2
    assert weighted_median(np.array([3.0, 1.0, 2.0]), np.array([9.0, 1.0, 1.0])) == 3


class TestSpread:
    def test_one_spread_for_all_stays_one(self):
        x, residual, _, fold = scattered(lambda x: np.ones(len(x)))
        found = natural_spread(x, residual, fold)
        assert np.std(np.log(found)) < 0.15
        assert np.median(found) == pytest.approx(1, abs=0.15)

    def test_it_follows_the_features(self):
        x, residual, spread, fold = scattered(lambda x: np.exp(x[:, 0]))
        found = natural_spread(x, residual, fold)
        assert np.corrcoef(np.log(found), np.log(spread))[0, 1] > 0.9

    def test_wrong_labels_do_not_blow_it_up(self):
        x, residual, _, fold = scattered(lambda x: np.ones(len(x)))
        residual[::10] += 100
        assert np.median(natural_spread(x, residual, fold)) < 1.5

    def test_what_is_not_believed_does_not_count(self):
        x, residual, _, fold = scattered(lambda x: np.ones(len(x)))
        weight = np.where(np.arange(400) % 2, 1.0, 0.0)
        wrong = np.where(weight > 0, residual, 50 * residual)
        assert np.median(natural_spread(x, wrong, fold, weight)) == pytest.approx(1, abs=0.2)

    def test_no_residuals_at_all(self):
        assert (natural_spread(np.zeros((6, 1)), np.zeros(6), np.arange(6) % 2) > 0).all()


class TestPredictions:
    def test_the_stack_takes_what_is_closest(self):
        y = np.arange(10.0)
        np.testing.assert_allclose(stacked(y, [y + 5, y, -y], np.ones(10)), y)
        np.testing.assert_allclose(stacked(y, [y + 1, y - 1], np.ones(10)), y, atol=1e-9)

    def test_a_line_is_found_and_items_are_held_out_together(self):
        rng = np.random.default_rng(0)
        x = np.repeat(rng.normal(size=(60, 2)), 2, axis=0)
        y = x @ [1.0, 2.0] + rng.normal(0, 0.1, 120)
        mean, spread = predict_numbers(x, y, np.repeat(np.arange(60), 2), None, 0, trees=20)
        assert np.abs(mean - x @ [1.0, 2.0]).mean() < 0.1
        assert np.median(spread) < 0.3

    def test_a_label_that_is_not_believed_teaches_nothing(self):
        rng = np.random.default_rng(0)
        x = rng.normal(size=(120, 2))
        y = x @ [1.0, 2.0]
        wrong = np.arange(120) % 4 == 0
        mean, _ = predict_numbers(x, np.where(wrong, 90.0, y), None, 1.0 - wrong, 0, trees=20)
        assert np.abs(mean - y).max() < 1

    @pytest.mark.parametrize("y", [[1.0], [2.0, 2.0, 2.0], [0.0, 1.0]])
    def test_little_or_nothing_to_learn(self, y):
        mean, spread = predict_numbers(np.zeros((len(y), 1)), np.array(y), None, None, 0, trees=5)
        assert np.isfinite(mean).all()
        assert (spread > 0).all()
