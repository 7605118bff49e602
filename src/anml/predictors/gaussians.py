"""Class Gaussians: every class is one normal density, and labels may be wrong.

Linear discriminant analysis, except that some labels are wrong: their samples come from another class and
may have been moved part of the way towards the class they are labelled as. A flexible model learns such
samples where they sit together; densities cannot. Expectation-maximisation, in which only rows that are
believed decide where they lie.
"""

from typing import NamedTuple

import numpy as np
from scipy import linalg

from anml.core.checks import Floats, Ints

# Directions of most spread that the Gaussians look at.
DIRECTIONS = 64
# Share of the covariance that is replaced by a sphere, and steps at most: rounder ones find their way where
# features depend on each other.
STAGES = ((0.5, 12), (0.25, 60))
# How far wrong samples may have been moved towards the class they are labelled as.
SHIFT_GRID = (0.0, 0.1, 0.2, 0.3)
# Beforehand a tenth of the labels is wrong, with the weight of twenty; where wrong labels of a class come
# from has the weight of two.
INITIAL_NOISE_RATE, NOISE_RATE_STRENGTH, SOURCE_PSEUDO_COUNT = 0.1, 20.0, 2.0


class GaussianParts(NamedTuple):
    """Joint log density of rows with every label (n, classes): right, and wrong by the class they are of."""

    right: Floats
    wrong: Floats

    @property
    def truth(self) -> Floats:
        """Log-probability of every class."""
        return _normalised(self.right)

    @property
    def label(self) -> Floats:
        """Log-probability of every label, right or wrong."""
        return _normalised(np.logaddexp(self.right, np.logaddexp.reduce(self.wrong, axis=2)))


class ClassGaussians:
    """One Gaussian per class with a shared covariance; a share of the labels is wrong.

    `moved`: how far wrong samples were moved towards the class they are labelled as.
    `basis`: where rows lie and the directions they spread in, which no label has a part in; None finds them.
    """

    def __init__(self, moved: float = 0.0, basis: tuple[Floats, Floats] | None = None) -> None:
        self.moved, self.basis = moved, basis

    def fit(self, x: Floats, y: Ints, sample_weight: Floats | None = None) -> "ClassGaussians":
        """Find the classes, the rate of wrong labels and where they come from."""
        weight = np.ones(len(y)) if sample_weight is None else sample_weight
        self.classes_, code = np.unique(y, return_inverse=True)
        classes, rows = len(self.classes_), np.arange(len(y))
        self.centre, self.across = directions(x) if self.basis is None else self.basis
        z = (x - self.centre) @ self.across
        counts = np.bincount(code, weight, classes) + 1e-3
        self.prior = np.log(counts / counts.sum())
        self.source = (1 - np.eye(classes)) / max(classes - 1, 1)
        self.rate, right = 2 * INITIAL_NOISE_RATE, np.ones(len(y))
        for shrinkage, steps in STAGES:
            for _ in range(steps):
                self._place(z, code, right * weight, shrinkage)
                parts = self._parts(z)
                from_ = parts.wrong[rows, code]
                wrong = np.logaddexp.reduce(from_, axis=1)
                total = np.logaddexp(parts.right[rows, code], wrong)
                before, right = right, np.exp(parts.right[rows, code] - total)
                lost = weight * (1 - right)
                self.rate = float(
                    (lost.sum() + INITIAL_NOISE_RATE * NOISE_RATE_STRENGTH)
                    / (weight.sum() + NOISE_RATE_STRENGTH)
                )
                self._trace(np.exp(from_ - wrong[:, None]) * lost[:, None], code)
                if np.abs(right - before).mean() < 1e-4:
                    break
        self.likelihood = float(weight @ total) - self._volume(z, weight)
        return self

    def _place(self, z: Floats, code: Ints, weight: Floats, shrinkage: float) -> None:
        belonging = np.zeros((len(code), len(self.classes_)))
        belonging[np.arange(len(code)), code] = weight
        totals = belonging.sum(axis=0) + 1e-9
        centres = (belonging.T @ z) / totals[:, None]
        scatter = (z * weight[:, None]).T @ z - (centres * totals[:, None]).T @ centres
        covariance, width = scatter / totals.sum(), z.shape[1]
        sphere = float(np.trace(covariance)) / max(width, 1)
        covariance = (1 - shrinkage) * covariance + (shrinkage * sphere + 1e-9) * np.eye(width)
        self.root = linalg.cholesky(covariance, lower=True)
        self.centres = linalg.solve_triangular(self.root, centres.T, lower=True).T

    def _trace(self, share: Floats, code: Ints) -> None:
        """Estimate the true class of wrong samples of each label; uniform if there are few."""
        classes = len(self.classes_)
        lost = np.stack([np.bincount(code, column, classes) for column in share.T], axis=1)
        counts = lost + SOURCE_PSEUDO_COUNT * (1 - np.eye(classes)) / max(classes - 1, 1)
        self.source = counts / counts.sum(axis=1, keepdims=True)

    def _parts(self, z: Floats) -> GaussianParts:
        products, moved = self.centres @ self.centres.T, self.moved
        # Whitened rows times whitened centres: the few centres are whitened twice, the rows never.
        along = z @ linalg.solve_triangular(self.root, self.centres.T, lower=True, trans="T")
        squares = np.diag(products)
        right = along - 0.5 * squares + self.prior
        # A wrong sample lies around the point that is `moved` of the way from its own class to its label's.
        lengths = (
            (1 - moved) ** 2 * squares + moved**2 * squares[:, None] + 2 * moved * (1 - moved) * products
        )
        wrong = (1 - moved) * along[:, None, :] + moved * along[:, :, None] - 0.5 * lengths
        wrong = wrong + np.log(np.maximum(self.source, 1e-12)) + self.prior[:, None]
        return GaussianParts(right + np.log1p(-self.rate), wrong + np.log(self.rate))

    def _volume(self, z: Floats, weight: Floats) -> float:
        """Compute the part of the log density that all classes share."""
        u = linalg.solve_triangular(self.root, z.T, lower=True)
        return float(0.5 * (np.square(u) @ weight).sum() + weight.sum() * np.log(np.diag(self.root)).sum())

    def parts(self, x: Floats) -> GaussianParts:
        """Joint log densities of rows with every label, right or wrong."""
        return self._parts((x - self.centre) @ self.across)

    def labelled(self, x: Floats, y: Ints) -> Floats:
        """Log-probability of every class of rows with these labels, were wrong ones as usual as right."""
        place = np.searchsorted(self.classes_, y)
        rows = np.arange(len(y))
        parts = self.parts(x)
        logs = parts.wrong[rows, place] - np.log(np.maximum(self.source, 1e-12))[place] - np.log(self.rate)
        logs[rows, place] = parts.right[rows, place] - np.log1p(-self.rate)
        return _normalised(logs)

    def predict_proba(self, x: Floats) -> Floats:
        """Probability of each class, whatever the label."""
        return np.asarray(np.exp(self.parts(x).truth))


def directions(x: Floats) -> tuple[Floats, Floats]:
    """Return the mean of the rows and their principal directions."""
    centre, varies = x.mean(axis=0), np.flatnonzero(x.std(axis=0) > 1e-9)
    if len(varies) <= DIRECTIONS:
        return centre, np.eye(x.shape[1])[:, varies]
    from sklearn.utils.extmath import randomized_svd

    _, _, across = randomized_svd(x - centre, DIRECTIONS, random_state=0)
    return centre, np.asarray(across.T)


def _normalised(logs: Floats) -> Floats:
    return np.asarray(logs - np.logaddexp.reduce(logs, axis=1, keepdims=True))
