"""Belief against truth, worked out by hand, and what must hold of any."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anml.core.calibration import auroc, calibration_curve
from anml.core.errors import InputError

BELIEFS = st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=50)


def test_by_hand():
    # Bins [0, 0.5) and [0.5, 1]: beliefs .2 .4 with one of two right, .6 .8 1 with two of three.
    result = calibration_curve([0.2, 0.4, 0.6, 0.8, 1.0], [True, False, True, True, False], bins=2)
    assert result.count.tolist() == [2, 3]
    np.testing.assert_allclose(result.mean_p, [0.3, 0.8])
    np.testing.assert_allclose(result.right, [1 / 2, 2 / 3])
    assert result.error == pytest.approx((2 * 0.2 + 3 * (0.8 - 2 / 3)) / 5)
    assert result.gap == pytest.approx((3.0 - 3) / 5)  # sum of beliefs less the number right


def test_a_belief_on_the_border_belongs_above_and_one_in_the_last():
    assert calibration_curve([0.1, 1.0], [True, True]).count.tolist() == [0, 1, 0, 0, 0, 0, 0, 0, 0, 1]


def test_empty_bins_are_left_out_of_what_is_told():
    known = calibration_curve([0.95, 0.95], [True, False]).to_dict()
    assert known["rows"] == 2
    [bin_] = known["bins"]
    assert (bin_["rows"], bin_["p_correct"], bin_["accuracy"]) == (2, 0.95, 0.5)
    assert bin_["accuracy_low"] < 0.5 < bin_["accuracy_high"]


def test_sure_and_right_has_no_error():
    result = calibration_curve([1.0, 0.0], [True, False])
    assert result.error == result.gap == 0


@pytest.mark.parametrize(
    ("belief", "right", "expected"),
    [
        ([0.9, 0.1], [True, False], 1.0),
        ([0.1, 0.9], [True, False], 0.0),
        ([0.5, 0.5], [True, False], 0.5),
        ([0.9, 0.5, 0.5, 0.1], [True, True, False, False], 0.875),  # one tie among four pairs
    ],
    ids=["right order", "wrong order", "tie", "one tie of four"],
)
def test_ranking_by_hand(belief, right, expected):
    assert auroc(belief, right) == pytest.approx(expected)


def test_ranking_is_undefined_where_nothing_is_wrong():
    assert np.isnan(auroc([0.3, 0.4], [True, True]))


@given(BELIEFS)
def test_errors_lie_between_the_gap_and_one(pairs):
    belief, right = zip(*pairs, strict=True)
    result = calibration_curve(list(belief), list(right))
    assert result.count.sum() == len(pairs)
    assert abs(result.gap) <= result.error + 1e-9 <= 1 + 2e-9


@given(BELIEFS)
def test_one_bin_sees_only_the_gap(pairs):
    belief, right = zip(*pairs, strict=True)
    result = calibration_curve(list(belief), list(right), bins=1)
    assert result.error == pytest.approx(abs(np.mean(belief) - np.mean(right)), abs=1e-9)


@pytest.mark.parametrize(
    ("belief", "right", "bins", "says"),
    [
        ([0.5, 1.5], [True, True], 10, "must lie in"),
        ([0.5], [True, True], 10, "1 expected, got 2"),
        ([0.5], [1], 10, "one True or False per sample"),
        ([0.5], [True], 0, "bins must be at least 1"),
    ],
    ids=["range", "length", "not marks", "no bins"],
)
def test_bad_input_is_said(belief, right, bins, says):
    with pytest.raises(InputError, match=says):
        calibration_curve(belief, right, bins)
