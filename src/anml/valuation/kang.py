"""Reputation of workers: Kang, Xiong, Niyato, Xie and Zhang, IEEE IoT Journal 2019."""

from typing import Any

import numpy as np

from anml.core.checks import Floats, as_vector, in_range
from anml.core.errors import InputError


def kang(
    good: Any, bad: Any, *, recent: float = 0.8, punished: float = 2.0, uncertain: float = 0.1,
    gamma: float = 0.5,
) -> Floats:  # fmt: skip
    """Reputation of each worker from its events round by round, (rounds, workers): belief plus gamma doubt.

    The last round counts most, each before it `recent` times as much; bad events count `punished` times.
    `uncertain` is the chance that what was seen is not what was sent; who has no event is all doubt. Its
    weakness: somebody must be able to say which events were good, on data that the server trusts.
    """
    right, wrong = np.asarray(good, dtype=np.float64), np.asarray(bad, dtype=np.float64)
    if right.ndim != 2 or right.shape != wrong.shape or not len(right):
        raise InputError(
            f"events are given round by round, (rounds, workers), good and bad alike; got {right.shape} and "
            f"{wrong.shape}"
        )
    if (right < 0).any() or (wrong < 0).any():
        raise InputError("events are counted, so they are not negative")
    in_range("recent", recent, 0, 1, open_low=True)
    in_range("punished", punished, 0, np.inf, open_high=True)
    in_range("uncertainty", uncertain, 0, 1)
    in_range("gamma", gamma, 0, 1)
    fading = recent ** np.arange(len(right) - 1, -1, -1)
    seen = as_vector("good events", fading @ right)
    total = seen + punished * as_vector("bad events", fading @ wrong)
    share = np.divide(seen, total, out=np.zeros(len(total)), where=total > 0)
    known = np.where(total > 0, 1 - uncertain, 0.0)
    return np.asarray(known * share + gamma * (1 - known))
