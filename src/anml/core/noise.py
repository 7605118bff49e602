"""How many labels are wrong, and which? Estimated from held-out predictions, without any truth.

A label is right with probability 1 - rate and then follows the model's held-out prediction; else it
is any other class alike. Temperature and rate are found together by their likelihood, so that an
under- or over-confident model is not taken for noise. For numbers, residuals of right and of
wrong labels are two normal distributions.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from anml.core.checks import Floats, Ints

TEMPERATURES = np.geomspace(0.1, 4.0, 24)
RATES = np.linspace(0.0, 0.75, 76)
GRID_ROWS = 5_000
# Any honest table contradicts a model a little; above this share it is more than that.
USUAL_MISFIT = 0.03
# Degrees of freedom of residuals: from heavy tails to the normal.
TAILS = (4.0, 8.0, 100.0)
# What a label that is called wrong must give at least, in nats.
LEAST_EACH = 0.1
# How much wider one side of residuals may be than their middle: the square is the ratio of both sides.
LOPSIDED = (0.5, 0.7, 0.85, 1.0, 1.18, 1.43, 2.0)


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

    One part, whatever its tails and however lopsided, is preferred unless two explain the residuals
    much better (by the Bayesian information criterion).
    """
    found = two_parts(residuals)
    return found if clear_parts(found, len(residuals)) else nothing_seen(len(residuals))


def nothing_seen(n: int) -> Noise:
    """No wrong labels."""
    return Noise(0.0, np.ones(n), np.ones(n), np.full(n, 1e-6))


def clear_parts(found: Noise, count: float) -> bool:
    """Whether two parts are clearly there, among `count` residuals.

    They have three numbers more than one part (a rate, a centre, a spread) and must be worth them by twenty
    to one; and each label that is called wrong must give something to it, because among very many
    residuals any small oddity of their shape would.
    """
    needed = 1.5 * np.log(max(count, 2.0)) + np.log(20) + LEAST_EACH * found.rate * count
    return bool(found.gain > needed)


def two_parts(residuals: Floats, trust: Floats | None = None) -> Noise:
    """Residuals of right and of wrong labels as two normal parts; the gain is above the best single part.

    Wrong labels may be shifted to either side or merely scattered, and pull the model, so neither
    part is centred at 0; at most half of the labels are taken to be wrong. `trust` says how much each
    residual counts.
    """
    n = len(residuals)
    weight = np.ones(n) if trust is None else trust
    if weight.sum() < 4:
        return nothing_seen(n)
    centre = _middle(residuals, weight)
    spread = _middle(np.abs(residuals - centre), weight) * 1.4826
    if spread < 1e-12:
        return nothing_seen(n)
    alone = _one_part(residuals, weight, centre, spread)
    starts = ((centre + 3 * spread, spread), (centre - 3 * spread, spread), (centre, 4 * spread))
    likelihood, found = max(
        (_from_start(residuals, weight, centre, spread, *start) for start in starts), key=lambda f: f[0]
    )
    return found._replace(gain=likelihood - alone)


def _middle(x: Floats, weight: Floats) -> float:
    """Weighted median."""
    order = np.argsort(x)
    running = np.cumsum(weight[order])
    return float(x[order[int(np.searchsorted(running, 0.5 * running[-1]))]])


def _one_part(x: Floats, weight: Floats, centre: float, spread: float) -> float:
    """Log-likelihood of one part: of any tails, and as lopsided as it likes.

    Two halves of t distributions, one on each side of the mode, found from the median by some steps.
    """
    best = -np.inf
    for tails in TAILS:
        for lopsided in LOPSIDED:
            middle, scale = centre, spread
            for _ in range(30):
                side = scale * np.where(x < middle, 1 / lopsided, lopsided)
                z = np.square((x - middle) / side)
                pull = weight * (tails + 1) / (tails + z)
                middle = float((pull * x / side**2).sum() / (pull / side**2).sum())
                scale = max(scale * float(np.sqrt((pull * z).sum() / weight.sum())), 1e-12)
            side = scale * np.where(x < middle, 1 / lopsided, lopsided)
            share = 2 / (lopsided + 1 / lopsided)
            density = stats.t.logpdf((x - middle) / side, tails) + np.log(share / scale)
            best = max(best, float((weight * density).sum()))
    return best


def _from_start(
    x: Floats, weight: Floats, centre: float, spread: float, other: float, width: float
) -> tuple[float, Noise]:
    """Expectation-maximisation from one start: log-likelihood, and who belongs to the first part."""
    rate, least = 0.1, 0.2 * spread
    clean, likelihood = np.ones(len(x)), -np.inf
    for _ in range(300):
        right, wrong = (1 - rate) * _normal(x, centre, spread), rate * _normal(x, other, width)
        clean = right / (right + wrong + 1e-300)
        before, likelihood = likelihood, float((weight * np.log(right + wrong + 1e-300)).sum())
        if likelihood - before < 1e-6:
            break
        rate = float(np.clip(1 - np.average(clean, weights=weight), 1e-6, 0.5))
        centre, spread = _moments(x, weight * clean, least)
        other, width = _moments(x, weight * (1 - clean), least)
    return likelihood, Noise(rate, clean, _normal(x, centre, spread), _normal(x, other, width))


def _moments(x: Floats, weight: Floats, least: float) -> tuple[float, float]:
    total = max(float(weight.sum()), 1e-9)
    mean = float((weight * x).sum() / total)
    return mean, max(float(np.sqrt((weight * np.square(x - mean)).sum() / total)), least)


def _normal(x: Floats, mean: float, spread: float) -> Floats:
    return np.asarray(np.exp(-0.5 * np.square((x - mean) / spread)) / (spread * np.sqrt(2 * np.pi)))
