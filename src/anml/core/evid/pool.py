"""One prediction from several: a mixture, weighted by the likelihood of labels that were held out."""

import numpy as np
from scipy import special

from anml.core.checks import Floats, Ints

STEPS = 50


def pool(each: list[Floats], labels: Ints, weight: Floats | None = None) -> tuple[Floats, Floats]:
    """Pooled log-probabilities (n, classes), and the share of each predictor.

    Parameters
    ----------
    each
        Held-out log-probabilities (n, classes) of every predictor.
    weight
        How far each label counts; all alike by default.

    Examples
    --------
    >>> good, bad = np.log([[0.9, 0.1]] * 4), np.log([[0.5, 0.5]] * 4)
    >>> pool([good, bad], np.zeros(4, dtype=int))[1].round(2)
    array([1., 0.])
    """
    counts = np.ones(len(labels)) if weight is None else weight
    likely = np.stack([np.exp(part[np.arange(len(labels)), labels]) for part in each], axis=1) + 1e-12
    share: Floats = np.full(len(each), 1 / len(each))
    for _ in range(STEPS):
        belonging = likely * share
        belonging /= belonging.sum(axis=1, keepdims=True)
        share = counts @ belonging / max(float(counts.sum()), 1e-12)
    logs = np.log(np.maximum(share, 1e-12))
    return np.asarray(special.logsumexp([part + log for part, log in zip(each, logs, strict=True)], axis=0)), share
