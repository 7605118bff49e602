"""Small games: what coalitions of a few players are worth."""

import numpy as np


def glove(subset):
    """One left glove (player 0), two right ones: a pair is worth 1."""
    return np.minimum(subset[:, 0], subset[:, 1] | subset[:, 2]).astype(float)


def airport(subset):
    """A runway for planes that need 1, 2, 3 and 10 of it: it costs what the largest needs."""
    needs = np.array([1.0, 2.0, 3.0, 10.0])
    return (subset * needs).max(axis=1)


def noisy(n, seed=0):
    """A game with diminishing returns: worth is 1 - exp(-sum of talents), with something of each pair."""
    rng = np.random.default_rng(seed)
    talent, pairs = rng.uniform(0, 0.5, n), rng.normal(0, 0.02, (n, n))
    return lambda subset: (
        1 - np.exp(-(subset @ talent)) + np.einsum("bi,ij,bj->b", subset.astype(float), pairs, subset)
    )
