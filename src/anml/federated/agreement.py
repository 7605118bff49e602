"""Agreement of each client's update with the geometric median of all updates (Pillutla et al., 2022)."""

from typing import Any

import numpy as np

from anml.core.checks import Array, Floats, as_vector
from anml.federated.client_krum import krum_scores_from_distances
from anml.federated.updates import Updates, norms, project, squared_distances

# Length of the projection in which updates are compared: distances are kept within about 2%.
SKETCH = 4_096
MAX_ITERATIONS = 50
# Limits of a client's rows, and of the length of its update, by the median of all clients.
MAX_ROW_RATIO, MAX_NORM_RATIO = 10.0, 3.0


def clip_factors(length: Floats, limit: float) -> Floats:
    """Return the factor for each update that limits its norm to `most`."""
    return np.minimum(1.0, limit / np.maximum(length, 1e-300)) if limit > 0 else np.ones(len(length))


def capped_row_counts(n: int, rows: Any = None) -> Floats:
    """Client weights from reported row counts, at most ten times the median count."""
    if rows is None:
        return np.ones(n)
    held = np.maximum(as_vector("rows", rows, n), 0.0)
    return np.minimum(held, MAX_ROW_RATIO * float(np.median(held))) if held.any() else np.ones(n)


def median_norm(length: Floats, share: Floats) -> float:
    """Return the median length of updates, weighted by shares."""
    order = np.argsort(length)
    return float(length[order][min(int(np.searchsorted(np.cumsum(share[order]), 0.5)), len(order) - 1)])


def sketch_and_clip(updates: Updates, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return projected updates, limited to the median length, and as they are."""
    small, length = project(updates, SKETCH, rng), norms(updates)
    clipped = clip_factors(length, float(np.median(length)))
    return np.asarray(small * clipped[:, None].astype(small.dtype)), small


def geometric_median(rows: Array) -> Floats:
    """Return the point with the least sum of distances to the rows, by the algorithm of Weiszfeld."""
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
    to_median = np.linalg.norm(whole.astype(np.float64) - centre, axis=1)
    # Nearly identical clients get equal distances.
    floor = max(
        float(np.median(to_median)), 1e-6 * float(to_median.max()), 1e-6 * float(np.linalg.norm(centre))
    )
    log_distance = np.zeros(len(rows)) if floor <= 0 else -np.log(np.maximum(to_median, 0.1 * floor) / floor)
    n = len(rows)
    log_krum = np.zeros(n)
    if n > 2 and floor > 0:
        between = np.sqrt(krum_scores_from_distances(squared_distances(whole), (n - 3) // 2))
        typical = max(float(np.median(between)), 1e-6 * float(between.max()), 1e-300)
        log_krum = -np.log(np.maximum(between, 0.1 * typical) / typical)
    return np.column_stack([np.clip(cosine, -1.0, 1.0), log_distance, log_krum])
