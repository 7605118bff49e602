"""Held-out predictions of numbers, and how far honest numbers scatter about them.

Three predictors that err in different ways: a forest, a ridge regression and, where given, networks. What
is taken is the mean of them, weighted so that held-out labels lie closest to it.
"""

import itertools

import numpy as np

from anml.core.checks import Floats, Ints
from anml.core.folds import assign_folds, cross_fit_predictions
from anml.predictors.spread import residual_scale

FOLDS = 5
# Weights of predictors in tenths: finer ones are within noise.
WEIGHT_GRID_STEPS = 10


def predict_numbers(
    x: Floats,
    y: Floats,
    groups: Ints | None,
    weight: Floats | None,
    seed: int,
    network: Floats | None = None,
    trees: int = 40,
) -> tuple[Floats, Floats]:
    """Held-out mean and natural spread of every label, each of which counts as far as it is believed.

    `groups`: rows that are never held out against each other: labels of one item, near-duplicates.
    `network`: held-out predictions of networks that were trained with the same weights.
    """
    n = len(y)
    if n < 2 or np.ptp(y) == 0:
        return y.astype(np.float64), np.full(n, 1e-9)
    trust = np.ones(n) if weight is None else np.maximum(weight, 1e-6)
    members = np.arange(n) if groups is None else groups
    k = min(FOLDS, len(np.unique(members)))
    # Fewer things than folds: one mean for all.
    if k < FOLDS:
        mean = np.full(n, float(np.average(y, weights=trust)))
        return mean, residual_scale(x, y - mean, np.zeros(n, dtype=np.int64), trust, seed)
    fold = assign_folds(None, members, k, np.random.default_rng(seed))
    said = [_held_out(x, y, trust, fold, name, seed, trees) for name in ("forest", "ridge")]
    mean = stack_by_absolute_error(y, said if network is None else [*said, network], trust)
    # The spread often grows with the number itself.
    return mean, residual_scale(np.column_stack([x, mean]), y - mean, fold, trust, seed, trees)


def precision_weighting_hurts(
    spread: Floats, x: Floats, y: Floats, weight: Floats, groups: Ints | None, seed: int
) -> bool:
    """True if a linear model with precision weights predicts held-out numbers worse than without.

    If the model is correct, both estimates agree and precision weights reduce the variance. If it is
    misspecified, precision weights fit the rows of low variance only (DuMouchel and Duncan, JASA 1983). The
    tolerance is Akaike's penalty for the coefficients.
    """
    members = np.arange(len(y)) if groups is None else groups
    things = len(np.unique(members))
    if not x.shape[1] or things < FOLDS:
        return False
    fold = assign_folds(None, members, FOLDS, np.random.default_rng(seed))
    trust = np.maximum(weight, 1e-6)
    each = [_held_out(x, y, w / w.mean(), fold, "ridge", seed, 0) for w in (trust, trust / np.square(spread))]
    plain, precise = (float(trust @ np.square(y - said)) for said in each)
    return bool(precise > plain * (1 + 2 * (x.shape[1] + 1) / things))


def stack_by_absolute_error(y: Floats, said: list[Floats], weight: Floats) -> Floats:
    """The weighted mean of predictions that held-out labels lie closest to, by absolute error."""
    choices = [
        np.array(share) / WEIGHT_GRID_STEPS
        for share in itertools.product(range(WEIGHT_GRID_STEPS + 1), repeat=len(said))
        if sum(share) == WEIGHT_GRID_STEPS
    ]
    each = np.stack(said)
    best = min(choices, key=lambda share: float((weight * np.abs(y - share @ each)).sum()))
    return np.asarray(best @ each)


def _held_out(x: Floats, y: Floats, weight: Floats, fold: Ints, name: str, seed: int, trees: int) -> Floats:
    """Predictions of rows by a model that did not see their fold."""
    from sklearn.ensemble import ExtraTreesRegressor
    from sklearn.linear_model import RidgeCV

    centre, spread = x.mean(axis=0), x.std(axis=0)
    scaled = (x - centre) / np.where(spread > 1e-12, spread, 1.0)

    def said(learn: Ints, asked: Ints, _: int) -> Floats:
        model = (
            ExtraTreesRegressor(trees, min_samples_leaf=3, max_features=0.5, random_state=seed, n_jobs=None)
            if name == "forest"
            else RidgeCV(np.geomspace(1e-2, 1e4, 13))
        )
        model.fit(scaled[learn], y[learn], sample_weight=weight[learn])
        return np.asarray(model.predict(scaled[asked]))

    return cross_fit_predictions(fold, said)
