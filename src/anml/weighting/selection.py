"""Selection of training samples: keep the top share, or draw by weight."""

import math

import numpy as np

from anml.core.checks import Bools, Floats, Ints, as_integer, in_range


def keep_top(w: Floats, share: float) -> Bools:
    """Keep the samples whose weight is at least that of the last one in the top `share`.

    As in the paper, samples with the threshold weight are kept. The selection therefore does not depend on
    the order of rows, and uniform weights keep all samples.
    """
    in_range("keep", share, 0, 1, open_low=True)
    n = len(w)
    # 1e-9 corrects binary rounding: 0.7 of 10 is 7, not 8.
    count = min(n, max(1, math.ceil(share * n - 1e-9)))
    threshold = np.partition(w, n - count)[n - count]
    return np.asarray(w >= threshold)


def sample_by_weight(w: Floats, size: int, rng: np.random.Generator) -> Ints:
    """Draw `size` positions with replacement, by weight; uniform if all weights are zero."""
    as_integer("the number of samples to draw", size, 1)
    total = w.sum()
    p = w / total if total > 0 else None
    return rng.choice(len(w), size=size, replace=True, p=p).astype(np.int64)
