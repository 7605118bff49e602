"""Residual scale of numeric predictions as a function of the features.

A forest predicts the logarithm of the absolute held-out residuals. Its predictions are shrunken towards one
common scale by the weight that maximises the likelihood of held-out residuals. The common scale is a median,
which is robust to wrong labels.
"""

from typing import Any

import numpy as np
from scipy import special

from anml.core.checks import Floats, Ints
from anml.core.folds import cross_fit_predictions

# Rows in a leaf: the mean of ten log-sizes, each uncertain by 1.1, is known to a third.
LEAF = 10
# Tails of residuals: a few wrong labels must not decide where the spread is large.
T_DF = 4.0


def residual_scale(
    x: Floats, residual: Floats, fold: Ints, weight: Floats | None = None, seed: int = 0, trees: int = 40
) -> Floats:
    """Spread of each row's residual: standard deviation if it is normal, from rows of other folds."""
    trust = np.ones(len(residual)) if weight is None else np.maximum(weight, 1e-6)
    middle = weighted_median(np.abs(residual), trust)
    if middle <= 0:
        return np.full(len(residual), max(float(np.abs(residual).max(initial=0.0)), 1e-9))
    # Sizes near 0 say no more than small ones.
    size = np.log(np.maximum(np.abs(residual) / middle, 0.05))

    from sklearn.ensemble import ExtraTreesRegressor

    def said(learn: Ints, asked: Ints, _: int) -> Any:
        if len(learn) < 2 * LEAF:
            return 0.0
        forest = ExtraTreesRegressor(trees, min_samples_leaf=LEAF, random_state=seed, n_jobs=None)
        return forest.fit(x[learn], size[learn], sample_weight=trust[learn]).predict(x[asked])

    guess = cross_fit_predictions(fold, said)
    guess -= weighted_median(guess, trust)
    return _average_over_powers(residual / middle, guess, trust) * middle


def _average_over_powers(residual: Floats, guess: Floats, trust: Floats) -> Floats:
    """Each power of the forest's guess, weighted by the likelihood of the residuals."""
    powers = np.linspace(0, 1.5, 7)
    spreads = np.empty((len(powers), len(residual)))
    likelihood = np.empty(len(powers))
    for i, power in enumerate(powers):
        shape = np.exp(power * guess)
        spreads[i] = shape * weighted_median(np.abs(residual) / shape, trust) / special.ndtri(0.75)
        z = residual / spreads[i]
        density = -(T_DF + 1) / 2 * np.log1p(z * z / T_DF) - np.log(spreads[i])
        likelihood[i] = (trust * density).sum()
    belief = special.softmax(likelihood)
    return np.asarray(np.exp(belief @ np.log(spreads)))


def weighted_median(x: Floats, weight: Floats) -> float:
    """The value up to which half of the weight lies."""
    order = np.argsort(x)
    running = np.cumsum(weight[order])
    return float(x[order[int(np.searchsorted(running, 0.5 * running[-1]))]])
