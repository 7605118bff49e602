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
    inputs = total > 0
    share = np.divide(right, total, out=np.zeros(len(right)), where=inputs)
    known = np.where(inputs, 1 - unsure, 0.0)
    return Opinion(known * share, known * np.where(inputs, 1 - share, 0.0), 1 - known)


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
    result = opinion(fading @ right, punished * (fading @ wrong), uncertain)
    return np.asarray(result.belief + gamma * result.uncertainty)


def combine_opinions(own: Opinion, others: list[Opinion], weights: Any) -> Opinion:
    """A publisher's own opinion joined with what other publishers say of the same workers.

    Recommendations are averaged by `weights` (how familiar and how alike in their judgement each is), and
    joined by consensus: whoever is less uncertain counts more.
    """
    share = as_vector("weights", weights, len(others))
    if not len(share) or (share < 0).any() or share.sum() <= 0:
        raise InputError("weights of recommendations must not be negative, and one must be above 0")
    parts = [np.stack(part) for part in zip(*others, strict=True)]
    belief, disbelief, doubt = (np.tensordot(share / share.sum(), part, 1) for part in parts)
    both = own.uncertainty + doubt - own.uncertainty * doubt
    # Two who are both certain count alike.
    sure = both <= 1e-12
    both = np.where(sure, 2.0, both)
    mine, theirs = np.where(sure, 1.0, doubt), np.where(sure, 1.0, own.uncertainty)
    return Opinion(
        (own.belief * mine + belief * theirs) / both,
        (own.disbelief * mine + disbelief * theirs) / both,
        np.where(sure, 0.0, own.uncertainty * doubt / both),
    )


class Contract(NamedTuple):
    """Contract for each type of worker: required effort and reward."""

    effort: Floats
    reward: Floats


def contract(types: Any, shares: Any, worth: float, cost: float = 1.0) -> Contract:
    """The menu that is best for a publisher who knows how frequent types of workers are, not who is which.

    A worker of type t gains t reward - cost effort^2, a publisher worth effort - reward. The lowest type has
    nothing, and every other just as much as by taking the item below its own: so nobody gains by taking
    another's item, and reliable workers choose theirs by themselves. Efforts that would fall with the type
    are pooled.
    """
    level, share = as_vector("types", types), as_vector("shares", shares)
    if len(share) != len(level) or not len(level) or (np.diff(level) <= 0).any() or (level <= 0).any():
        raise InputError("types must rise from above 0, with one share each")
    if (share <= 0).any():
        raise InputError("shares must be above 0")
    in_range("worth", worth, 0, np.inf, open_low=True, open_high=True)
    in_range("cost", cost, 0, np.inf, open_low=True, open_high=True)
    share = share / share.sum()
    from_here = np.append(share[::-1].cumsum()[::-1], 0.0) / np.append(level, np.inf)
    burden = from_here[:-1] - from_here[1:]
    blocks: list[tuple[float, float, int]] = []
    for part in zip(share, burden, np.ones(len(level), dtype=int), strict=True):
        blocks.append(part)
        while len(blocks) > 1 and blocks[-2][0] * blocks[-1][1] > blocks[-1][0] * blocks[-2][1]:
            last, before = blocks.pop(), blocks.pop()
            blocks.append((before[0] + last[0], before[1] + last[1], before[2] + last[2]))
    effort = np.concatenate([np.full(large, worth * p / (2 * cost * a)) for p, a, large in blocks])
    steps = np.diff(cost * effort**2, prepend=0.0) / level
    return Contract(effort, np.cumsum(steps))
