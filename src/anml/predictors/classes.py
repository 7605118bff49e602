"""What models that did not see a row say of its class: networks, a forest, logistic regression, Gaussians.

Every predictor is cross-fitted on the same folds, with copies of a row and labels of one item in one fold.
A large table is learned from a sample of its rows, and the rest is predicted by the models of all folds.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from scipy import linalg, special

from anml.core.checks import Floats, Ints
from anml.gradients.crossfit import CrossFit, Progress, Training, cross_fit, network_folds
from anml.gradients.mlp import Networks, predict

# A predictor learns from so many rows at most: more of them hardly change what it predicts.
MOST_ROWS = 20_000
TREES = 40
# Folds of contributors: so many that contributors of one kind are seldom all held out together.
CONTRIBUTOR_FOLDS = 8
# Share of the class prior in every prediction: no model is certain.
UNSURE = 0.02
# Directions of most spread that the Gaussians look at.
DIRECTIONS = 128
# Steps of the clouds at most, and the rows that the prior of their rate of wrong labels counts for.
CLOUD_STEPS, MATCH = 15, 5.0

Predictions = dict[str, Floats]


@dataclass(frozen=True)
class Rows:
    """What predictors learn from: standardised features, labels, folds, and which rows are learned from."""

    x: Floats
    y: Ints
    classes: int
    fold: Ints
    taught: Ints
    groups: Ints | None
    training: Training
    seed: int

    @property
    def folds(self) -> int:
        """How many folds there are."""
        return int(self.fold.max()) + 1

    @property
    def prior(self) -> Floats:
        """Share of each class."""
        return np.bincount(self.y, minlength=self.classes) / len(self.y)


def rows_of(x: Floats, y: Ints, classes: int, groups: Ints | None, training: Training, seed: int) -> Rows:
    """Deal rows to folds; of a large table, choose the rows that are learned from."""
    n = len(y)
    rng = np.random.default_rng(seed)
    taught = np.arange(n) if n <= MOST_ROWS else np.sort(rng.permutation(n)[:MOST_ROWS])
    some = None if groups is None else groups[taught]
    fold = np.full(n, -1, dtype=np.int64)
    fold[taught] = network_folds(y[taught], "classification", some, training, len(taught), seed)
    if groups is not None and n > MOST_ROWS:
        # A row whose copy was learned from is held out with that copy.
        of_group = np.full(int(groups.max()) + 1, -1, dtype=np.int64)
        of_group[groups[taught]] = fold[taught]
        fold = np.where(fold < 0, of_group[groups], fold)
    return Rows(x, y, classes, fold, taught, some, training, seed)


def network(
    rows: Rows, weight: Floats | None, start: Networks | None, progress: Progress | None
) -> tuple[Floats, CrossFit]:
    """Networks that stop early, going on from `start` where there is one."""
    inputs = torch.as_tensor(rows.x, dtype=torch.float32)
    taught = torch.as_tensor(rows.taught)
    targets = torch.as_tensor(rows.y[rows.taught], dtype=torch.long)
    fit = cross_fit(
        inputs[taught], targets, "classification", rows.classes, rows.groups, rows.training, rows.seed,
        weight=None if weight is None else weight[rows.taught], start=start, progress=progress,
    )  # fmt: skip
    out = np.empty((len(rows.y), rows.classes))
    out[rows.taught] = torch.log_softmax(fit.held_out.double(), dim=1).numpy()
    rest = np.ones(len(rows.y), dtype=bool)
    rest[rows.taught] = False
    if rest.any():
        each = torch.log_softmax(predict(fit.folds, inputs[torch.as_tensor(rest)]).double(), dim=2).numpy()
        out[rest] = _of_folds(np.exp(each), rows.fold[rest])
    return _unsure(np.exp(out), rows.prior), fit


def forest(rows: Rows, weight: Floats | None) -> Floats:
    """Randomised trees."""
    from sklearn.ensemble import ExtraTreesClassifier

    leaf = max(2, len(rows.taught) // 2_000)

    def make(fold: int) -> Any:
        return ExtraTreesClassifier(TREES, min_samples_leaf=leaf, random_state=rows.seed + fold)

    return _cross_fitted(make, rows, weight)


def forest_without(rows: Rows, who: Ints, weight: Floats | None) -> Floats:
    """The same trees, with all rows of a contributor held out together."""
    groups = who[rows.taught]
    count = int(np.clip(len(np.unique(groups)), 2, CONTRIBUTOR_FOLDS))
    order = np.random.default_rng(rows.seed).permutation(int(who.max()) + 1)
    return forest(replace(rows, fold=order[who] % count), weight)


def logistic(rows: Rows, weight: Floats | None) -> Floats:
    """Logistic regression, on scaled features."""
    from sklearn.linear_model import LogisticRegression

    return _cross_fitted(lambda _: LogisticRegression(C=0.1, max_iter=100, tol=1e-3), rows, weight)


def gaussians(rows: Rows, weight: Floats | None) -> Floats:
    """One normal cloud per class, with a shared and shrunk covariance."""
    return _cross_fitted(lambda _: ClassGaussians(), rows, weight)


# Predictors that need no more than rows and weights; the network can also go on from an earlier fit.
PREDICTORS: dict[str, Callable[[Rows, Floats | None], Floats]] = {
    "forest": forest,
    "logistic": logistic,
    "gaussians": gaussians,
}


class ClassGaussians:
    """One normal cloud per class with a shared covariance, shrunk as Ledoit and Wolf do; labels may be wrong.

    Linear discriminant analysis, except that the class of a row is latent: a label is right at a rate that
    is found with the clouds, by expectation-maximisation. Where classes lie apart, the clouds show which
    labels are wrong, however many there are. What is predicted is the class, not the label.
    """

    def fit(self, x: Floats, y: Ints, sample_weight: Floats | None = None) -> "ClassGaussians":
        """Find clouds, covariance and the rate of wrong labels together."""
        weight = np.ones(len(y)) if sample_weight is None else sample_weight
        self.classes_, code = np.unique(y, return_inverse=True)
        count, rows = len(self.classes_), np.arange(len(y))
        self.centre, self.across = _directions(x)
        z = (x - self.centre) @ self.across
        wrong, before = 0.2, np.inf
        belonging = np.full((len(y), count), 0.0)
        belonging[rows, code] = 1.0
        for _ in range(CLOUD_STEPS):
            self._clouds(z, belonging * weight[:, None])
            given = np.full((len(y), count), np.log(wrong / max(count - 1, 1)))
            given[rows, code] = np.log1p(-wrong)
            belonging = special.softmax(z @ self.slope + self.offset + given, axis=1)
            contradicted = float(weight @ (1 - belonging[rows, code]))
            wrong = (contradicted + 1.0) / (float(weight.sum()) + 2.0 * MATCH)
            if abs(contradicted - before) < 1e-3 * len(y):
                break
            before = contradicted
        return self

    def _clouds(self, z: Floats, belonging: Floats) -> None:
        from sklearn.covariance import ledoit_wolf

        totals = belonging.sum(axis=0) + 1e-9
        means = (belonging.T @ z) / totals[:, None]
        # Each row about the mean of the classes it belongs to, as far as it does.
        counts = belonging.sum(axis=1)
        about = (z - belonging @ means / np.maximum(counts, 1e-12)[:, None]) * np.sqrt(
            counts / counts.mean()
        )[:, None]
        covariance, _ = ledoit_wolf(about, assume_centered=True)
        root = linalg.cholesky(covariance + 1e-9 * np.eye(len(covariance)), lower=True)
        self.slope = linalg.cho_solve((root, True), means.T)
        self.offset = np.log(totals / totals.sum()) - 0.5 * np.einsum("cd,dc->c", means, self.slope)

    def predict_proba(self, x: Floats) -> Floats:
        """Probability of each class."""
        return np.asarray(special.softmax((x - self.centre) @ self.across @ self.slope + self.offset, axis=1))


def _directions(x: Floats) -> tuple[Floats, Floats]:
    """Where the rows lie, and the directions that they spread in most."""
    centre = x.mean(axis=0)
    if x.shape[1] <= DIRECTIONS:
        return centre, np.eye(x.shape[1])
    from sklearn.utils.extmath import randomized_svd

    _, _, across = randomized_svd(x - centre, DIRECTIONS, random_state=0)
    return centre, np.asarray(across.T)


def _cross_fitted(make: Callable[[int], Any], rows: Rows, weight: Floats | None) -> Floats:
    """Held-out log-probabilities of a model that follows scikit-learn's conventions."""
    out = np.zeros((rows.folds, len(rows.y), rows.classes))
    for fold in range(rows.folds):
        learn = rows.taught[rows.fold[rows.taught] != fold]
        counts = None if weight is None else np.maximum(weight[learn], 1e-3)
        asked = np.flatnonzero((rows.fold == fold) | (rows.fold < 0))
        if len(np.unique(rows.y[learn])) < 2:
            out[fold, asked] = rows.prior
            continue
        model = make(fold).fit(rows.x[learn], rows.y[learn], sample_weight=counts)
        out[fold][np.ix_(asked, model.classes_)] = model.predict_proba(rows.x[asked])
    return _unsure(np.exp(_of_folds(out, rows.fold)), rows.prior)


def _of_folds(each: Floats, fold: Ints) -> Floats:
    """Log of each row's prediction by its own fold's model, or by those of all folds (folds, n, classes)."""
    own = each[np.maximum(fold, 0), np.arange(len(fold))]
    with np.errstate(divide="ignore"):
        return np.log(np.where((fold < 0)[:, None], each.mean(axis=0), own))


def _unsure(probability: Floats, prior: Floats) -> Floats:
    return np.asarray(np.log((1 - UNSURE) * probability + UNSURE * prior + 1e-9))
