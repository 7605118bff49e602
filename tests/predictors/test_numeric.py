"""Held-out predictions of numbers: held out, stacked, and deaf to what is not believed."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anml.predictors.numeric import precision_weighting_hurts, predict_numbers, stack_by_absolute_error


class TestPredictions:
    def test_the_stack_takes_what_is_closest(self):
        y = np.arange(10.0)
        np.testing.assert_allclose(stack_by_absolute_error(y, [y + 5, y, -y], np.ones(10)), y)
        np.testing.assert_allclose(stack_by_absolute_error(y, [y + 1, y - 1], np.ones(10)), y, atol=1e-9)

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


class TestHeldOut:
    def table(self, n=80, seed=0):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(n, 3))
        return x, x @ [1.0, -2.0, 0.5] + rng.normal(0, 0.2, n)

    @pytest.mark.parametrize("row", [0, 17])
    def test_a_number_says_nothing_of_its_own_prediction(self, row):
        """Two predictors that never saw a row cannot follow it; only the weights of the stack may move."""
        x, y = self.table()
        wild = y.copy()
        wild[row] += 3.0
        one, two = (predict_numbers(x, values, None, None, 0, trees=5)[0][row] for values in (y, wild))
        assert abs(two - one) < 1.0

    def test_labels_of_one_item_are_held_out_together(self):
        """Numbers that only their twin would tell: with items known nothing is left to predict from."""
        rng = np.random.default_rng(0)
        x = np.repeat(rng.normal(size=(60, 4)), 2, axis=0)
        y = np.repeat(rng.normal(size=60), 2)
        apart, _ = predict_numbers(x, y, np.repeat(np.arange(60), 2), None, 0, trees=10)
        leaked, _ = predict_numbers(x, y, None, None, 0, trees=10)
        assert np.corrcoef(apart, y)[0, 1] < 0.4 < np.corrcoef(leaked, y)[0, 1]

    def test_networks_are_asked_where_they_know_more(self):
        rng = np.random.default_rng(0)
        x, y = rng.normal(size=(80, 2)), rng.normal(size=80)
        mean, spread = predict_numbers(x, y, None, None, 0, network=y + 0.01, trees=5)
        assert np.abs(mean - y).max() < 0.3
        assert np.median(spread) < 0.1

    def test_fewer_items_than_folds_have_one_mean(self):
        y = np.array([1.0, 1.0, 3.0, 3.0])
        mean, spread = predict_numbers(np.arange(4.0)[:, None], y, np.array([0, 0, 1, 1]), None, 0, trees=5)
        np.testing.assert_allclose(mean, 2.0)
        assert (spread > 0).all()

    def test_the_same_seed_gives_the_same_prediction(self):
        x, y = self.table()
        one, two = (predict_numbers(x, y, None, None, 3, trees=5) for _ in range(2))
        np.testing.assert_array_equal(one, two)


class TestStack:
    @given(st.integers(0, 99), st.integers(1, 3))
    @settings(max_examples=20)
    def test_is_never_farther_off_than_the_best_alone(self, seed, count):
        rng = np.random.default_rng(seed)
        y, weight = rng.normal(size=30), rng.uniform(0.1, 1, 30)
        said = [y + rng.normal(0, 1 + at, 30) for at in range(count)]
        off = float((weight * np.abs(y - stack_by_absolute_error(y, said, weight))).sum())
        assert off <= min(float((weight * np.abs(y - one)).sum()) for one in said) + 1e-9

    @given(st.integers(0, 99))
    @settings(max_examples=20)
    def test_lies_between_what_is_stacked(self, seed):
        rng = np.random.default_rng(seed)
        said = [rng.normal(size=20) for _ in range(3)]
        found = stack_by_absolute_error(rng.normal(size=20), said, np.ones(20))
        assert (found >= np.min(said, axis=0) - 1e-9).all()
        assert (found <= np.max(said, axis=0) + 1e-9).all()


class TestPrecision:
    """Rows count by their precision where that is no harm."""

    @pytest.mark.parametrize("seed", range(4))
    def test_of_a_line_the_noisy_end_may_count_less(self, seed):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(400, 4))
        spread = np.exp(x[:, 1])
        y = x @ [1.0, 2.0, 0.0, -1.0] + spread * rng.normal(size=400)
        assert not precision_weighting_hurts(spread, x, y, np.ones(400), None, seed)

    @pytest.mark.parametrize("seed", range(4))
    def test_of_prices_that_grow_as_fast_as_their_noise_it_leaves_the_dear_ones(self, seed):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(400, 4))
        price = np.exp(x @ [1.0, 0.5, 0.0, 0.0])
        y = price * np.exp(0.2 * rng.normal(size=400))
        assert precision_weighting_hurts(0.2 * price, x, y, np.ones(400), None, seed)

    def test_without_features_or_with_few_things_there_is_nothing_to_ask(self):
        y, one = np.arange(8.0), np.ones(8)
        assert not precision_weighting_hurts(one, np.zeros((8, 0)), y, one, None, 0)
        assert not precision_weighting_hurts(one, y[:, None], y, one, np.arange(8) // 4, 0)
