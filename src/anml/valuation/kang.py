"""Reputation of workers: Kang, Xiong, Niyato, Xie and Zhang, IEEE IoT Journal 2019."""

import numpy as np

from anml.core.checks import Floats

# Each round counts so many times as much as the next, bad events count so many times; the chance that what
# was seen is not what was sent, and how much of doubt counts as belief.
RECENT, PUNISHED, UNCERTAIN, GAMMA = 0.8, 2.0, 0.1, 0.5


def kang(good: Floats, bad: Floats) -> Floats:
    """Reputation of each worker from its events round by round, (rounds, workers): belief plus gamma doubt.

    Belief is the share of good events, as far as it is certain; who has no event is all doubt. Its weakness:
    somebody must be able to say which events were good, on data that the server trusts.
    """
    fading = RECENT ** np.arange(len(good) - 1, -1, -1)
    right, wrong = fading @ good, PUNISHED * (fading @ bad)
    seen = right + wrong > 0
    share = np.divide(right, right + wrong, out=np.zeros(len(right)), where=seen)
    known = np.where(seen, 1 - UNCERTAIN, 0.0)
    return np.asarray(known * share + GAMMA * (1 - known))
