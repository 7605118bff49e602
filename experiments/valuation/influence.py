"""Influence of training samples on other samples: influence functions, and TRAK."""

from typing import Any

import numpy as np

from anml.core.checks import Floats, in_range
from anml.core.errors import InputError


def influence(gradients: Any, hessian: Any, target: Any, damping: float = 1e-3) -> Floats:
    """Increase of the loss on a target set if a sample is removed, to first order (Koh and Liang, ICML 2017).

    High values are helpful. `gradients` (n, p) are those of each sample's loss at the trained model,
    `hessian` (p, p) that of the mean loss, `target` (p,) the gradient of the target's mean loss. Limits:
    the approximation holds near a minimum and depends on the damping that makes the Hessian invertible.
    """
    each, curve = np.asarray(gradients, dtype=np.float64), np.asarray(hessian, dtype=np.float64)
    aim = np.asarray(target, dtype=np.float64)
    in_range("damping", damping, 0, np.inf, open_high=True)
    if each.ndim != 2 or curve.shape != (each.shape[1],) * 2 or aim.shape != each.shape[1:]:
        raise InputError(
            f"gradients (n, p), a Hessian (p, p) and a target (p,) belong together, got {each.shape}, "
            f"{curve.shape} and {aim.shape}"
        )
    _check_finite("gradients, Hessian and target", each, curve, aim)
    try:
        pulled = np.linalg.solve(curve + damping * np.eye(len(aim)), aim)
    except np.linalg.LinAlgError:
        raise InputError("the Hessian cannot be inverted; give a damping above 0") from None
    return np.asarray(each @ pulled / len(each))


def trak(features: Any, doubt: Any, targets: Any, ridge: float = 0.0) -> Floats:
    """Influence of each training sample on each target (targets, n); high values are helpful (TRAK).

    Park, Georgiev, Ilyas, Leclerc and Madry, ICML 2023. `features` (models, n, k) and `targets`
    (models, m, k) are projected gradients of the log-odds of the right label, `doubt` (models, n) is one
    minus its probability. Averaged over models, each trained on a part of the data. Limit: the score explains
    predictions, so wrong labels are found only if the targets are clean.
    """
    phi, weight = np.asarray(features, dtype=np.float64), np.asarray(doubt, dtype=np.float64)
    aims = np.asarray(targets, dtype=np.float64)
    in_range("ridge", ridge, 0, np.inf, open_high=True)
    if phi.ndim != 3 or weight.shape != phi.shape[:2] or aims.ndim != 3 or aims.shape[::2] != phi.shape[::2]:
        raise InputError(
            f"features (models, n, k), doubt (models, n) and targets (models, m, k) belong together, got "
            f"{phi.shape}, {weight.shape} and {aims.shape}"
        )
    _check_finite("features, doubt and targets", phi, weight, aims)
    kernel = np.swapaxes(phi, 1, 2) @ phi + ridge * np.eye(phi.shape[2])
    try:
        solved = np.linalg.solve(kernel, np.swapaxes(phi, 1, 2))
    except np.linalg.LinAlgError:
        raise InputError("the projected gradients are not independent; give a ridge above 0") from None
    # The mean over models of scores and of doubt apart, as in the reference.
    return np.asarray((aims @ solved).mean(axis=0) * weight.mean(axis=0))


def _check_finite(names: str, *arrays: Floats) -> None:
    if not all(np.isfinite(each).all() for each in arrays):
        raise InputError(f"{names} must be finite numbers")
