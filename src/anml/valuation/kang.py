"""Reputation of workers: Kang, Xiong, Niyato, Xie and Zhang, IEEE IoT Journal 2019."""

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
