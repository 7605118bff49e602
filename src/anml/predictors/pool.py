"""One prediction from several: a mixture, weighted by the likelihood of labels that were held out."""

from typing import NamedTuple

import numpy as np
from scipy import special

from anml.annotators.params import ACCURACY_CONCENTRATION
from anml.core.checks import Floats, Ints


class Pooled(NamedTuple):
    """Pooled log-probabilities of the classes (n, classes), share of each predictor, and log-likelihood.

    The likelihood is that of the labels, right or wrong: with the confusion matrix that suits each predictor
    by the other rows.
    """

    log_p: Floats
    share: Floats
    likelihood: float


def pool_predictions(each: list[Floats], labels: Ints, weight: Floats | None = None) -> Pooled:
    """Pool held-out log-probabilities (n, classes) of predictors; labels count by `weight`, or all alike.

    Examples
    --------
    >>> good, bad = np.log([[0.9, 0.1]] * 4), np.log([[0.5, 0.5]] * 4)
    >>> pool_predictions([good, bad], np.zeros(4, dtype=int)).share.round(2)
    array([1., 0.])
    """
    counts = np.ones(len(labels)) if weight is None else weight
    likely = np.stack([_likelihood(np.exp(part), labels, counts) for part in each], axis=1)
    share: Floats = np.full(len(each), 1 / len(each))
    for _ in range(50):
        belonging = likely * share
        belonging /= belonging.sum(axis=1, keepdims=True)
        share = counts @ belonging / max(float(counts.sum()), 1e-12)
    parts = [part + np.log(max(s, 1e-12)) for part, s in zip(each, share, strict=True)]
    return Pooled(
        np.asarray(special.logsumexp(parts, axis=0)), share, float(counts @ np.log(likely @ share + 1e-12))
    )


def _likelihood(p: Floats, labels: Ints, counts: Floats) -> Floats:
    """Likelihood of each label under a predictor of the true class, with a fitted confusion matrix.

    The confusion matrix prevents a penalty for predictors that contradict wrong labels.
    """
    classes = p.shape[1]
    # Dirichlet prior: correct labels get the concentration, and one pseudo-count is uniform.
    usual = ACCURACY_CONCENTRATION * np.eye(classes) + 1 / classes
    matrix = usual / usual.sum(axis=1, keepdims=True)
    for _ in range(10):
        joint = p * matrix[:, labels].T
        belonging = joint * (counts / np.maximum(joint.sum(axis=1), 1e-12))[:, None]
        given = np.stack([np.bincount(labels, column, classes) for column in belonging.T])
        matrix = (given + usual) / (given + usual).sum(axis=1, keepdims=True)
    # Leave-one-out: exclude the row's own label from the matrix.
    other = np.maximum((given + usual)[:, labels].T - belonging, 1e-12)
    return np.asarray((p * other / ((given + usual).sum(axis=1) - belonging)).sum(axis=1))
