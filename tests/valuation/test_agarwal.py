"""A marketplace for data: telling the truth is the best bid, copies gain nothing."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_games import glove

from anml.core.errors import InputError
from anml.valuation.agarwal import degraded, next_price, payment, robust_shares
from anml.valuation.shapley import shapley


@given(st.floats(0.2, 3.0), st.floats(0.1, 2.0), st.floats(0.0, 3.0))
@settings(max_examples=25)
def test_telling_the_truth_is_the_best_bid(worth, price, lie):
    gain = degraded(1.0, price)

    def left(bid):
        return worth * gain(bid) - payment(gain, bid, 400)

    assert left(worth) >= left(lie) - 0.01


def test_prices_and_shares_of_the_marketplace():
    weights, price = next_price([0.0, 1.0], [1.0, 2.0], [0.5, 0.5])
    assert weights == pytest.approx([1 / 2.3, 1.3 / 2.3])
    assert price == pytest.approx(3.6 / 2.3)
    copies = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    shares = robust_shares(shapley(glove, 3).value, np.eye(3))
    assert shares == pytest.approx(shapley(glove, 3).value)
    assert robust_shares([0.5, 0.5, 1.0], copies).tolist() == [0.25, 0.25, 1.0]


@given(st.floats(0.1, 5), st.floats(0.1, 3), st.floats(0, 10))
@settings(max_examples=25)
def test_nobody_pays_more_than_he_bids_for_what_he_gains(gain, price, bid):
    bought = degraded(gain, price)
    assert -1e-9 <= payment(bought, bid, 300) <= bid * bought(bid) + 1e-9


def test_a_gain_that_no_bid_changes_is_free():
    assert payment(lambda bid: 3.0, 2.0) == pytest.approx(0)


@given(st.floats(0.1, 5), st.floats(0.1, 3))
@settings(max_examples=25)
def test_a_bid_at_the_price_buys_it_all_and_one_below_in_proportion(gain, price):
    bought = degraded(gain, price)
    assert bought(price) == bought(2 * price) == pytest.approx(gain)
    assert bought(price / 4) == pytest.approx(gain / 4)


@given(st.lists(st.floats(0, 5), min_size=2, max_size=6), st.floats(0, 1))
@settings(max_examples=25)
def test_prices_that_earn_more_become_likelier(revenue, rate):
    prices, before = np.arange(1.0, len(revenue) + 1), np.full(len(revenue), 1 / len(revenue))
    after, price = next_price(revenue, prices, before, rate)
    assert after.sum() == pytest.approx(1)
    assert (
        (np.argsort(after, kind="stable")[-1] == np.argmax(revenue))
        or np.ptp(after) < 1e-9
        or (after.max() == pytest.approx(after[int(np.argmax(revenue))]))
    )
    assert prices.min() <= price <= prices.max() + 1e-9


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
        (lambda: degraded(1.0, 0.0), "the price must be above zero, got 0"),
        (lambda: payment(lambda bid: bid, -1.0), "bid must lie in"),
        (lambda: robust_shares([1.0, 2.0], np.eye(3)), r"similarity must be \(2, 2\)"),
        (lambda: next_price([1.0], [1.0, 2.0], [1.0]), "weights has 1 values for 2"),
    ],
)
def test_bad_arguments_are_named(call, says):
    with pytest.raises(InputError, match=says):
        call()
