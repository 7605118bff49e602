"""Krum scores of samples from gradient factors: exact, a tile of pairs at a time."""

import numpy as np

from anml.core.checks import Array, Floats, Ints, as_integer
from anml.networks.factors import NetworkFactors

# Size of one tile of distances. Small enough to stay near the processor, large enough to keep it busy.
TILE_BYTES = 8 * 2**20


def krum_scores(factors: NetworkFactors, k: int, references: int | None = None, seed: int = 0) -> Floats:
    """Return the sum of squared distances to the k nearest other gradients.

    Neighbours are sought among all samples, or among `references` drawn at random. Low is consistent. The
    memory is a few tiles beside the factors.
    """
    n = len(factors)
    drawn = draw_references(n, references, seed)
    if n == 1 or k == 0:
        return np.zeros(n)
    others, positions = (factors, np.arange(n)) if drawn is None else (factors.take(drawn), drawn)
    norms = factors.norms()
    other_norms = norms[positions]
    tile_rows = max(1, TILE_BYTES // (len(others) * norms.itemsize))
    neighbours = min(k, len(others) - 1) or 1
    scores = np.empty(n)
    for start in range(0, n, tile_rows):
        rows = slice(start, min(start + tile_rows, n))
        tile = factors.take(rows).distances(others, norms[rows], other_norms)
        np.maximum(tile, 0, out=tile)
        _exclude_own(tile, rows, positions)
        nearest = k_smallest(tile, neighbours)
        # The only reference of a sample may be itself.
        nearest[np.isinf(nearest)] = 0
        scores[rows] = nearest.sum(axis=1)
    return scores


def draw_references(n: int, references: int | None, seed: int) -> Ints | None:
    """Return the samples among which neighbours are sought, in ascending order; None for all n samples."""
    if references is not None:
        as_integer("references", references, 1)
    if references is None or references >= n:
        return None
    return np.sort(np.random.default_rng(seed).choice(n, references, replace=False))


def _exclude_own(tile: Array, rows: slice, positions: Array) -> None:
    """Set the distance of a sample to itself to infinity."""
    first, last = np.searchsorted(positions, (rows.start, rows.stop))
    tile[positions[first:last] - rows.start, np.arange(first, last)] = np.inf


def k_smallest(tile: Array, k: int) -> Array:
    """Return the k smallest values of each row, in any order."""
    return np.array(np.partition(tile, k - 1, axis=1)[:, :k])
