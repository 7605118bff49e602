"""A marketplace for data: Agarwal, Dahleh and Sarkar, EC 2019."""

from collections.abc import Callable
from typing import Any

import numpy as np

from anml.core.checks import Floats, as_vector, in_range
from anml.core.errors import InputError


def payment(gain: Callable[[float], float], bid: float, steps: int = 2_000) -> float:
    """What a buyer who bids `bid` pays (Myerson): the bid's gain minus the area under the gain below it.

    `gain(b)` is how much better the prediction is that a bid of b buys; it must not fall with b. Then telling
    what the prediction is worth is the best bid.

    Examples
    --------
    >>> round(payment(lambda bid: min(bid, 1.0), 1.0), 3)  # 1 x 1 minus a triangle
    0.5
    """
    in_range("bid", bid, 0, np.inf, open_high=True)
    places = np.linspace(0.0, bid, steps + 1)
    gains = as_vector("gain", [gain(float(b)) for b in places])
    if (np.diff(gains) < -1e-9).any():
        raise InputError("the gain falls with the bid; a payment needs one that does not")
    return float(bid * gains[-1] - np.trapezoid(gains, places))


def degraded(gain: float, price: float) -> Callable[[float], float]:
    """Gain that a bid buys where the market asks `price`: less of it the further the bid is below."""
    if price <= 0:
        raise InputError(f"the price must be above zero, got {price}")
    return lambda bid: gain * min(1.0, bid / price)


def next_price(revenue: Any, prices: Any, weights: Any, rate: float = 0.3) -> tuple[Floats, float]:
    """Prices by multiplicative weights: those that would have earned more last time are likelier next.

    Returns the new weights, and the price expected under them.

    Examples
    --------
    >>> weights, price = next_price([0.0, 1.0], [1.0, 2.0], [0.5, 0.5])
    >>> round(price, 3)
    1.565
    """
    earned, asked = as_vector("revenue", revenue), as_vector("prices", prices)
    before = as_vector("weights", weights, len(asked))
    in_range("rate", rate, 0, 1)
    after = before * (1 + rate * earned / max(float(earned.max()), 1e-300))
    after = after / after.sum()
    return after, float(after @ asked)


def robust_shares(values: Any, similarity: Any, strength: float | None = None) -> Floats:
    """Values lowered for those whose data is like others': v_m exp(-lambda sum of similarities).

    `similarity` (n, n) lies in [0, 1]. With lambda = ln 2 (the default) a copy and its original get no more
    together than the original did alone. Its weakness: honest contributors whose data is alike lose too.

    Examples
    --------
    >>> robust_shares([0.5, 0.5, 1.0], np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]))
    array([0.25, 0.25, 1.  ])
    """
    value = as_vector("value", values)
    like = np.asarray(similarity, dtype=np.float64)
    if like.shape != (len(value),) * 2 or not ((like >= 0) & (like <= 1)).all():
        raise InputError(f"similarity must be ({len(value)}, {len(value)}) of numbers in [0, 1]")
    fade = float(np.log(2)) if strength is None else in_range("strength", strength, 0, np.inf)
    others = like.sum(axis=1) - np.diag(like)
    return np.asarray(value * np.exp(-fade * others))
