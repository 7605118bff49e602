"""Contributor-level attribution: sums, honest intervals, shrinkage, derivation chains."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anml.core.contributors import contributor_summary, derivation_factor, shrink_group_means
from anml.core.errors import InputError
from anml.core.types import Signals
from anml.weighting.weigh import weigh


class TestSums:
    def test_by_hand(self):
        signals = Signals.of([1.0, 0.5, 0.0, 0.5], v=[0.8, 0.4, 0.2, 0.2], r=0.5)
        weighting = weigh(signals.q, signals.v, signals.r, recipe={"combine": "multiplicative", "keep": 0.5})
        result = contributor_summary(signals, weighting, np.array([0, 0, 1, 1]), ["ann", "bob"])
        np.testing.assert_array_equal(result["rows"], [2, 2])
        np.testing.assert_array_equal(result["kept"], [2, 0])
        np.testing.assert_array_equal(result["kept_share"], [1, 0])
        np.testing.assert_allclose(result["mean_q"], [0.75, 0.25])
        np.testing.assert_allclose(result["mean_v"], [0.6, 0.2])
        np.testing.assert_allclose(result["row_share"], [0.5, 0.5])
        np.testing.assert_allclose(result["weight_share"], [1.0, 0.0])

    @given(st.lists(st.integers(0, 4), min_size=1, max_size=60), st.integers(0, 99))
    def test_shares_sum_to_one_and_counts_add_up(self, contributor, seed):
        rng = np.random.default_rng(seed)
        names, codes = np.unique(contributor, return_inverse=True)
        signals = Signals.of(
            rng.uniform(size=len(contributor)),
            rng.uniform(size=len(contributor)),
            rng.uniform(size=len(contributor)),
        )
        weighting = weigh(signals.q, signals.v, signals.r, recipe="softmax")
        result = contributor_summary(signals, weighting, codes, [str(name) for name in names])
        assert result["rows"].sum() == len(contributor)
        assert result["kept"].sum() == weighting.kept.sum()
        assert result["weight_share"].sum() == pytest.approx(1)
        assert (result["accuracy_low"] <= result["accuracy_high"]).all()


class TestShrinkage:
    def test_ten_rows_do_not_convict(self):
        rng = np.random.default_rng(0)
        values = np.concatenate(
            [rng.uniform(size=200) < p for p in (0.9, 0.85, 0.8, 0.95)] + [[0, 0, 1]]
        ).astype(float)
        codes = np.r_[np.repeat(np.arange(4), 200), [4, 4, 4]]
        small = shrink_group_means(values, codes)
        assert small.mean[4] > 0.7
        assert small.high[4] - small.low[4] > small.high[0] - small.low[0]

    def test_many_rows_speak_for_themselves(self):
        values = np.r_[np.ones(500), np.zeros(500), np.ones(500)]
        result = shrink_group_means(values, np.repeat([0, 1, 2], 500))
        np.testing.assert_allclose(result.mean, [1, 0, 1], atol=0.01)

    def test_equal_contributors_are_pooled(self):
        values = np.tile([0.0, 1.0], 100)
        result = shrink_group_means(values, np.repeat([0, 1], 100))
        np.testing.assert_allclose(result.mean, [0.5, 0.5])
        assert result.strength == 30

    def test_one_contributor(self):
        assert shrink_group_means(np.array([1.0, 0.0]), np.array([0, 0])).mean == pytest.approx([0.5])


class TestChains:
    def test_the_papers_chain(self):
        assert derivation_factor([0.015] * 3, [[], [0], [1]])[2] == pytest.approx(3.4e-6, rel=0.01)

    def test_weakest_parent_counts(self):
        np.testing.assert_allclose(derivation_factor([0.5, 0.1, 0.5], [[], [], [0, 1]]), [0.5, 0.1, 0.05])

    def test_order_of_rows_does_not_matter(self):
        np.testing.assert_allclose(derivation_factor([0.5, 0.5, 0.5], [[1], [2], []]), [0.125, 0.25, 0.5])

    def test_long_chains_do_not_exhaust_the_stack(self):
        n = 50_000
        factor = derivation_factor(np.full(n, 0.999), [[]] + [[i] for i in range(n - 1)])
        assert factor[-1] == pytest.approx(0.999**n)

    @pytest.mark.parametrize("parents", [[[1], [0]], [[0], []], [[5], []]])
    def test_circles_and_strangers_are_refused(self, parents):
        with pytest.raises(InputError, match="derived from"):
            derivation_factor([0.5, 0.5], parents)
