"""How far each client's update points to the geometric median of all (Pillutla et al., 2022)."""

from typing import Any

import numpy as np

from anml.aggregate.krum import krum_scores
from anml.aggregate.updates import Updates, norms, sketched, squared_distances
from anml.core.checks import Array, Floats, as_vector

# Numbers that updates are projected to before they are compared: distances are kept within some 2%.
SKETCH = 4_096
STEPS = 50
# Rows of a client count up to so many times the median client's, and its update up to so many times the
# usual length.
LARGEST, LONGEST = 10.0, 3.0


def clipped_to(length: Floats, most: float) -> Floats:
    """What each update is multiplied by so that none is longer than that."""
    return np.minimum(1.0, most / np.maximum(length, 1e-300)) if most > 0 else np.ones(len(length))


def counted(n: int, rows: Any = None) -> Floats:
    """What clients count by the rows that they say they have: nobody more than ten times the median."""
    if rows is None:
        return np.ones(n)
    held = np.maximum(as_vector("rows", rows, n), 0.0)
    return np.minimum(held, LARGEST * float(np.median(held))) if held.any() else np.ones(n)


def usual_length(length: Floats, share: Floats) -> float:
    """The median length of updates, by shares."""
    order = np.argsort(length)
    return float(length[order][min(int(np.searchsorted(np.cumsum(share[order]), 0.5)), len(order) - 1)])


def compared(updates: Updates, rng: np.random.Generator) -> tuple[Array, Array]:
    """Projected updates, of at most median length and as they are: what clients are compared by."""
    small, length = sketched(updates, SKETCH, rng), norms(updates)
    clipped = clipped_to(length, float(np.median(length)))
    return np.asarray(small * clipped[:, None].astype(small.dtype)), small


def geometric_median(rows: Array) -> Floats:
    """The point with the least sum of distances to the rows, by Weiszfeld's steps."""
    points = rows.astype(np.float64)
    centre = np.median(points, axis=0)
    small = 1e-9 * float(np.abs(points - centre).max() or 1.0)
    for _ in range(STEPS):
        weights = 1 / np.maximum(np.linalg.norm(points - centre, axis=1), small)
        centre = (weights / weights.sum()) @ points
    return np.asarray(centre)


def agreement(rows: Array, whole: Array) -> Floats:
    """How far each client agrees with the others, (clients, 3): high is good.

    First the cosine of its update with the middle of the others, then minus the log of its distance to the
    middle and of that to the nearest half of the clients (Krum's), 0 for the median client. Directions tell
    while all still learn; later honest updates are short noise, and who pulls elsewhere is far away. `rows`
    are of at most median length, `whole` as they came.
    """
    centre, points = geometric_median(rows), rows.astype(np.float64)
    # Of ten clients each is a tenth of the middle, which would make all of them agree with it.
    share = 1 / np.maximum(np.linalg.norm(points - centre, axis=1), 1e-300)
    others = centre - (share / share.sum())[:, None] * points
    lengths = np.linalg.norm(points, axis=1) * np.linalg.norm(others, axis=1)
    product = (points * others).sum(axis=1)
    cosine = np.divide(product, lengths, out=np.zeros(len(rows)), where=lengths > 1e-300)
    apart = np.linalg.norm(whole.astype(np.float64) - centre, axis=1)
    # Clients that are all but equal are as near as each other.
    least = max(float(np.median(apart)), 1e-6 * float(apart.max()), 1e-6 * float(np.linalg.norm(centre)))
    near = np.zeros(len(rows)) if least <= 0 else -np.log(np.maximum(apart, 0.1 * least) / least)
    n = len(rows)
    half = np.zeros(n)
    if n > 2 and least > 0:
        between = np.sqrt(krum_scores(squared_distances(whole), (n - 3) // 2))
        usual = max(float(np.median(between)), 1e-6 * float(between.max()), 1e-300)
        half = -np.log(np.maximum(between, 0.1 * usual) / usual)
    return np.column_stack([np.clip(cosine, -1.0, 1.0), near, half])
