"""Which labels contradict the clusters of their classes?

A second, rigid view beside the networks. A flexible network learns poison that sits between two classes
and is always labelled as the neighbour: held-out labels are then predicted well, and nothing looks wrong.
Here each class is one normal cloud (shared covariance, shrunk), and a wrong label of class b is a sample
of another class a that was moved part of the way towards b. How far is found by likelihood; not at
all is a plain flip. Where clouds lie well apart and labels still contradict them, the labels are wrong;
where classes overlap or have several parts this view says so (`separated`), and should not be asked.

Expectation-maximisation, with only the rows believed in deciding where the clouds are.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import linalg, optimize, special
from scipy.sparse import linalg as sparse_linalg

from anml.core.checks import Floats, Ints
from anml.core.noise import USUAL_MISFIT, spread_rows

# How far wrong samples may have been moved towards the class they are labelled as.
PULLS = (0.0, 0.1, 0.2, 0.3)
# Share of the covariance that is replaced by a sphere, and steps at most: to find the clouds, then to judge.
STAGES = ((0.5, 12), (0.25, 60))
# Rows that settle the clouds, and directions of most spread that are looked at.
FITTED_ROWS = 2_000
DIRECTIONS = 64
WIDE = 512
# Beforehand a tenth of the labels is taken to be wrong, with the weight of twenty rows.
PRIOR = (2.0, 18.0)
# Clouds are apart when less than this share of the samples belongs to another than its nearest.
MOST_OVERLAP = 0.05
# A column of fewer different values is a category or a mark, no measurement.
FEW_VALUES = 8
# A cloud that holds less of the samples with its label is no picture of a class.
LEAST_HELD = 0.25
WIDEST_ODDS = 60.0


class Contradictions(NamedTuple):
    """What the clusters say of each label.

    Parameters
    ----------
    odds
        Log-odds that the label is right, before anything else is known of it.
    rate
        Share of labels that look wrong.
    separated
        Whether clusters are a fair picture of the classes and more labels contradict them than usual.
    """

    odds: Floats
    rate: float
    separated: bool


class _Clouds(NamedTuple):
    """Centres in units of the shared covariance, and the map into these units."""

    centres: Floats
    root: Floats

    def closeness(self, x: Floats) -> Floats:
        """Log density of each sample in each cloud, up to what all clouds share."""
        z = linalg.solve_triangular(self.root, x.T, lower=True).T
        return np.asarray(z @ self.centres.T - 0.5 * np.square(self.centres).sum(axis=1))


class _Fit(NamedTuple):
    clean: Floats
    clouds: _Clouds
    confusion: Floats
    rate: float
    likelihood: float


def contradictions(x: Floats, y: Ints, classes: int) -> Contradictions:
    """Log-odds that each label is right by the clusters of the classes; time linear in the rows.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(400) % 2
    >>> x = rng.normal(size=(400, 2)) + 6 * y[:, None]
    >>> y[:40] = 1 - y[:40]
    >>> found = contradictions(x, y, 2)
    >>> found.separated, round(found.rate, 2), int((found.odds[:40] < 0).sum())
    (True, 0.1, 40)
    """
    n = len(y)
    nothing = Contradictions(np.zeros(n), 0.0, separated=False)
    counts = np.bincount(y, minlength=classes)
    rows = spread_rows(n, FITTED_ROWS)
    features = _directions(x, rows)
    few = np.count_nonzero(counts) < 2 or counts[counts > 0].min() < 3
    if classes < 2 or features.shape[1] == 0 or few or not _measured(x[rows]):
        return nothing
    seen = np.flatnonzero(counts)
    y, classes = np.searchsorted(seen, y), len(seen)
    some, labels = features[rows], y[rows]
    plain = _climb(some, labels, classes, 0.0, STAGES[1:])
    best = max((_fit(some, labels, classes, pull) for pull in PULLS), key=lambda fit: fit.likelihood)
    rate = float(np.clip(1 - best.clean.mean(), 1e-3, 0.5))
    # The pull says how many labels are wrong; which ones, the unmoved clouds tell best: a pull would
    # condemn honest samples of classes that are far apart along with the wrong ones of those nearby.
    odds = _odds(plain.clouds, features, y, plain.confusion, pull=0.0)[0]
    odds = np.clip(odds, -WIDEST_ODDS, WIDEST_ODDS)
    separated = plain.rate >= USUAL_MISFIT and _fair(some, labels, plain, best, classes)
    return Contradictions(at_rate(odds, rate), rate, separated)


def at_rate(odds: Floats, rate: float) -> Floats:
    """Shift log-odds so that, with this share of wrong labels beforehand, as many look wrong afterwards."""
    base = special.logit(1 - rate)

    def excess(shift: float) -> float:
        return float(special.expit(base + odds + shift).mean() - (1 - rate))

    widest = 2 * WIDEST_ODDS + 10
    return np.asarray(odds + optimize.brentq(excess, -widest, widest))


def _directions(x: Floats, rows: Ints) -> Floats:
    """Columns that vary, at most as many as there are directions to look at."""
    centred = x - x[rows].mean(axis=0)
    centred = centred[:, centred[rows].std(axis=0) > 1e-9]
    if centred.shape[1] <= DIRECTIONS:
        return np.asarray(centred)
    if centred.shape[1] <= WIDE:
        _, vectors = np.linalg.eigh(centred[rows].T @ centred[rows])
        return np.asarray(centred @ vectors[:, -DIRECTIONS:])
    # The few directions of a wide table are found without a product of all its columns.
    width = min(DIRECTIONS, len(rows) - 1)
    _, _, across = sparse_linalg.svds(centred[rows], k=width, v0=np.ones(min(centred[rows].shape)))
    return np.asarray(centred @ across.T)


def _measured(x: Floats) -> bool:
    """Are most columns measurements? Categories make no clouds: their corners look far apart."""
    values = [len(np.unique(column)) for column in x.T]
    varying = [count for count in values if count > 1]
    return sum(count > FEW_VALUES for count in varying) > len(varying) / 2


def _fair(x: Floats, y: Ints, plain: _Fit, best: _Fit, classes: int) -> bool:
    """Are the clouds apart, and does each hold a good part of its own samples?"""
    shares = np.bincount(y, best.clean, classes) / best.clean.sum()
    belonging = special.softmax(best.clouds.closeness(x) + np.log(shares + 1e-12), axis=1)
    kept = np.bincount(y, plain.clean, classes) / np.maximum(np.bincount(y, minlength=classes), 1)
    return bool(1 - belonging.max(axis=1).mean() <= MOST_OVERLAP and kept.min() > LEAST_HELD)


def _fit(x: Floats, y: Ints, classes: int, pull: float) -> _Fit:
    """The likelier of two fits: clouds that are rounder at first find their way where features depend."""
    fits = [_climb(x, y, classes, pull, stages) for stages in (STAGES, STAGES[1:])]
    return max(fits, key=lambda fit: fit.likelihood)


def _climb(x: Floats, y: Ints, classes: int, pull: float, stages: Sequence[tuple[float, int]]) -> _Fit:
    """Clouds, who is believed to belong to them, and where wrong labels come from."""
    n = len(y)
    clean, rate = np.ones(n), 0.2
    confusion = (1 - np.eye(classes)) / (classes - 1)
    clouds, likelihood = _clouds(x, y, clean, classes, stages[0][0]), -np.inf
    alpha, beta = PRIOR
    for shrinkage, steps in stages:
        for _ in range(steps):
            clouds = _clouds(x, y, clean, classes, shrinkage)
            odds, right, came_from = _odds(clouds, x, y, confusion, pull)
            logit = special.logit(1 - rate) + odds
            before, clean = clean, special.expit(logit)
            # log((1 - rate) right + rate wrong), from the odds between the two
            mixed = np.log1p(-rate) + right - special.log_expit(logit)
            likelihood = float(mixed.sum()) - _volume(clouds, x)
            rate = float(((1 - clean).sum() + alpha - 1) / (n + alpha + beta - 2))
            confusion = _confusion(came_from, clean, y, classes)
            if np.abs(clean - before).max() < 1e-4:
                break
    return _Fit(clean, clouds, confusion, rate, likelihood)


def _clouds(x: Floats, y: Ints, clean: Floats, classes: int, shrinkage: float) -> _Clouds:
    belonging = np.zeros((len(y), classes))
    belonging[np.arange(len(y)), y] = clean
    totals = belonging.sum(axis=0) + 1e-9
    centres = (belonging.T @ x) / totals[:, None]
    scatter = (x * clean[:, None]).T @ x - (centres * totals[:, None]).T @ centres
    covariance = scatter / totals.sum()
    width = len(covariance)
    sphere = np.trace(covariance) / width
    covariance = (1 - shrinkage) * covariance + (shrinkage * sphere + 1e-9) * np.eye(width)
    root = np.linalg.cholesky(covariance)
    return _Clouds(linalg.solve_triangular(root, centres.T, lower=True).T, root)


def _odds(
    clouds: _Clouds, x: Floats, y: Ints, confusion: Floats, pull: float
) -> tuple[Floats, Floats, Floats]:
    """Log-odds of right against wrong, the log density if right, and of each class it may come from."""
    rows = np.arange(len(y))
    z = linalg.solve_triangular(clouds.root, x.T, lower=True).T
    along = z @ clouds.centres.T
    products = clouds.centres @ clouds.centres.T
    squares = np.diag(products)
    own = along[rows, y]
    right = own - 0.5 * squares[y]
    # A wrong sample lies around the point that is `pull` of the way from its own class to its label's.
    moved = (1 - pull) * along + pull * own[:, None]
    lengths = (1 - pull) ** 2 * squares + pull**2 * squares[y][:, None] + 2 * pull * (1 - pull) * products[y]
    with np.errstate(divide="ignore"):
        came_from = moved - 0.5 * lengths + np.log(confusion[y])
    return right - special.logsumexp(came_from, axis=1), right, came_from


def _confusion(came_from: Floats, clean: Floats, y: Ints, classes: int) -> Floats:
    """For each label, which class its wrong samples belong to; spread over all where there are few."""
    share = special.softmax(came_from, axis=1) * (1 - clean)[:, None]
    counts = np.stack([np.bincount(y, share[:, k], classes) for k in range(classes)], axis=1)
    spread = counts + 2.0 * (1 - np.eye(classes)) / (classes - 1)
    return np.asarray(spread / spread.sum(axis=1, keepdims=True))


def _volume(clouds: _Clouds, x: Floats) -> float:
    """What all clouds share of the log density, which depends on their covariance."""
    z = linalg.solve_triangular(clouds.root, x.T, lower=True)
    return float(0.5 * np.square(z).sum() + x.shape[0] * np.log(np.diag(clouds.root)).sum())
