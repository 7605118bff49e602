"""Influence functions: Koh and Liang, ICML 2017."""

from typing import Any

import numpy as np

from anml.core.checks import Floats, in_range
from anml.core.errors import InputError


def influence(gradients: Any, hessian: Any, target: Any, damping: float = 1e-3) -> Floats:
    """How much leaving each sample out would raise the loss on a target set, to first order.

    `gradients` (n, p) are those of each sample's loss at the trained model, `hessian` (p, p) that of the mean
    loss, `target` (p,) the gradient of the target's mean loss. High is helpful. Its weakness: it holds near a
    minimum, and depends on the damping that makes the Hessian invertible.
    """
    each, curve = np.asarray(gradients, dtype=np.float64), np.asarray(hessian, dtype=np.float64)
    aim = np.asarray(target, dtype=np.float64)
    in_range("damping", damping, 0, np.inf, open_high=True)
    if each.ndim != 2 or curve.shape != (each.shape[1],) * 2 or aim.shape != each.shape[1:]:
        raise InputError(
            f"gradients (n, p), a Hessian (p, p) and a target (p,) belong together, got {each.shape}, "
            f"{curve.shape} and {aim.shape}"
        )
    if not (np.isfinite(each).all() and np.isfinite(curve).all() and np.isfinite(aim).all()):
        raise InputError("gradients, Hessian and target must be finite numbers")
    try:
        pulled = np.linalg.solve(curve + damping * np.eye(len(aim)), aim)
    except np.linalg.LinAlgError:
        raise InputError("the Hessian cannot be inverted; give a damping above 0") from None
    return np.asarray(each @ pulled / len(each))
