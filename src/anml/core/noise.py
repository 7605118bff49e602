"""How many labels are wrong, and which? Estimated from held-out predictions, without any truth.

A label is right with probability 1 - rate and then follows the model's held-out prediction; else it
is any other class alike. Temperature and rate are found together by their likelihood, so that an
under- or over-confident model is not taken for noise. For numbers, a right label lies within the
model's own error of the prediction and a wrong one anywhere in the range of labels.
"""

from typing import Any, NamedTuple

import numpy as np

from anml.core.checks import Floats, Ints

TEMPERATURES = np.geomspace(0.1, 4.0, 24)
ROOT_TWO_PI = float(np.sqrt(2 * np.pi))
RATES = np.linspace(0.0, 0.75, 76)
GRID_ROWS = 5_000


class Noise(NamedTuple):
    """Estimated share of wrong labels, and each sample's probability of being right."""

    rate: float
    clean: Floats


def label_noise(log_probabilities: Floats, labels: Ints) -> Noise:
    """Estimate wrong labels from held-out log-probabilities, shape (n, classes).

    Few rows leave temperature and rate uncertain, and the best pair is then often a lucky one: the
    answer is the average over all pairs of a grid, each weighted by its likelihood.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> p = rng.uniform(size=2000)
    >>> labels = (rng.uniform(size=2000) < p).astype(int)
    >>> labels[:400] = 1 - labels[:400]
    >>> round(label_noise(np.log(np.c_[1 - p, p]), labels).rate, 1)
    0.2
    """
    n, classes = log_probabilities.shape
    if classes < 2:
        return Noise(0.0, np.ones(n))
    # Evenly spaced rows settle the rate; only the last step needs every row.
    some = np.unique(np.linspace(0, n - 1, min(n, GRID_ROWS)).astype(np.int64))
    likelihood = np.empty((len(TEMPERATURES), len(RATES)))
    for i, temperature in enumerate(TEMPERATURES):
        right = _tempered(log_probabilities[some], labels[some], temperature)
        mixed = _mixed(right, RATES[:, None], classes)
        likelihood[i] = np.log(mixed + 1e-300).sum(axis=1) * (n / len(some))
    belief = np.exp(likelihood - likelihood.max())
    belief[belief < 1e-3] = 0.0
    belief /= belief.sum()
    clean = np.zeros(n)
    for i in np.flatnonzero(belief.sum(axis=1)).tolist():
        right = _tempered(log_probabilities, labels, TEMPERATURES[i])
        for j in np.flatnonzero(belief[i]).tolist():
            total = _mixed(right, RATES[j], classes)
            posterior = np.divide((1 - RATES[j]) * right, total, out=np.full(n, 0.5), where=total > 0)
            clean += belief[i, j] * posterior
    return Noise(float((belief.sum(axis=0) * RATES).sum()), clean)


def _mixed(right: Floats, rate: Any, classes: int) -> Floats:
    """Likelihood of a label that is right with probability 1 - rate and else any other class alike."""
    return np.asarray((1 - rate) * right + rate * (1 - right) / (classes - 1))


def _tempered(log_probabilities: Floats, labels: Ints, temperature: float) -> Floats:
    scaled = log_probabilities / temperature
    scaled = scaled - scaled.max(axis=1, keepdims=True)
    raised = np.exp(scaled)
    return np.asarray(raised[np.arange(len(labels)), labels] / raised.sum(axis=1))


def residual_noise(residuals: Floats, steps: int = 200) -> Noise:
    """Estimate wrong numeric labels from held-out residuals, by a two-part mixture.

    Right labels scatter normally around a centre (wrong labels pull the model, so it need not be 0),
    wrong ones alike over the range of residuals. Fitted by expectation-maximisation from a robust start.
    """
    n = len(residuals)
    span = float(np.ptp(residuals))
    centre = float(np.median(residuals))
    spread = float(np.median(np.abs(residuals - centre))) * 1.4826
    if span == 0 or spread < 1e-12:
        return Noise(0.0, np.ones(n))
    rate, clean = 0.1, np.ones(n)
    for _ in range(steps):
        right = (1 - rate) * np.exp(-0.5 * np.square((residuals - centre) / spread)) / (spread * ROOT_TWO_PI)
        clean = right / (right + rate / span)
        before = rate
        rate = float(np.clip(1 - clean.mean(), 1e-6, 0.75))
        centre = float((clean * residuals).sum() / clean.sum())
        spread = max(float(np.sqrt((clean * np.square(residuals - centre)).sum() / clean.sum())), 1e-12)
        if abs(rate - before) < 1e-7:
            break
    return Noise(rate, clean)
