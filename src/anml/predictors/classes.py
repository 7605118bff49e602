"""Held-out class predictions: networks, a forest, logistic regression, Gaussians.

Every predictor is cross-fitted on the same folds, with duplicate rows and labels of one item in one fold.
For a large table, models are trained on a sample of its rows; all folds' models predict the other rows.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from anml.core.checks import Floats, Ints
from anml.core.folds import cross_fit_predictions
from anml.core.profile import PredictorTraining
from anml.core.progress import Progress
from anml.networks.backend import current_backend
from anml.networks.crossfit import CrossFit, cross_fit, network_folds
from anml.networks.mlp import predict, softmax, to_numpy
from anml.predictors.gaussians import SHIFT_GRID, ClassGaussians, directions
from anml.predictors.logistic import Logistic
from anml.predictors.trees import ExtraTrees

# A predictor learns from so many rows at most: more of them hardly change what it predicts.
MAX_TRAINING_ROWS = 20_000
# FeatureRows that settle the Gaussians; a column of fewer different values is a category.
MAX_GAUSSIAN_ROWS, MIN_DISTINCT_VALUES = 2_000, 8
# Folds of contributors: so many that contributors of one kind are seldom all held out together; and rows
# that are enough to see whether the others' tell what theirs are.
CONTRIBUTOR_FOLDS, NEIGHBOUR_ROWS = 8, 5_000
# Up to so many rows a forest and a regression on numpy take less time than scikit-learn takes to load.
MAX_NUMPY_ROWS = 2_000
# Share of the class prior in every prediction: no model is certain.
SMOOTHING = 0.02

Predictions = dict[str, Floats]


@dataclass(frozen=True)
class FeatureRows:
    """Training data of predictors: standardised features, labels, folds, and training rows."""

    x: Floats
    y: Ints
    classes: int
    fold: Ints
    training_rows: Ints
    groups: Ints | None
    copies: Ints | None
    training: PredictorTraining
    seed: int

    @property
    def folds(self) -> int:
        """Number of folds."""
        return int(self.fold.max()) + 1

    @property
    def few(self) -> bool:
        """True if the rows are too few to justify loading compiled models."""
        return len(self.training_rows) <= MAX_NUMPY_ROWS

    def some(self, most: int) -> Ints:
        """So many of the rows that are learned from, at most."""
        return self.training_rows[:: max(1, -(-len(self.training_rows) // most))]

    @property
    def prior(self) -> Floats:
        """Share of each class."""
        return np.bincount(self.y, minlength=self.classes) / len(self.y)

    @cached_property
    def directions(self) -> tuple[Floats, Floats]:
        """Mean of the training rows and their principal directions."""
        return directions(self.x[self.training_rows])


def make_feature_rows(
    x: Floats, y: Ints, classes: int, groups: Ints | None, training: PredictorTraining, seed: int
) -> FeatureRows:
    """Deal rows to folds; of a large table, choose the rows that are learned from."""
    n = len(y)
    rng = np.random.default_rng(seed)
    chosen = np.arange(n) if n <= MAX_TRAINING_ROWS else np.sort(rng.permutation(n)[:MAX_TRAINING_ROWS])
    some = None if groups is None else groups[chosen]
    fold = np.full(n, -1, dtype=np.int64)
    fold[chosen] = network_folds(y[chosen], "classification", some, training, len(chosen), seed)
    if groups is not None and n > MAX_TRAINING_ROWS:
        # A row whose copy was learned from is held out with that copy.
        of_group = np.full(int(groups.max()) + 1, -1, dtype=np.int64)
        of_group[groups[chosen]] = fold[chosen]
        fold = np.where(fold < 0, of_group[groups], fold)
    return FeatureRows(x, y, classes, fold, chosen, some, groups, training, seed)


def network(
    rows: FeatureRows, weight: Floats | None, start: Any, progress: Progress | None
) -> tuple[Floats, CrossFit]:
    """Networks that stop early, going on from `start` where there is one."""
    chosen, backend = rows.training_rows, current_backend()
    fit = cross_fit(
        rows.x[chosen], rows.y[chosen], "classification", rows.classes, rows.groups, rows.training, rows.seed,
        weight=None if weight is None else weight[chosen], start=start, progress=progress, backend=backend,
    )  # fmt: skip
    out = np.empty((len(rows.y), rows.classes))
    out[chosen] = softmax(fit.held_out)
    rest = np.delete(np.arange(len(rows.y)), chosen)
    if len(rest):
        inputs, _ = backend.as_data(rows.x[rest], rows.y[rest])
        said, fold = softmax(to_numpy(predict(fit.folds, inputs))), rows.fold[rest]
        own = said[np.maximum(fold, 0), np.arange(len(rest))]
        out[rest] = np.where((fold < 0)[:, None], said.mean(axis=0), own)
    return _smooth(out, rows.prior), fit


def forest(rows: FeatureRows, weight: Floats | None, fewest: int = 2) -> Floats:
    """Randomised trees, with at least so many rows in a leaf."""

    def make(fold: int) -> Any:
        trees, seed = rows.training.trees, rows.seed + fold
        if rows.few:
            return ExtraTrees(rows.classes, trees, fewest, seed)
        from sklearn.ensemble import ExtraTreesClassifier

        return ExtraTreesClassifier(trees, min_samples_leaf=fewest, random_state=seed)

    return _cross_fitted(make, rows, weight)


def forest_leave_contributor_out(rows: FeatureRows, who: Ints, weight: Floats | None) -> Floats:
    """The same trees, with all rows of a contributor held out together."""
    some = rows.some(NEIGHBOUR_ROWS)
    count = int(np.clip(len(np.unique(who[some])), 2, CONTRIBUTOR_FOLDS))
    order = np.random.default_rng(rows.seed).permutation(int(who.max()) + 1)
    return forest(replace(rows, training_rows=some, fold=order[who] % count), weight)


def logistic(rows: FeatureRows, weight: Floats | None) -> Floats:
    """Logistic regression, on scaled features."""

    def make(_: int) -> Any:
        if rows.few:
            return Logistic(rows.classes)
        from sklearn.linear_model import LogisticRegression

        return LogisticRegression(C=0.1, max_iter=100, tol=1e-3)

    return _cross_fitted(make, rows, weight)


def gaussians(rows: FeatureRows, weight: Floats | None) -> Floats:
    """One Gaussian per class, with a shared and shrunk covariance."""
    return _cross_fitted(lambda _: ClassGaussians(basis=rows.directions), rows, weight)


class GaussianFit(NamedTuple):
    """Class Gaussians that see through wrong labels, fitted to all rows.

    `log_p`: log-probabilities of the classes (n, classes).
    `rate`, `overlap`: share of wrong labels, and of samples that belong to another than their nearest class.
    `moved`: how far wrong samples were moved towards the class they are labelled as.
    """

    log_p: Floats
    rate: float
    overlap: float
    moved: float


def robust_class_gaussians(
    rows: FeatureRows, weight: Floats | None = None, moves: Sequence[float] = SHIFT_GRID
) -> GaussianFit | None:
    """The likeliest class Gaussians over how far wrong samples were moved.

    None where Gaussians are no picture of the rows: classes of a few rows, or columns that are categories.
    """
    some = rows.some(MAX_GAUSSIAN_ROWS)
    x, y = rows.x[some], rows.y[some]
    if np.bincount(y, minlength=rows.classes).min() < 3 or not _is_continuous(x):
        return None
    counts = None if weight is None else weight[some]
    best = max((ClassGaussians(moved).fit(x, y, counts) for moved in moves), key=lambda fit: fit.likelihood)
    overlap = 1 - float(np.exp(best.parts(x).truth.max(axis=1)).mean())
    return GaussianFit(
        _smooth(np.exp(best.labelled(rows.x, rows.y)), rows.prior), best.rate, overlap, best.moved
    )


def label_log_likelihood(rows: FeatureRows, moved: float) -> float:
    """Held-out log-likelihood of the labels, right or wrong, by class Gaussians."""

    class LabelGaussians(ClassGaussians):
        def predict_proba(self, x: Floats) -> Floats:
            return np.asarray(np.exp(self.parts(x).label))

    log_p = _cross_fitted(lambda _: LabelGaussians(moved, rows.directions), rows, None)
    return float(log_p[np.arange(len(rows.y)), rows.y].sum())


def _is_continuous(x: Floats) -> bool:
    """True if most columns are continuous; encoded categories would look like separate Gaussians."""
    values = np.array([len(np.unique(column)) for column in x.T])
    return bool((values > MIN_DISTINCT_VALUES).sum() > (values > 1).sum() / 2)


# Predictors that need no more than rows and weights; the network can also go on from an earlier fit.
PREDICTORS: dict[str, Callable[[FeatureRows, Floats | None], Floats]] = {
    "forest": forest,
    "logistic": logistic,
    "gaussians": gaussians,
}


def _cross_fitted(make: Callable[[int], Any], rows: FeatureRows, weight: Floats | None) -> Floats:
    """Held-out log-probabilities of a model that follows scikit-learn's conventions."""

    def said(learn: Ints, asked: Ints, fold: int) -> Floats:
        if len(np.unique(rows.y[learn])) < 2:
            return rows.prior
        counts = None if weight is None else np.maximum(weight[learn], 1e-3)
        model = make(fold).fit(rows.x[learn], rows.y[learn], sample_weight=counts)
        return expand_to_all_classes(model, rows.x[asked], rows.classes)

    return _smooth(cross_fit_predictions(rows.fold, said, (rows.classes,), rows.training_rows), rows.prior)


def expand_to_all_classes(model: Any, x: Any, classes: int) -> Floats:
    """Probabilities of all classes (n, classes), by a model that may not have seen each of them."""
    out = np.zeros((x.shape[0], classes))
    out[:, model.classes_] = model.predict_proba(x)
    return out


def _smooth(probability: Floats, prior: Floats) -> Floats:
    return np.asarray(np.log((1 - SMOOTHING) * probability + SMOOTHING * prior + 1e-9))
