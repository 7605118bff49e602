"""TRAK: Park, Georgiev, Ilyas, Leclerc and Madry, ICML 2023."""

from typing import Any

import numpy as np

from anml.core.checks import Floats, in_range
from anml.core.errors import InputError


def trak(features: Any, doubt: Any, targets: Any, ridge: float = 0.0) -> Floats:
    """How much each training sample counts for each target, (targets, n): high is helpful.

    `features` (models, n, k) and `targets` (models, m, k) are projected gradients of the log-odds of the
    right label, `doubt` (models, n) is one minus its probability. Averaged over models, each trained on a
    part of the data. Its weakness: it explains predictions, so it finds wrong labels only where targets are
    clean.
    """
    phi, weight = np.asarray(features, dtype=np.float64), np.asarray(doubt, dtype=np.float64)
    aims = np.asarray(targets, dtype=np.float64)
    in_range("ridge", ridge, 0, np.inf, open_high=True)
    if phi.ndim != 3 or weight.shape != phi.shape[:2] or aims.ndim != 3 or aims.shape[::2] != phi.shape[::2]:
        raise InputError(
            f"features (models, n, k), doubt (models, n) and targets (models, m, k) belong together, got "
            f"{phi.shape}, {weight.shape} and {aims.shape}"
        )
    if not (np.isfinite(phi).all() and np.isfinite(weight).all() and np.isfinite(aims).all()):
        raise InputError("features, doubt and targets must be finite numbers")
    kernel = np.swapaxes(phi, 1, 2) @ phi + ridge * np.eye(phi.shape[2])
    try:
        solved = np.linalg.solve(kernel, np.swapaxes(phi, 1, 2))
    except np.linalg.LinAlgError:
        raise InputError("the projected gradients are not independent; give a ridge above 0") from None
    # The mean over models of scores and of doubt apart, as in the reference.
    return np.asarray((aims @ solved).mean(axis=0) * weight.mean(axis=0))
