"""Selection of training rows: the top share, or random rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anml.core.errors import InputError
from anml.weighting.selection import keep_top, sample_by_weight


class TestDraw:
    def test_follows_the_weights(self):
        rows = sample_by_weight(np.array([0.7, 0.3, 0.0]), 20_000, np.random.default_rng(1))
        counts = np.bincount(rows, minlength=3) / 20_000
        np.testing.assert_allclose(counts, [0.7, 0.3, 0.0], atol=0.02)

    def test_same_seed_same_rows(self):
        one, two = (sample_by_weight(np.ones(9), 9, np.random.default_rng(3)) for _ in range(2))
        np.testing.assert_array_equal(one, two)

    def test_nothing_to_draw(self):
        with pytest.raises(InputError, match="at least 1"):
            sample_by_weight(np.ones(3), 0, np.random.default_rng(0))


weights = st.lists(st.floats(0, 1), min_size=1, max_size=40).map(np.array)


class TestTop:
    def test_by_hand(self):
        # Half of five is two and a half: three are kept, and the tie with the third stays too.
        kept = keep_top(np.array([0.4, 0.1, 0.3, 0.3, 0.2]), 0.5)
        assert kept.tolist() == [True, False, True, True, False]

    @given(weights, st.floats(0.01, 1))
    def test_at_least_the_share_is_kept_and_the_kept_outweigh_the_rest(self, w, share):
        kept = keep_top(w, share)
        assert kept.sum() >= share * len(w) - 1e-6
        if not kept.all():
            assert w[kept].min() > w[~kept].max()

    @given(st.integers(1, 60), st.floats(0.01, 1))
    def test_different_weights_keep_the_smallest_whole_number(self, n, share):
        kept = keep_top(np.arange(n, dtype=float), share).sum()
        assert kept - 1 < share * n <= kept + 1e-6

    @given(weights, st.floats(0.01, 1), st.floats(0.01, 1))
    def test_a_larger_share_keeps_all_that_a_smaller_one_does(self, w, one, other):
        small, large = sorted((one, other))
        assert (keep_top(w, large) >= keep_top(w, small)).all()

    @given(weights, st.floats(0.01, 1), st.randoms())
    def test_order_and_scale_do_not_matter(self, w, share, random):
        order = np.array(random.sample(range(len(w)), len(w)))
        np.testing.assert_array_equal(keep_top(w[order] * 8, share), keep_top(w, share)[order])

    @pytest.mark.parametrize("hundredths", range(1, 101))
    def test_binary_rounding_adds_no_row(self, hundredths):
        """0.07 of 100 is a little more than 7 in binary, and seven rows all the same."""
        assert keep_top(np.arange(100.0), hundredths / 100).sum() == hundredths

    @pytest.mark.parametrize("share", [0, -0.1, 1.1, np.nan])
    def test_shares_outside_are_refused(self, share):
        with pytest.raises(InputError, match=r"keep must lie in \(0, 1\]"):
            keep_top(np.ones(3), share)


class TestDrawnRows:
    @given(weights, st.integers(1, 50), st.integers(0, 99))
    def test_only_rows_with_weight_are_drawn(self, w, size, seed):
        rows = sample_by_weight(w, size, np.random.default_rng(seed))
        assert len(rows) == size
        assert ((rows >= 0) & (rows < len(w))).all()
        if w.sum() > 0:
            assert (w[rows] > 0).all()

    @given(weights, st.integers(0, 99))
    def test_the_scale_of_weights_does_not_matter(self, w, seed):
        one, two = (sample_by_weight(w * factor, 20, np.random.default_rng(seed)) for factor in (1.0, 16.0))
        np.testing.assert_array_equal(one, two)
