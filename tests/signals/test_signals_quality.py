"""q from raw scores: numbers by hand, then laws."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anml.core.errors import InputError
from anml.signals.quality import krum_neighbours, scale_scores

scores = st.lists(st.floats(0, 1e6), min_size=1, max_size=50)


class TestQuality:
    def test_by_hand(self):
        np.testing.assert_allclose(scale_scores(np.array([2.0, 4.0, 10.0])), [1.0, 0.75, 0.0])

    def test_constant_scores_mean_nothing_stands_out(self):
        np.testing.assert_array_equal(scale_scores(np.array([7.0, 7.0, 7.0])), [1, 1, 1])

    def test_one_sample(self):
        np.testing.assert_array_equal(scale_scores(np.array([7.0])), [1])

    def test_huge_scores_do_not_overflow(self):
        np.testing.assert_allclose(scale_scores(np.array([-1.7e308, 0.0, 1.7e308])), [1.0, 0.5, 0.0])

    @given(scores)
    def test_lies_in_unit_interval_and_reverses_order(self, raw):
        raw = np.array(raw)
        q = scale_scores(raw)
        assert ((q >= 0) & (q <= 1)).all()
        order = np.argsort(raw, kind="stable")
        assert (np.diff(q[order]) <= 1e-12).all()

    @pytest.mark.parametrize("raw", [[np.nan, 1.0], [np.inf, 1.0], [], ["a"]])
    def test_bad_scores_are_refused(self, raw):
        with pytest.raises(InputError, match="raw score"):
            scale_scores(np.array(raw))

    def test_neighbours(self):
        assert krum_neighbours(124) == 10
        assert krum_neighbours(4) == 3
        assert krum_neighbours(1) == 0
        assert krum_neighbours(100, k=None, malicious=0.3) == 100 - 30 - 2
        assert krum_neighbours(100, k=None, malicious=12) == 86

    @pytest.mark.parametrize(("k", "malicious"), [(0, None), (None, None), (None, 0.5), (None, -1)])
    def test_impossible_neighbours_are_refused(self, k, malicious):
        with pytest.raises(InputError):
            krum_neighbours(100, k, malicious)


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=30), st.floats(-1e3, 1e3), st.floats(0.01, 100))
def test_another_unit_of_scores_changes_nothing(raw, shift, factor):
    raw = np.array(raw)
    if np.ptp(raw) > 1e-3:
        np.testing.assert_allclose(scale_scores(shift + factor * raw), scale_scores(raw), atol=1e-6)


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=30, unique=True))
def test_the_best_has_one_and_the_worst_zero(raw):
    q = scale_scores(np.array(raw))
    assert q[int(np.argmin(raw))] == 1
    assert q[int(np.argmax(raw))] == 0


@given(st.integers(2, 1000), st.integers(1, 2000))
def test_neighbours_are_at_most_all_others(n, k):
    assert krum_neighbours(n, k) == min(k, n - 1)


@given(st.integers(4, 1000), st.integers(0, 500))
def test_the_classic_rule_counts_numbers_and_shares_alike(n, f):
    if 2 * f + 2 < n and f >= 1:
        assert krum_neighbours(n, None, f) == n - f - 2
        assert krum_neighbours(n, None, f / n) == n - f - 2


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"n": 10, "k": 0}, "k must be at least 1, got 0"),
        ({"n": 10, "k": None}, "needs the share or number of malicious samples, got None"),
        ({"n": 10, "k": None, "malicious": -0.1}, "got -0.1"),
        ({"n": 10, "k": None, "malicious": 4}, r"2 f \+ 2 < n, got f = 4 for n = 10"),
    ],
)
def test_what_is_impossible_is_said(arguments, says):
    with pytest.raises(InputError, match=says):
        krum_neighbours(**arguments)
