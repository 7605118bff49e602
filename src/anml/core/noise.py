"""How many labels are wrong, and which? Estimated from held-out predictions, without any truth.

A label is right with probability 1 - rate and then follows the model's held-out prediction; else it
is any other class alike. Temperature and rate are found together by maximum likelihood, so that an
under- or over-confident model is not taken for noise. For numbers, a right label lies within the
model's own error of the prediction and a wrong one anywhere in the range of labels.
"""

from typing import NamedTuple

import numpy as np

from anml.core.checks import Floats, Ints

TEMPERATURES = np.geomspace(0.15, 4.0, 24)
RATES = np.r_[0.0, np.geomspace(0.005, 0.75, 40)]


class Noise(NamedTuple):
    """Estimated share of wrong labels, and each sample's probability of being right."""

    rate: float
    clean: Floats


def label_noise(log_probabilities: Floats, labels: Ints) -> Noise:
    """Estimate wrong labels from held-out log-probabilities, shape (n, classes).

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
    best = (-np.inf, 0.0, np.ones(n))
    for temperature in TEMPERATURES:
        right = _tempered(log_probabilities, labels, temperature)
        wrong = (1 - right) / (classes - 1)
        mixed = np.log((1 - RATES[:, None]) * right + RATES[:, None] * wrong + 1e-300).sum(axis=1)
        top = int(mixed.argmax())
        if mixed[top] > best[0]:
            best = (float(mixed[top]), float(RATES[top]), right)
    _, rate, right = best
    wrong = (1 - right) / (classes - 1)
    clean = np.ones(n)
    # The grid is coarse; expectation-maximisation settles the rate between its points.
    for _ in range(20):
        total = (1 - rate) * right + rate * wrong
        clean = np.divide((1 - rate) * right, total, out=np.full(n, 0.5), where=total > 0)
        rate = float(1 - clean.mean())
    return Noise(rate, clean)


def _tempered(log_probabilities: Floats, labels: Ints, temperature: float) -> Floats:
    scaled = log_probabilities / temperature
    scaled = scaled - scaled.max(axis=1, keepdims=True)
    raised = np.exp(scaled)
    return np.asarray(raised[np.arange(len(labels)), labels] / raised.sum(axis=1))


def residual_noise(residuals: Floats, labels: Floats, steps: int = 200) -> Noise:
    """Estimate wrong numeric labels from held-out residuals, by a two-part mixture.

    Right labels scatter normally around the prediction, wrong ones alike over twice the range of
    labels. Fitted by expectation-maximisation from a robust start.
    """
    n = len(residuals)
    span = 2 * float(np.ptp(labels))
    spread = float(np.median(np.abs(residuals - np.median(residuals)))) * 1.4826
    if span == 0 or spread < 1e-12:
        return Noise(0.0, np.ones(n))
    rate, clean = 0.1, np.ones(n)
    for _ in range(steps):
        right = (1 - rate) * np.exp(-0.5 * np.square(residuals / spread)) / (spread * np.sqrt(2 * np.pi))
        clean = right / (right + rate / span)
        before = rate
        rate = float(np.clip(1 - clean.mean(), 1e-6, 0.75))
        spread = max(float(np.sqrt((clean * np.square(residuals)).sum() / clean.sum())), 1e-12)
        if abs(rate - before) < 1e-7:
            break
    return Noise(rate, clean)
