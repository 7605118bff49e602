"""Shapley values of rows for a nearest-neighbour classifier, exactly: Jia et al., VLDB 2019."""

from typing import Any

import numpy as np

from anml.core.checks import Array, Floats, as_integer
from anml.core.errors import InputError

# Distances held at a time, about.
BLOCK = 4_000_000


def knn_shapley(x: Any, y: Any, target_x: Any, target_y: Any, k: int = 5) -> Floats:
    """Shapley value of each row, where a coalition is worth the share of right votes of its k nearest rows.

    From the farthest row inwards each value follows from the one before, so no coalition is evaluated:
    s_N = [right_N] / N, s_i = s_{i+1} + ([right_i] - [right_{i+1}]) min(k, i) / (k i); values are means over
    the targets, and sum to the worth of all rows. Its weakness: it needs clean targets, and features in which
    near rows are alike.
    """
    rows, targets = np.asarray(x, dtype=np.float64), np.asarray(target_x, dtype=np.float64)
    labels, aims = np.asarray(y), np.asarray(target_y)
    if rows.ndim != 2 or targets.ndim != 2 or rows.shape[1] != targets.shape[1] or not len(rows):
        raise InputError(
            f"rows and targets must have the same features, got {rows.shape} and {targets.shape}"
        )
    if labels.shape != rows.shape[:1] or aims.shape != targets.shape[:1] or not len(aims):
        raise InputError(f"one label a row is needed, got {labels.shape} and {aims.shape}")
    if not (np.isfinite(rows).all() and np.isfinite(targets).all()):
        raise InputError("features must be finite numbers")
    as_integer("k", k, 1)
    block = max(1, BLOCK // len(rows))
    total = np.zeros(len(rows))
    for start in range(0, len(aims), block):
        subset = slice(start, start + block)
        total += _of_targets(rows, labels, targets[subset], aims[subset], int(k))
    return total / len(aims)


def _of_targets(x: Floats, y: Array, targets: Floats, aims: Array, k: int) -> Floats:
    far = np.square(targets).sum(axis=1)[:, None] - 2 * targets @ x.T + np.square(x).sum(axis=1)
    order = np.argsort(far, axis=1, kind="stable")
    right = (y[order] == aims[:, None]).astype(np.float64)
    n = len(x)
    place = np.arange(1, n)
    steps = (right[:, :-1] - right[:, 1:]) * np.minimum(k, place) / (k * place)
    last = right[:, -1:] * min(k, n) / (k * n)
    inwards = np.concatenate([steps, last], axis=1)[:, ::-1].cumsum(axis=1)[:, ::-1]
    value = np.zeros(n)
    np.add.at(value, order.ravel(), inwards.ravel())
    return value
