"""Shares that copies do not raise."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anml.core.errors import InputError
from experiments.valuation.agarwal import learned_price, myerson_payment, robust_shares, shared_rows
from experiments.valuation.data_shapley import shapley
from small_games import glove


def test_shares_by_hand():
    copies = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    shares = robust_shares(shapley(glove, 3).value, np.eye(3))
    assert shares == pytest.approx(shapley(glove, 3).value)
    assert robust_shares([0.5, 0.5, 1.0], copies).tolist() == [0.25, 0.25, 1.0]


@given(st.integers(1, 6), st.floats(0.1, 5))
def test_copies_share_no_more_than_the_original_had(copies, worth):
    """With ln 2 each copy halves all of them: n copies have n / 2^(n - 1) of the whole."""
    result = robust_shares(np.full(copies, worth / copies), np.ones((copies, copies)))
    assert result.sum() == pytest.approx(worth / 2 ** (copies - 1))


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
    contributor = np.repeat([0, 1, 2], [20, 20, 20])
    noisy = np.concatenate([x, x[:20] + 1e-4 * rng.normal(size=(20, 3))])
    like = shared_rows(noisy, np.zeros(60), contributor)
    assert like.diagonal().tolist() == [1.0, 1.0, 1.0]
    assert (like[0, 2], like[2, 0], like[0, 1]) == (1.0, 1.0, 0.0)
    other = shared_rows(noisy, np.repeat([0, 0, 1], 20), contributor)
    assert other[0, 2] == 0


def test_a_payment_by_hand_and_above_the_price():
    """Gain = quality, price 2: a bid of 3 has quality 1, and pays 3 - (1 + 1): the price's half."""
    assert myerson_payment(1.0, 2.0, lambda quality: quality) == pytest.approx(0.25)
    assert myerson_payment(3.0, 2.0, lambda quality: quality) == pytest.approx(1.0)
    assert myerson_payment(9.0, 2.0, lambda quality: quality) == pytest.approx(1.0)
    assert myerson_payment(0.0, 2.0, lambda quality: quality) == 0


@given(st.floats(0.1, 5), st.floats(0.2, 5), st.floats(0, 8), st.floats(0.3, 3))
def test_to_bid_what_it_is_worth_is_best(worth, price, bid, power):
    def gain(quality):
        return quality**power

    def kept(message):
        return worth * gain(min(message / price, 1.0)) - myerson_payment(message, price, gain)

    assert kept(worth) >= kept(bid) - 1e-3 * worth
    assert myerson_payment(bid, price, gain) >= -1e-3


def test_the_price_is_learned_from_bids():
    """Buyers bid 2 or 3: each pays half of any price up to its bid, so the highest of these earns most."""
    bids = np.random.default_rng(0).choice([2.0, 3.0], 300)
    asked = learned_price(bids, [0.5, 1.0, 2.0], lambda quality: quality)
    assert asked[0] == pytest.approx(3.5 / 3)
    assert asked[-1] == pytest.approx(2.0, abs=0.05)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((-1.0, 1.0, lambda q: q), "bid must lie"),
        ((1.0, 0.0, lambda q: q), "price must lie"),
        ((1.0, 1.0, lambda q: -q), "must not fall"),
        ((1.0, 1.0, lambda q: 1.0), "one finite number for each quality"),
    ],
)
def test_payments_that_cannot_be(arguments, says):
    with pytest.raises(InputError, match=says):
        myerson_payment(*arguments)
