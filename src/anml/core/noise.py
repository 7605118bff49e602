"""How many labels are wrong, and which? Estimated from held-out predictions, without any truth.

A label is right with probability 1 - rate and then follows the model's held-out prediction; else it
is any other class alike. Temperature and rate are found together by their likelihood, so that an
under- or over-confident model is not taken for noise. For numbers, residuals of right and of
wrong labels are two normal distributions.
"""

from typing import Any, NamedTuple

import numpy as np

from anml.core.checks import Floats, Ints

TEMPERATURES = np.geomspace(0.1, 4.0, 24)
RATES = np.linspace(0.0, 0.75, 76)
GRID_ROWS = 5_000
# Any honest table contradicts a model a little; above this share it is more than that.
USUAL_MISFIT = 0.03


class Noise(NamedTuple):
    """Estimated share of wrong labels, and what it rests on.

    Parameters
    ----------
    rate
        Share of wrong labels.
    clean
        Each label's probability of being right.
    right, wrong
        How likely each label is if it is right, and if it is wrong.
    gain
        Log-likelihood above that of no wrong labels at all.
    """

    rate: float
    clean: Floats
    right: Floats
    wrong: Floats
    gain: float = 0.0


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
        return Noise(0.0, np.ones(n), np.ones(n), np.ones(n))
    # Some rows settle the rate; only the last step needs every row.
    some = spread_rows(n, GRID_ROWS)
    # Beyond chance, wrong labels cannot be told from a model that is wrong itself.
    rates = RATES[1 - 1 / classes > RATES]
    likelihood = np.empty((len(TEMPERATURES), len(rates)))
    for i, temperature in enumerate(TEMPERATURES):
        right = tempered(log_probabilities[some], labels[some], temperature)
        mixed = _mixed(right, rates[:, None], classes)
        likelihood[i] = np.log(mixed + 1e-300).sum(axis=1) * (n / len(some))
    belief = np.exp(likelihood - likelihood.max())
    belief[belief < 1e-3] = 0.0
    belief /= belief.sum()
    clean, likely = np.zeros(n), np.zeros(n)
    for i in np.flatnonzero(belief.sum(axis=1)).tolist():
        right = tempered(log_probabilities, labels, TEMPERATURES[i])
        likely += belief[i].sum() * right
        for j in np.flatnonzero(belief[i]).tolist():
            total = _mixed(right, rates[j], classes)
            posterior = np.divide((1 - rates[j]) * right, total, out=np.full(n, 0.5), where=total > 0)
            clean += belief[i, j] * posterior
    rate = float((belief.sum(axis=0) * rates).sum())
    gain = float(likelihood.max() - likelihood[:, 0].max())
    return Noise(rate, clean, likely, (1 - likely) / (classes - 1), gain)


def spread_rows(n: int, most: int) -> Ints:
    """At most this many positions, evenly spread over all."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).astype(np.int64))


def _mixed(right: Floats, rate: Any, classes: int) -> Floats:
    """Likelihood of a label that is right with probability 1 - rate and else any other class alike."""
    return np.asarray((1 - rate) * right + rate * (1 - right) / (classes - 1))


def tempered(log_probabilities: Floats, labels: Ints, temperature: float) -> Floats:
    """Probability of each label at a temperature: below 1 sharpens, above 1 flattens."""
    scaled = log_probabilities / temperature
    scaled = scaled - scaled.max(axis=1, keepdims=True)
    raised = np.exp(scaled)
    return np.asarray(raised[np.arange(len(labels)), labels] / raised.sum(axis=1))


def residual_noise(residuals: Floats) -> Noise:
    """Estimate wrong numeric labels from held-out residuals, by a mixture of two normal parts.

    Wrong labels may be shifted to either side or merely scattered, and pull the model, so neither
    part is centred at 0; at most half of the labels are taken to be wrong. A single normal part is
    preferred unless two explain the residuals much better (by the Bayesian information criterion).
    """
    n = len(residuals)
    centre = float(np.median(residuals))
    spread = float(np.median(np.abs(residuals - centre))) * 1.4826
    none = Noise(0.0, np.ones(n), np.ones(n), np.full(n, 1e-6))
    if n < 4 or spread < 1e-12:
        return none
    alone = float(np.log(_normal(residuals, residuals.mean(), residuals.std()) + 1e-300).sum())
    starts = ((centre + 3 * spread, spread), (centre - 3 * spread, spread), (centre, 4 * spread))
    likelihood, found = max(
        (_two_parts(residuals, centre, spread, *start) for start in starts), key=lambda f: f[0]
    )
    return found._replace(gain=likelihood - alone) if likelihood - alone > 1.5 * np.log(n) else none


def _two_parts(x: Floats, centre: float, spread: float, other: float, width: float) -> tuple[float, Noise]:
    """Expectation-maximisation from one start: log-likelihood, and who belongs to the first part."""
    rate, least = 0.1, 0.2 * spread
    clean, likelihood = np.ones(len(x)), -np.inf
    for _ in range(300):
        right, wrong = (1 - rate) * _normal(x, centre, spread), rate * _normal(x, other, width)
        clean = right / (right + wrong + 1e-300)
        before, likelihood = likelihood, float(np.log(right + wrong + 1e-300).sum())
        if likelihood - before < 1e-6:
            break
        rate = float(np.clip(1 - clean.mean(), 1e-6, 0.5))
        centre, spread = _moments(x, clean, least)
        other, width = _moments(x, 1 - clean, least)
    return likelihood, Noise(rate, clean, _normal(x, centre, spread), _normal(x, other, width))


def _moments(x: Floats, weight: Floats, least: float) -> tuple[float, float]:
    total = max(float(weight.sum()), 1e-9)
    mean = float((weight * x).sum() / total)
    return mean, max(float(np.sqrt((weight * np.square(x - mean)).sum() / total)), least)


def _normal(x: Floats, mean: float, spread: float) -> Floats:
    return np.asarray(np.exp(-0.5 * np.square((x - mean) / spread)) / (spread * np.sqrt(2 * np.pi)))
