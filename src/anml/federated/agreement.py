"""Agreement of each client's update with the geometric median of all updates (Pillutla et al., 2022)."""

from typing import Any

import numpy as np

from anml.core.checks import Array, Floats, as_vector
from anml.federated.krum import krum_scores_from_distances
from anml.federated.updates import Updates, norms, project, squared_distances

# Numbers that updates are projected to before they are compared: distances are kept within some 2%.
SKETCH = 4_096
MAX_ITERATIONS = 50
# Rows of a client count up to so many times the median client's, and its update up to so many times the
# usual length.
MAX_ROW_RATIO, MAX_NORM_RATIO = 10.0, 3.0


def clip_factors(length: Floats, most: float) -> Floats:
    """Return the factor for each update that limits its norm to `most`."""
    return np.minimum(1.0, most / np.maximum(length, 1e-300)) if most > 0 else np.ones(len(length))


def capped_row_counts(n: int, rows: Any = None) -> Floats:
    """Client weights from reported row counts, at most ten times the median count."""
    if rows is None:
        return np.ones(n)
    held = np.maximum(as_vector("rows", rows, n), 0.0)
    return np.minimum(held, MAX_ROW_RATIO * float(np.median(held))) if held.any() else np.ones(n)


def median_norm(length: Floats, share: Floats) -> float:
    """The median length of updates, by shares."""
    order = np.argsort(length)
    return float(length[order][min(int(np.searchsorted(np.cumsum(share[order]), 0.5)), len(order) - 1)])


def sketch_and_clip(updates: Updates, rng: np.random.Generator) -> tuple[Array, Array]:
    """Projected updates, of at most median length and as they are: what clients are compared by."""
    small, length = project(updates, SKETCH, rng), norms(updates)
    clipped = clip_factors(length, float(np.median(length)))
    return np.asarray(small * clipped[:, None].astype(small.dtype)), small


def geometric_median(rows: Array) -> Floats:
    """The point with the least sum of distances to the rows, by Weiszfeld's steps."""
    points = rows.astype(np.float64)
    centre = np.median(points, axis=0)
    small = 1e-9 * float(np.abs(points - centre).max() or 1.0)
    for _ in range(MAX_ITERATIONS):
        weights = 1 / np.maximum(np.linalg.norm(points - centre, axis=1), small)
        centre = (weights / weights.sum()) @ points
    return np.asarray(centre)


def agreement(rows: Array, whole: Array) -> Floats:
    """Agreement scores of each client with the others (clients, 3); higher scores mean better agreement.

    The columns are the cosine of its update with the geometric median of the others, minus the log of its
    distance to the median, and minus the log of its Krum distance to the nearest half of the clients; the
    last two are 0 for the median client. Cosines discriminate early in training; later honest updates are
    short and noisy, and distances discriminate. `rows` are clipped to the median length, `whole` are not.
    """
    centre, points = geometric_median(rows), rows.astype(np.float64)
    # Exclude each client from the median, since its own share would raise its agreement.
    share = 1 / np.maximum(np.linalg.norm(points - centre, axis=1), 1e-300)
    others = centre - (share / share.sum())[:, None] * points
    lengths = np.linalg.norm(points, axis=1) * np.linalg.norm(others, axis=1)
    product = (points * others).sum(axis=1)
    cosine = np.divide(product, lengths, out=np.zeros(len(rows)), where=lengths > 1e-300)
    apart = np.linalg.norm(whole.astype(np.float64) - centre, axis=1)
    # Nearly identical clients get equal distances.
    least = max(float(np.median(apart)), 1e-6 * float(apart.max()), 1e-6 * float(np.linalg.norm(centre)))
    near = np.zeros(len(rows)) if least <= 0 else -np.log(np.maximum(apart, 0.1 * least) / least)
    n = len(rows)
    half = np.zeros(n)
    if n > 2 and least > 0:
        between = np.sqrt(krum_scores_from_distances(squared_distances(whole), (n - 3) // 2))
        usual = max(float(np.median(between)), 1e-6 * float(between.max()), 1e-300)
        half = -np.log(np.maximum(between, 0.1 * usual) / usual)
    return np.column_stack([np.clip(cosine, -1.0, 1.0), near, half])
