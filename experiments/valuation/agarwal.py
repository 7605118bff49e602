"""Shares that copies do not raise, and prices that tell no lies: Agarwal, Dahleh and Sarkar, EC 2019."""

from collections.abc import Callable
from itertools import permutations
from typing import Any

import numpy as np

from anml.core.checks import Floats, as_vector, in_range
from anml.core.errors import InputError


def robust_shares(values: Any, similarity: Any, strength: float | None = None) -> Floats:
    """Values lowered for those whose data is like others': v_m exp(-lambda sum of similarities).

    `similarity` (n, n) lies in [0, 1]. With lambda = ln 2 (the default) a copy and its original get no more
    together than the original did alone. Its weakness: honest contributors whose data is alike lose too.
    """
    value = as_vector("value", values)
    like = np.asarray(similarity, dtype=np.float64)
    if like.shape != (len(value),) * 2 or not ((like >= 0) & (like <= 1)).all():
        raise InputError(f"similarity must be ({len(value)}, {len(value)}) of numbers in [0, 1]")
    fade = float(np.log(2)) if strength is None else in_range("strength", strength, 0, np.inf)
    others = like.sum(axis=1) - np.diag(like)
    return np.asarray(value * np.exp(-fade * others))


def shared_rows(x: Any, y: Any, contributor: Any, near: float = 0.1) -> Floats:
    """Share of each contributor's rows that another has as well, or nearly, (contributors, contributors).

    Near is closer than a share of the usual distance between rows of one contributor, so that a copy
    with a little noise on it is still a copy; `contributor` are codes from 0.
    """
    from scipy.spatial import cKDTree

    rows, contributors = np.asarray(x, dtype=np.float64), np.asarray(contributor)
    wide = np.column_stack([rows, 1e6 * np.asarray(y, dtype=np.float64)])
    count = int(contributors.max()) + 1
    mine = [wide[contributors == code] for code in range(count)]
    trees = [cKDTree(part) for part in mine]
    # Within one contributor, so that copies of others do not make copies look usual.
    typical = np.concatenate([tree.query(own, k=2)[0][:, 1] for tree, own in zip(trees, mine, strict=True)])
    typical = typical[np.isfinite(typical) & (typical > 0)]
    reach = near * float(np.median(typical)) if len(typical) else 0.0
    like = np.eye(count)
    for a, b in permutations(range(count), 2):
        if len(mine[a]) and len(mine[b]):
            like[a, b] = float((trees[b].query(mine[a])[0] <= max(reach, 1e-9)).mean())
    return like


def myerson_payment(bid: float, price: float, gain: Callable[[Floats], Any], steps: int = 1_001) -> float:
    """Payment of a buyer who bids `bid` per unit of accuracy gain, at a market price `price`.

    A buyer who bids less than the price gets data of quality bid / price. `gain` maps a quality in [0, 1]
    to the accuracy gain and must not decrease. The payment is bid times gain, minus the integral of the gain
    over all lower bids (Myerson), so that truthful bids are optimal.
    """
    in_range("bid", bid, 0, np.inf, open_high=True)
    in_range("price", price, 0, np.inf, open_low=True, open_high=True)
    lower = np.unique(np.append(np.linspace(0.0, bid, steps), min(bid, price)))
    result = np.asarray(gain(np.minimum(lower / price, 1.0)), dtype=np.float64)
    if result.shape != lower.shape or not np.isfinite(result).all() or (np.diff(result) < -1e-12).any():
        raise InputError("gain must give one finite number for each quality, and must not fall with it")
    return float(bid * result[-1] - np.trapezoid(result, lower))


def learned_price(bids: Any, prices: Any, gain: Callable[[Floats], Any], rate: float = 0.1) -> Floats:
    """The mean price that the market asks of each buyer in turn: multiplicative weights over some prices.

    After each bid a price gains by what it would have earned, so the market comes to ask what earns most of
    the buyers who come.
    """
    offered = as_vector("prices", prices)
    in_range("rate", rate, 0, 1, open_low=True)
    weight, asked = np.ones(len(offered)), []
    for bid in as_vector("bids", bids):
        asked.append(float(weight @ offered / weight.sum()))
        earned = np.array([myerson_payment(float(bid), float(price), gain, 101) for price in offered])
        weight = weight * (1 + rate) ** (earned / max(float(bid), 1e-12))
        weight = weight / weight.sum()
    return np.array(asked)
