"""Reputation and contracts of workers: Kang, Xiong, Niyato, Xie and Zhang, IEEE IoT Journal 2019."""

from typing import Any, NamedTuple

import numpy as np

from anml.core.checks import Floats, as_vector, in_range
from anml.core.errors import InputError


class Opinion(NamedTuple):
    """Belief, disbelief and uncertainty of subjective logic; they sum to one for each worker."""

    belief: Floats
    disbelief: Floats
    uncertainty: Floats


def opinion(good: Any, bad: Any, uncertain: Any = 0.1) -> Opinion:
    """An opinion from good and bad events; `uncertain` is the chance that what was seen is not what was sent.

    Who has no event is all uncertainty.

    Examples
    --------
    >>> [round(float(part[0]), 2) for part in opinion([3.0], [1.0], 0.2)]
    [0.6, 0.2, 0.2]
    """
    right = as_vector("good events", good)
    wrong = as_vector("bad events", bad, len(right))
    unsure = as_vector("uncertainty", uncertain, len(right))
    if (right < 0).any() or (wrong < 0).any():
        raise InputError("events are counted, so they are not negative")
    if (unsure < 0).any() or (unsure > 1).any():
        raise InputError("uncertainty must lie in [0, 1]")
    total = right + wrong
    seen = total > 0
    share = np.divide(right, total, out=np.zeros(len(right)), where=seen)
    known = np.where(seen, 1 - unsure, 0.0)
    return Opinion(known * share, known * np.where(seen, 1 - share, 0.0), 1 - known)


def kang(
    good: Any, bad: Any, *, recent: float = 0.8, punished: float = 2.0, uncertain: float = 0.1,
    gamma: float = 0.5,
) -> Floats:  # fmt: skip
    """Reputation of each worker from its events round by round, (rounds, workers): belief plus gamma doubt.

    The last round counts most, each before it `recent` times as much; bad events count `punished` times. Its
    weakness: somebody must be able to say which events were good, on data that the server trusts.

    Examples
    --------
    >>> kang([[1.0, 0.0], [1.0, 0.0]], [[0.0, 1.0], [0.0, 1.0]]).round(2)
    array([0.95, 0.05])
    """
    right, wrong = np.asarray(good, dtype=np.float64), np.asarray(bad, dtype=np.float64)
    if right.ndim != 2 or right.shape != wrong.shape or not len(right):
        raise InputError(
            f"events are given round by round, (rounds, workers), good and bad alike; got {right.shape} and "
            f"{wrong.shape}"
        )
    in_range("recent", recent, 0, 1, open_low=True)
    in_range("punished", punished, 0, np.inf, open_high=True)
    in_range("gamma", gamma, 0, 1)
    fading = recent ** np.arange(len(right) - 1, -1, -1)
    found = opinion(fading @ right, punished * (fading @ wrong), uncertain)
    return np.asarray(found.belief + gamma * found.uncertainty)


def contract(types: Any, cost: float, value: float, shares: Any = None) -> tuple[Floats, Floats]:
    """What each type of worker is asked for and paid, so that it is best off with its own line.

    A worker of type theta (low first) loses cost * effort / theta; `value * sqrt(effort)` is what effort is
    worth to the buyer. Only the lowest type is held to nothing; every other is paid for not posing as the
    type below (incentive compatibility). Returns efforts and payments.

    Examples
    --------
    >>> effort, paid = contract([1.0, 2.0], cost=1.0, value=2.0)
    >>> bool(effort[1] > effort[0]), paid.round(2).tolist()[0] == effort.round(2).tolist()[0]
    (True, True)
    """
    theta = as_vector("types", types)
    if (theta <= 0).any() or (np.diff(theta) <= 0).any():
        raise InputError("types must be above zero and in rising order")
    part = np.full(len(theta), 1 / len(theta)) if shares is None else as_vector("shares", shares, len(theta))
    if (part <= 0).any():
        raise InputError("shares of types must be above zero")
    in_range("cost", cost, 0, np.inf, open_low=True, open_high=True)
    above = np.r_[np.cumsum(part[::-1])[::-1][1:], 0.0]
    gap = np.r_[1 / theta[:-1] - 1 / theta[1:], 0.0]
    # What one more unit of effort costs the buyer: the worker's own cost, and the rent of every type above.
    price = cost * (1 / theta + above / part * gap)
    effort = np.square(value / (2 * price))
    # Where types below would be asked for more than those above, both are asked for the same.
    effort = np.maximum.accumulate(effort)
    paid = np.empty_like(effort)
    paid[0] = cost * effort[0] / theta[0]
    for line in range(1, len(theta)):
        paid[line] = paid[line - 1] + cost * (effort[line] - effort[line - 1]) / theta[line]
    return effort, paid
