"""Held-out class predictions: one set of predictors, cross-fitted by contributor and item.

A row is predicted by models that saw neither its item nor labels of its contributor, nor a near-copy of it.
They learn from soft labels: from a row of every class, weighted by its probability.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from anml.core.checks import Bools, Floats, Ints
from anml.networks.mlp import softmax
from anml.predictors.logistic import Logistic
from anml.predictors.trees import ExtraTrees

# Folds of contributors or of items, and contributors up to which similar ones are separated.
FOLDS, MAX_COMPARED = 5, 2_000
# Rows up to which a forest on numpy takes less time than scikit-learn takes to load.
MAX_NUMPY_ROWS = 2_000
# A class that a row is of with less than this probability is not learned from it.
MIN_BELIEF = 0.05
# Random Fourier features, and their penalties.
WIDTH, SMOOTH, ROUGH = 200, 1.0, 0.1
# Shrinkage of a covariance beside that for many features of few rows.
MIN_SHRINKAGE = 0.05


class ProbabilityModel(Protocol):
    """A model of class probabilities."""

    def fit(self, x: Floats, belief: Floats) -> "ProbabilityModel":
        """Fit to class probabilities (n, classes); rows count by their sum."""

    def predict_proba(self, x: Floats) -> Floats:
        """Probabilities of all classes (n, classes)."""


@dataclass(frozen=True, eq=False)
class CrossFitRows:
    """Rows that predictors learn from: standardised features, labels, folds, and copies of each other."""

    x: Floats
    y: Ints
    classes: int
    fold: Ints
    groups: Ints | None
    trees: int
    seed: int

    @cached_property
    def held(self) -> Bools:
        """Rows that each fold does not learn from (folds, n)."""
        out = self.fold == np.arange(int(self.fold.max()) + 1)[:, None]
        if self.groups is not None:
            for held in out:
                copied = np.zeros(int(self.groups.max()) + 1, dtype=bool)
                copied[self.groups[held]] = True
                held |= copied[self.groups]
        return np.asarray(out)

    @property
    def prior(self) -> Floats:
        """Share of each class."""
        return np.bincount(self.y, minlength=self.classes) / len(self.y)


def assign_folds(x: Floats, y: Ints, codes: Ints | None, items: Ints | None, seed: int) -> Ints:
    """Folds of contributors, with those alike in different ones; of items where these have several labels.

    A group of contributors who label the same kind of rows alike cannot confirm itself. Two contributors, or
    one with most of the rows, cannot be held out: then rows are dealt.
    """
    n, rng = len(y), np.random.default_rng(seed)
    size = np.zeros(0) if codes is None else np.bincount(codes)
    if codes is None or items is not None or len(size) < 3 or size.max() > n / 2:
        group = np.arange(n) if items is None else items
        return np.asarray((rng.permutation(int(group.max()) + 1) % FOLDS)[group])
    count = len(size)
    order = rng.permutation(count) if count > MAX_COMPARED else _chain(_means(x, y, codes))
    fold = np.zeros(count, dtype=np.int64)
    fold[order] = np.arange(count) % min(FOLDS, count)
    return np.asarray(fold[codes])


def _means(x: Floats, y: Ints, codes: Ints) -> Floats:
    """Mean features and labels of each contributor."""
    columns = np.column_stack([x, np.eye(int(y.max()) + 1)[y]])
    count = int(codes.max()) + 1
    total = np.stack([np.bincount(codes, column, count) for column in columns.T], axis=1)
    return np.asarray(total / np.maximum(np.bincount(codes), 1)[:, None])


def _chain(means: Floats) -> Ints:
    """Order in which each contributor is followed by the one that is most like it."""
    order, left = np.zeros(len(means), dtype=np.int64), np.ones(len(means), dtype=bool)
    left[0] = False
    for place in range(1, len(means)):
        rest = np.flatnonzero(left)
        order[place] = rest[np.square(means[rest] - means[order[place - 1]]).sum(axis=1).argmin()]
        left[order[place]] = False
    return order


class Discriminant:
    """Linear discriminant analysis by soft labels, with a covariance shrunk to a sphere."""

    def fit(self, x: Floats, belief: Floats) -> "Discriminant":
        """Fit to class probabilities (n, classes)."""
        total = belief.sum(axis=0) + 1e-9
        centres = (belief.T @ x) / total[:, None]
        weight, width = belief.sum(axis=1), x.shape[1]
        scatter = ((x * weight[:, None]).T @ x - (centres * total[:, None]).T @ centres) / total.sum()
        shrinkage = min(1.0, width / max(float(total.sum()), 1.0) + MIN_SHRINKAGE)
        sphere = shrinkage * float(np.trace(scatter)) / width + 1e-9
        self.slope = np.linalg.solve((1 - shrinkage) * scatter + sphere * np.eye(width), centres.T)
        self.base = -0.5 * (centres.T * self.slope).sum(axis=0) + np.log(total / total.sum())
        return self

    def predict_proba(self, x: Floats) -> Floats:
        """Probabilities of all classes."""
        return np.asarray(softmax(x @ self.slope + self.base))


class KernelRegression:
    """Logistic regression on the features, and on random Fourier features (Rahimi and Recht 2007) of them."""

    def __init__(self, classes: int, penalty: float = 10.0, seed: int | None = None) -> None:
        self.model, self.seed = Logistic(classes, penalty), seed

    def fit(self, x: Floats, belief: Floats) -> "KernelRegression":
        """Fit to class probabilities (n, classes)."""
        if self.seed is not None:
            rng = np.random.default_rng(self.seed)
            first, second = rng.integers(0, len(x), (2, 300))
            scale = float(np.median(np.linalg.norm(x[first] - x[second], axis=1))) / 2 + 1e-9
            self.directions = rng.normal(size=(x.shape[1], WIDTH)) / scale
            self.phase = rng.uniform(0, 2 * np.pi, WIDTH)
        self.model.fit(self._features(x), belief)
        return self

    def _features(self, x: Floats) -> Floats:
        if self.seed is None:
            return x
        waves = np.sqrt(2 / WIDTH) * np.cos(x @ self.directions + self.phase)
        return np.hstack([waves, x / np.sqrt(x.shape[1])])

    def predict_proba(self, x: Floats) -> Floats:
        """Probabilities of all classes."""
        return self.model.predict_proba(self._features(x))


class SoftForest:
    """Extremely randomised trees; each class of a row is a row with its probability for a weight."""

    def __init__(self, classes: int, trees: int, seed: int) -> None:
        self.classes, self.trees, self.seed = classes, trees, seed

    def fit(self, x: Floats, belief: Floats) -> "SoftForest":
        """Fit to class probabilities (n, classes)."""
        row, code = np.nonzero(belief > MIN_BELIEF * belief.sum(axis=1, keepdims=True))
        self.model: Any
        if len(x) <= MAX_NUMPY_ROWS:
            self.model = ExtraTrees(self.classes, self.trees, 2, self.seed)
        else:
            from sklearn.ensemble import ExtraTreesClassifier

            self.model = ExtraTreesClassifier(self.trees, min_samples_leaf=2, random_state=self.seed)
        self.model.fit(x[row], code, sample_weight=belief[row, code])
        return self

    def predict_proba(self, x: Floats) -> Floats:
        """Probabilities of all classes."""
        out = np.zeros((len(x), self.classes))
        out[:, self.model.classes_] = self.model.predict_proba(x)
        return out


MAKERS: dict[str, Callable[[CrossFitRows, int], ProbabilityModel]] = {
    "forest": lambda rows, fold: SoftForest(rows.classes, rows.trees, rows.seed + fold),
    "logistic": lambda rows, _: KernelRegression(rows.classes),
    "discriminant": lambda rows, _: Discriminant(),
    "fourier": lambda rows, _: KernelRegression(rows.classes, SMOOTH, rows.seed),
    "rough fourier": lambda rows, _: KernelRegression(rows.classes, ROUGH, rows.seed),
}


def held_out_predictions(
    rows: CrossFitRows, belief: Floats | None, names: set[str] | None
) -> dict[str, Floats]:
    """Log-probabilities (n, classes) of the named predictors, by models that did not see a row; None: all."""
    target = np.eye(rows.classes)[rows.y] if belief is None else belief
    out = {}
    for name, make in MAKERS.items():
        if names is not None and name not in names:
            continue
        prediction = np.empty((len(rows.y), rows.classes))
        for fold, held in enumerate(rows.held):
            mine, learned = rows.fold == fold, target[~held]
            several = (learned > MIN_BELIEF * learned.sum(axis=1, keepdims=True)).any(axis=0).sum() > 1
            prediction[mine] = rows.prior
            if len(learned) > 1 and several:
                prediction[mine] = make(rows, fold).fit(rows.x[~held], learned).predict_proba(rows.x[mine])
        out[name] = smooth(prediction, rows.prior, len(rows.y))
    return out


def smooth(probability: Floats, prior: Floats, learned: int) -> Floats:
    """Log-probabilities mixed with the class prior, by the certainty that the number of rows allows.

    Laplace's rule of succession: after n rows without exception, the next one is one with probability
    1 / (n + 2).

    Examples
    --------
    >>> np.exp(smooth(np.array([[1.0, 0.0]]), np.array([0.5, 0.5]), 98)).round(3)
    array([[0.995, 0.005]])
    """
    share = 1 / (learned + 2)
    return np.asarray(np.log((1 - share) * probability + share * prior + 1e-9))
