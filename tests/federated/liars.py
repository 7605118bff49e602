"""Updates of clients, some of whom send the opposite of the others'."""

import numpy as np


def liars(count, n=20, seed=0):
    rng = np.random.default_rng(seed)
    honest_ones = rng.normal(0.1, 0.1, (n - count, 400))
    return np.vstack([honest_ones, rng.normal(-0.1, 0.1, (count, 400))])
