"""One prediction from several: a mixture, weighted by the likelihood of labels that were held out."""

from typing import NamedTuple

import numpy as np
from scipy import special

from anml.core.checks import Floats, Ints

STEPS = 50
# Rates of wrong labels that a predictor is tried with.
WRONG = np.array([0.0, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4])


class Pooled(NamedTuple):
    """Pooled log-probabilities (n, classes); share of each predictor, and its mean log-likelihood."""

    log_p: Floats
    share: Floats
    likelihood: Floats


def pool(each: list[Floats], labels: Ints, weight: Floats | None = None) -> Pooled:
    """Pool predictors.

    Parameters
    ----------
    each
        Held-out log-probabilities (n, classes) of every predictor.
    weight
        How far each label counts; all alike by default.

    Examples
    --------
    >>> good, bad = np.log([[0.9, 0.1]] * 4), np.log([[0.5, 0.5]] * 4)
    >>> pool([good, bad], np.zeros(4, dtype=int)).share.round(2)
    array([1., 0.])
    """
    counts = np.ones(len(labels)) if weight is None else weight
    right = np.stack([np.exp(part[np.arange(len(labels)), labels]) for part in each], axis=1)
    others = max(each[0].shape[1] - 1, 1)
    # Each predictor with the rate of wrong labels that suits it: a sharp one is not to blame for those.
    tried = np.log(right[:, :, None] * (1 - WRONG) + (1 - right[:, :, None]) * WRONG / others + 1e-12)
    totals = np.einsum("n,npr->pr", counts, tried)
    likely = np.exp(tried[:, np.arange(len(each)), totals.argmax(axis=1)])
    share: Floats = np.full(len(each), 1 / len(each))
    for _ in range(STEPS):
        belonging = likely * share
        belonging /= belonging.sum(axis=1, keepdims=True)
        share = counts @ belonging / max(float(counts.sum()), 1e-12)
    parts = [part + np.log(max(s, 1e-12)) for part, s in zip(each, share, strict=True)]
    mean = totals.max(axis=1) / max(float(counts.sum()), 1e-12)
    return Pooled(np.asarray(special.logsumexp(parts, axis=0)), share, mean)
