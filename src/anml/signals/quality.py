"""q: from raw scores (low is consistent) to quality in [0, 1] (high is good)."""

import numpy as np

from anml.core.checks import Floats, as_integer, as_vector
from anml.core.errors import InputError


def scale_scores(raw: Floats) -> Floats:
    """Scale raw scores to q = 1 - (s - s_min) / (s_max - s_min).

    Where all scores are equal nothing stands out, and every q is 1. Scaling is per run and one
    outlier squeezes the rest, so raw scores are always kept beside q.
    """
    scores = as_vector("raw score", raw)
    low, high = scores.min(), scores.max()
    if high == low:
        return np.ones_like(scores)
    # Halving first keeps the span finite for scores near the largest float.
    return np.asarray(np.clip(1.0 - (scores / 2 - low / 2) / (high / 2 - low / 2), 0.0, 1.0))


def krum_neighbours(n: int, k: int | None = 10, malicious: float | None = None) -> int:
    """Return how many neighbours a Krum score sums over.

    `k` is explicit, and at most the n - 1 others. `k=None` is the classic rule n - f - 2, where f is
    the number of malicious samples (`malicious` is their share, or their number when above 1).
    """
    if n == 1:
        return 0
    if k is not None:
        return min(as_integer("k", k, 1), n - 1)
    if malicious is None or malicious < 0:
        raise InputError(
            f"the classic rule k = n - f - 2 needs the share or number of malicious samples, got {malicious}"
        )
    f = round(malicious * n) if malicious < 1 else round(malicious)
    if 2 * f + 2 >= n:
        raise InputError(f"the classic rule needs 2 f + 2 < n, got f = {f} for n = {n}")
    return n - f - 2
