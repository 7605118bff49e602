"""r: levels, the floor for newcomers, and who came before."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anml.core.errors import InputError
from anml.signals.reputation import ColdStart, prior_counts
from anml.signals.verification import VERIFICATION


class TestColdStart:
    def test_floor_holds_for_the_first_ten(self):
        r = ColdStart().apply(np.full(12, 0.1), np.arange(12))
        np.testing.assert_array_equal(r, [0.4] * 10 + [0.1] * 2)

    def test_never_lowers_and_both_knobs_turn(self):
        np.testing.assert_array_equal(ColdStart(0.6, 1).apply([0.9, 0.2, 0.2], [0, 0, 1]), [0.9, 0.6, 0.2])
        np.testing.assert_array_equal(ColdStart(0.6, 0).apply([0.2], [0]), [0.2])

    def test_void_when_flagged(self):
        np.testing.assert_array_equal(
            ColdStart().apply([0.1, 0.1], [0, 0], np.array([True, False])), [0.1, 0.4]
        )

    def test_floor_alone_never_opens_stage_one_for_self_attested_data(self):
        assert 0.4 * VERIFICATION["self-attested"].high < 0.35

    def test_prior_counts_follow_time(self):
        codes = np.array([0, 0, 1, 0])
        np.testing.assert_array_equal(prior_counts(codes), [0, 1, 0, 2])
        np.testing.assert_array_equal(prior_counts(codes, np.array([3.0, 1.0, 0.0, 2.0])), [2, 0, 0, 1])

    @pytest.mark.parametrize("knobs", [(1.5, 10), (-0.1, 10), (0.4, -1)])
    def test_bad_knobs(self, knobs):
        with pytest.raises(InputError):
            ColdStart(*knobs)


codes_ = st.lists(st.integers(0, 4), min_size=1, max_size=30).map(np.array)


@given(codes_, st.integers(0, 99))
def test_prior_contributions_are_counted_as_by_hand(codes, seed):
    order = np.random.default_rng(seed).permutation(len(codes)).astype(float)
    slow = [
        sum(c == codes[i] and order[j] < order[i] for j, c in enumerate(codes)) for i in range(len(codes))
    ]
    np.testing.assert_array_equal(prior_counts(codes, order), slow)


@given(codes_)
def test_equal_times_keep_the_order_of_rows(codes):
    np.testing.assert_array_equal(prior_counts(codes, np.zeros(len(codes))), prior_counts(codes))


def test_nobody_contributed_nothing_before():
    assert prior_counts(np.array([], dtype=int)).tolist() == []


@given(
    st.lists(st.tuples(st.floats(0, 1), st.integers(0, 20), st.booleans()), min_size=1, max_size=20),
    st.floats(0, 1),
    st.integers(0, 15),
)
def test_the_floor_lifts_exactly_newcomers_who_are_not_flagged(rows, floor, first):
    r, prior, flagged = (np.array(part) for part in zip(*rows, strict=True))
    result = ColdStart(floor, first).apply(r, prior, flagged)
    lifted = (prior < first) & ~flagged
    np.testing.assert_array_equal(result[~lifted], r[~lifted])
    np.testing.assert_array_equal(result[lifted], np.maximum(r[lifted], floor))


@pytest.mark.parametrize(
    ("knobs", "says"),
    [
        ({"r_min": 2.0}, r"r_min must lie in \[0, 1\], got 2"),
        ({"contributions": -1}, "contributions must be at least 0, got -1"),
        ({"contributions": 1.5}, "contributions must be a whole number, got 1.5"),
    ],
)
def test_bad_floors_are_named(knobs, says):
    with pytest.raises(InputError, match=says):
        ColdStart(**knobs)
