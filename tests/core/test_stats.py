"""Intervals, paired tests and effect sizes: by hand, against scipy, then laws."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from anml.core.stats import Estimate, beta_interval, mean_interval, paired, standardise, wilson


class TestIntervals:
    def test_wilson_by_hand(self):
        low, high = wilson(0.9, 10)
        assert (low, high) == (pytest.approx(0.5958, abs=1e-4), pytest.approx(0.9821, abs=1e-4))

    def test_small_counts_are_honest(self):
        """The interval of nine values in [0, 1] covers the true mean at least about as often as it says."""
        rng = np.random.default_rng(0)
        for a, b in ((8, 2), (1, 1), (0.5, 0.5), (20, 1)):
            means = rng.beta(a, b, size=(4000, 9)).mean(axis=1)
            low, high = wilson(means, 9)
            assert ((low <= a / (a + b)) & (a / (a + b) <= high)).mean() > 0.93

    def test_paired(self):
        result = paired([2.0, 4.0, 6.0], [1.0, 2.0, 3.0])
        assert result.difference.mean == 2
        assert result.d == pytest.approx(2.0)
        assert result.p == pytest.approx(0.0742, abs=1e-4)

    def test_paired_without_spread(self):
        assert paired([1.0, 1.0], [1.0, 1.0]).p == 1
        assert paired([2.0, 2.0], [1.0, 1.0]).p == 0

    def test_one_trial_says_nothing(self):
        assert mean_interval([3.0]) == (3.0, -np.inf, np.inf)


class TestWilson:
    @given(st.floats(0, 1), st.integers(1, 10**6))
    def test_holds_the_mean_inside_the_unit_interval(self, mean, n):
        low, high = wilson(mean, n)
        assert 0 <= low <= mean + 1e-12
        assert mean - 1e-12 <= high <= 1

    @given(st.floats(0, 1), st.integers(1, 1000))
    def test_more_values_and_less_confidence_are_narrower(self, mean, n):
        wide, narrow = wilson(mean, n), wilson(mean, 4 * n)
        assert narrow[1] - narrow[0] <= wide[1] - wide[0] + 1e-12
        half = wilson(mean, n, 0.5)
        assert half[1] - half[0] <= wide[1] - wide[0]

    @given(st.floats(0, 1), st.integers(1, 1000))
    def test_failures_mirror_successes(self, mean, n):
        low, high = wilson(mean, n)
        other_low, other_high = wilson(1 - mean, n)
        np.testing.assert_allclose([other_low, other_high], [1 - high, 1 - low], atol=1e-9)

    @pytest.mark.parametrize(("good", "n"), [(0, 5), (3, 10), (7, 7), (45, 60)])
    def test_is_scipys(self, good, n):
        theirs = stats.binomtest(good, n).proportion_ci(0.95, method="wilson")
        np.testing.assert_allclose(wilson(good / n, n), [theirs.low, theirs.high], atol=1e-9)


class TestBeta:
    def test_one_good_and_one_bad_is_flat(self):
        np.testing.assert_allclose(beta_interval(np.array(1.0), np.array(1.0), 0.9), [0.05, 0.95])

    @given(st.floats(0.1, 500), st.floats(0.1, 500))
    def test_swapping_good_and_bad_mirrors_it(self, good, bad):
        low, high = beta_interval(np.array(good), np.array(bad))
        other_low, other_high = beta_interval(np.array(bad), np.array(good))
        np.testing.assert_allclose([other_low, other_high], [1 - high, 1 - low], atol=1e-9)

    @given(st.floats(0.5, 100), st.floats(0.5, 100))
    def test_more_good_moves_both_bounds_up(self, good, bad):
        before, after = (beta_interval(np.array(g), np.array(bad)) for g in (good, good + 1))
        assert after[0] >= before[0] - 1e-12
        assert after[1] >= before[1] - 1e-12

    def test_nothing_at_all_is_no_error(self):
        low, high = beta_interval(np.zeros(2), np.array([0.0, 5.0]))
        assert np.isfinite([low, high]).all()


class TestMean:
    @given(st.lists(st.floats(-100, 100), min_size=2, max_size=20), st.floats(-10, 10), st.floats(0.1, 10))
    def test_follows_another_unit(self, values, shift, factor):
        one = np.array(mean_interval(values))
        two = np.array(mean_interval(shift + factor * np.array(values)))
        np.testing.assert_allclose(two, shift + factor * one, atol=1e-6)

    def test_is_scipys(self):
        values = [1.0, 4.0, 2.0, 8.0]
        theirs = stats.t.interval(0.9, 3, np.mean(values), stats.sem(values))
        np.testing.assert_allclose(mean_interval(values, 0.9)[1:], theirs)

    def test_bounds_that_are_not_known_are_none_in_json(self):
        assert mean_interval([3.0]).to_dict() == {"mean": 3.0, "low": None, "high": None}
        assert Estimate(1.0, 0.5, 1.5).to_dict() == {"mean": 1.0, "low": 0.5, "high": 1.5}


class TestPaired:
    @given(st.lists(st.tuples(st.floats(0, 10), st.floats(0, 10)), min_size=2, max_size=12))
    def test_turning_it_round_turns_the_signs_and_keeps_p(self, pairs):
        a, b = (np.array(part) for part in zip(*pairs, strict=True))
        one, two = paired(a, b), paired(b, a)
        assert two.difference.mean == pytest.approx(-one.difference.mean)
        assert two.p == pytest.approx(one.p)
        assert two.d == pytest.approx(-one.d)

    def test_is_scipys(self):
        a, b = [3.0, 5.0, 2.0, 6.0, 4.0], [2.0, 5.5, 1.0, 3.0, 3.0]
        assert paired(a, b).p == pytest.approx(stats.ttest_rel(a, b).pvalue)

    def test_equal_differences_are_sure_and_infinitely_large(self):
        assert paired([2.0, 3.0], [1.0, 2.0]).d == np.inf
        assert paired([1.0, 2.0], [2.0, 3.0]).d == -np.inf
        assert paired([1.0], [1.0]) == (mean_interval([0.0]), 1.0, 0.0)


class TestStandard:
    @given(st.integers(2, 20), st.integers(1, 4), st.integers(0, 99))
    @settings(max_examples=20)
    def test_columns_have_mean_nought_and_deviation_one(self, n, d, seed):
        x = np.random.default_rng(seed).normal(3, 7, size=(n, d))
        result = standardise(x)
        np.testing.assert_allclose(result.mean(axis=0), 0, atol=1e-9)
        np.testing.assert_allclose(result.std(axis=0), 1, atol=1e-9)

    def test_what_is_constant_becomes_nought(self):
        np.testing.assert_array_equal(standardise(np.full((4, 2), 7.0)), np.zeros((4, 2)))

    @given(st.floats(0.01, 100), st.floats(-100, 100))
    @settings(max_examples=20)
    def test_another_unit_changes_nothing(self, factor, shift):
        x = np.random.default_rng(0).normal(size=(20, 4))
        np.testing.assert_allclose(standardise(factor * x + shift), standardise(x), atol=1e-6)
