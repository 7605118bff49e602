"""Residual scale: by hand, then properties, then with informative features."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anml.predictors.spread import residual_scale, weighted_median


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
        found = residual_scale(x, residual, fold)
        assert np.std(np.log(found)) < 0.15
        assert np.median(found) == pytest.approx(1, abs=0.15)

    def test_it_follows_the_features(self):
        x, residual, spread, fold = scattered(lambda x: np.exp(x[:, 0]))
        found = residual_scale(x, residual, fold)
        assert np.corrcoef(np.log(found), np.log(spread))[0, 1] > 0.9

    def test_wrong_labels_do_not_blow_it_up(self):
        x, residual, _, fold = scattered(lambda x: np.ones(len(x)))
        residual[::10] += 100
        assert np.median(residual_scale(x, residual, fold)) < 1.5

    def test_what_is_not_believed_does_not_count(self):
        x, residual, _, fold = scattered(lambda x: np.ones(len(x)))
        weight = np.where(np.arange(400) % 2, 1.0, 0.0)
        wrong = np.where(weight > 0, residual, 50 * residual)
        assert np.median(residual_scale(x, wrong, fold, weight)) == pytest.approx(1, abs=0.2)

    def test_no_residuals_at_all(self):
        assert (residual_scale(np.zeros((6, 1)), np.zeros(6), np.arange(6) % 2) > 0).all()


values = st.lists(st.tuples(st.floats(-100, 100), st.floats(0.01, 10)), min_size=1, max_size=20)


class TestMedian:
    @given(values)
    def test_half_of_the_weight_lies_up_to_it(self, rows):
        x, weight = (np.array(part) for part in zip(*rows, strict=True))
        middle = weighted_median(x, weight)
        assert middle in x
        assert weight[x <= middle].sum() >= weight.sum() / 2 - 1e-9
        assert weight[x < middle].sum() <= weight.sum() / 2 + 1e-9

    @given(values, st.floats(0.1, 10), st.floats(-5, 5))
    def test_follows_the_unit_of_numbers_and_not_that_of_weights(self, rows, factor, shift):
        x, weight = (np.array(part) for part in zip(*rows, strict=True))
        middle = weighted_median(x, weight)
        assert weighted_median(factor * x + shift, weight) == pytest.approx(factor * middle + shift)
        assert weighted_median(x, 4 * weight) == middle

    @given(st.lists(st.floats(-100, 100), min_size=1, max_size=19).filter(lambda x: len(x) % 2))
    def test_equal_weights_give_the_plain_median(self, x):
        assert weighted_median(np.array(x), np.ones(len(x))) == np.median(x)


class TestLaws:
    @pytest.mark.parametrize("factor", [1e-3, 7.0, 1e4])
    def test_another_unit_is_another_unit_of_spread(self, factor):
        x, residual, _, fold = scattered(lambda x: np.exp(0.5 * x[:, 1]), n=150)
        one, two = (residual_scale(x, scale * residual, fold, trees=8) for scale in (1.0, factor))
        np.testing.assert_allclose(two, factor * one, rtol=1e-6)

    def test_signs_of_residuals_do_not_matter(self):
        x, residual, _, fold = scattered(lambda x: np.ones(len(x)), n=150)
        one, two = (residual_scale(x, sign * residual, fold, trees=8) for sign in (1, -1))
        np.testing.assert_array_equal(one, two)

    def test_rows_of_a_fold_are_not_learned_from_for_each_other(self):
        """A change within a fold moves the other folds' guesses and the overall size, not its own shape."""
        x, residual, _, fold = scattered(lambda x: np.exp(x[:, 0]), n=200)
        changed = residual.copy()
        own = np.flatnonzero(fold == 0)
        changed[own] = np.random.default_rng(1).permutation(residual[own])
        one, two = (residual_scale(x, values, fold, trees=8) for values in (residual, changed))
        ratio = np.log(two / one)
        assert np.corrcoef(np.log(one[own]), np.log(two[own]))[0, 1] > 0.999
        assert np.ptp(ratio[own]) < np.ptp(ratio[fold != 0])

    def test_few_rows_have_one_spread(self):
        found = residual_scale(np.arange(12.0)[:, None], np.linspace(-1, 1, 12), np.arange(12) % 3)
        assert np.ptp(found) == 0
        assert found[0] > 0

    def test_the_same_seed_gives_the_same_spread(self):
        x, residual, _, fold = scattered(lambda x: np.exp(x[:, 0]), n=120)
        one, two = (residual_scale(x, residual, fold, seed=4, trees=8) for _ in range(2))
        np.testing.assert_array_equal(one, two)
