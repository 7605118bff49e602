"""Shares that copies do not raise."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_games import glove

from anml.core.errors import InputError
from anml.valuation.agarwal import robust_shares, shared_rows
from anml.valuation.semivalues import shapley


def test_shares_by_hand():
    copies = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    shares = robust_shares(shapley(glove, 3).value, np.eye(3))
    assert shares == pytest.approx(shapley(glove, 3).value)
    assert robust_shares([0.5, 0.5, 1.0], copies).tolist() == [0.25, 0.25, 1.0]


@given(st.integers(1, 6), st.floats(0.1, 5))
def test_copies_share_no_more_than_the_original_had(copies, worth):
    """With ln 2 each copy halves all of them: n copies have n / 2^(n - 1) of the whole."""
    found = robust_shares(np.full(copies, worth / copies), np.ones((copies, copies)))
    assert found.sum() == pytest.approx(worth / 2 ** (copies - 1))


def test_nobody_alike_loses_nothing_and_strength_is_the_readers():
    assert robust_shares([1.0, 2.0], np.eye(2)).tolist() == [1.0, 2.0]
    assert robust_shares([1.0, 2.0], np.ones((2, 2)), strength=0.0).tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: robust_shares([1.0, 2.0], np.eye(3)), r"similarity must be \(2, 2\)"),
    ],
)
def test_bad_arguments_are_named(call, says):
    with pytest.raises(InputError, match=says):
        call()


def test_a_copy_with_a_little_noise_is_still_a_copy_and_another_label_is_not():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 3))
    who = np.repeat([0, 1, 2], [20, 20, 20])
    noisy = np.concatenate([x, x[:20] + 1e-4 * rng.normal(size=(20, 3))])
    like = shared_rows(noisy, np.zeros(60), who)
    assert like.diagonal().tolist() == [1.0, 1.0, 1.0]
    assert (like[0, 2], like[2, 0], like[0, 1]) == (1.0, 1.0, 0.0)
    other = shared_rows(noisy, np.repeat([0, 0, 1], 20), who)
    assert other[0, 2] == 0
