"""Rows that carry a backdoor, from what a trained network makes of them, class by class.

Both give values: how far a row is from what speaks against it; at most zero is to be dropped.
"""

from typing import Any

import numpy as np

from anml.core.checks import Array, Floats
from anml.core.errors import InputError

# Deviations from the middle beyond which a row stands out; the smaller of two clusters is suspect up to
# this share of its class, and where the two are this far apart for their width.
FAR, SMALL, APART = 3.5, 0.35, 4.0


def spectral_signatures(features: Any, label: Any) -> Floats:
    """Distance along the direction in which a class varies most: Tran, Li and Madry, NeurIPS 2018.

    A backdoor is the strongest thing that rows of its target class differ by. Its weakness: so may be an
    honest minority of a class.
    """
    value = np.empty(len(np.asarray(label)))
    for mine, rows in _classes(features, label):
        along = rows @ np.linalg.svd(rows, full_matrices=False)[2][0]
        away = np.abs(along - np.median(along))
        spread = 1.4826 * float(np.median(away))
        value[mine] = FAR - away / spread if spread > 1e-12 else np.where(away > 1e-12, -1.0, FAR)
    return value


def activation_clusters(features: Any, label: Any, contributor: Any = None, seed: int = 0) -> Floats:
    """The smaller of two clusters of a class, where they are apart: Chen et al., SafeAI 2019.

    Its weakness: it needs the poison to be the smaller part, and takes a class of two kinds for a backdoor.
    Where `contributor` is known the suspect cluster is that of fewer contributors, of at most half of those
    who have rows of the class: poison that outnumbers what is honest in its class is still of a few.
    """
    from sklearn.cluster import KMeans

    value = np.ones(len(np.asarray(label)))
    for mine, rows in _classes(features, label):
        if len(rows) < 3 or float(np.ptp(rows)) <= 1e-12:
            continue
        result = KMeans(2, n_init=5, random_state=seed).fit(rows)
        held = [result.labels_ == 0, result.labels_ == 1]
        if contributor is None:
            share, limit = [float(subset.mean()) for subset in held], SMALL
        else:
            contributors = np.asarray(contributor)[mine]
            share, limit = (
                [len(np.unique(contributors[subset])) / len(np.unique(contributors)) for subset in held],
                0.5,
            )
        small = int(np.argmin(share))
        # Along the line between their middles two halves of one cloud are 2.7 of their own widths apart.
        line = result.cluster_centers_[1] - result.cluster_centers_[0]
        along = (rows @ line) / np.linalg.norm(line)
        width = float(np.sqrt(np.mean([np.var(along[subset]) for subset in held])))
        gap = float(np.linalg.norm(line))
        if share[small] <= limit and gap > APART * width:
            value[mine[held[small]]] = -1.0
    return value


def _classes(features: Any, label: Any) -> list[tuple[Array, Floats]]:
    """Rows of each class about their mean."""
    x, y = np.asarray(features, dtype=np.float64), np.asarray(label)
    if x.ndim != 2 or y.shape != x.shape[:1] or not np.isfinite(x).all():
        raise InputError(f"features must be finite, with one label a row, got {x.shape} and {y.shape}")
    each = [np.flatnonzero(y == code) for code in np.unique(y)]
    return [(mine, x[mine] - x[mine].mean(axis=0)) for mine in each]
