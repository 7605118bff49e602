"""Multinomial logistic regression with a ridge penalty, on numpy, for small tables.

The Hessian is bounded by half of the weighted sum of squares of the features, for every class (Böhning,
Annals of the Institute of Statistical Mathematics 1992): one inverse of that bound serves all steps. Steps
are accelerated (Nesterov), and restarted where the loss would rise.
"""

import numpy as np

from anml.core.checks import Floats, Ints
from anml.networks.mlp import softmax

# Largest slope of the mean loss at which the fit is done, and steps at most.
TOLERANCE, MAX_STEPS = 1e-3, 100


class Logistic:
    """A regression that follows scikit-learn's conventions.

    `coefficients` (d + 1, classes) end in the intercepts.
    `penalty` is the weight of half the squared coefficients beside the sum of losses; of two classes, these
    are the coefficients of the log-odds.
    """

    def __init__(self, classes: int, penalty: float = 10.0) -> None:
        self.classes_, self.penalty = np.arange(classes), penalty

    def fit(self, x: Floats, codes: Ints | Floats, sample_weight: Floats | None = None) -> "Logistic":
        """Fit to class codes, or to probabilities of the classes (n, classes) that add up to a weight."""
        weight, classes = np.ones(len(x)) if sample_weight is None else sample_weight, len(self.classes_)
        design = _with_intercept(x)
        width = design.shape[1]
        # The log-odds of two classes are the difference of two equal and opposite columns.
        ridge = np.full(width, self.penalty * (2 if classes == 2 else 1))
        ridge[-1] = 1e-9 * weight.sum()
        target = np.eye(classes)[codes] if codes.ndim == 1 else codes
        if codes.ndim == 2:
            weight = np.maximum(codes.sum(axis=1), 1e-12)
            target = codes / weight[:, None]
        bound = 0.5 * (design * weight[:, None]).T @ design + np.diag(ridge)
        inverse = np.linalg.inv(bound)
        coefficients = ahead = np.zeros((width, classes))
        momentum = 1.0
        for _ in range(MAX_STEPS):
            slope = design.T @ ((softmax(design @ ahead) - target) * weight[:, None]) + ridge[:, None] * ahead
            if np.abs(slope).max() <= TOLERANCE * weight.sum():
                break
            change = ahead - inverse @ slope - coefficients
            coefficients = coefficients + change
            rises = float((slope * change).sum()) > 0
            former, momentum = momentum, 1.0 if rises else (1 + np.sqrt(1 + 4 * momentum**2)) / 2
            ahead = coefficients + (0.0 if rises else (former - 1) / momentum) * change
        self.coefficients = ahead
        return self

    def predict_proba(self, x: Floats) -> Floats:
        """Return class probabilities (n, classes)."""
        return np.asarray(softmax(_with_intercept(x) @ self.coefficients))


def _with_intercept(x: Floats) -> Floats:
    return np.column_stack([x, np.ones(len(x))])
