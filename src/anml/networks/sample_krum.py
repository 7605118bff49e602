"""Krum scores of samples from gradient factors: exact, a tile of pairs at a time."""

from functools import singledispatch
from typing import Any

import numpy as np

from anml.core.checks import Floats, Ints, as_integer
from anml.networks.factors import Factors
from anml.networks.mlp import to_numpy

# Size of one tile of distances. Small enough to stay near the processor, large enough to keep it busy.
TILE_BYTES = 8 * 2**20


def krum_scores(factors: Factors, k: int, references: int | None = None, seed: int = 0) -> Floats:
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
        first, last = np.searchsorted(positions, (rows.start, rows.stop))
        tile[positions[first:last] - rows.start, np.arange(first, last)] = np.inf
        nearest = k_smallest(tile, neighbours)
        # The only reference of a sample may be itself, and rounding may leave less than 0.
        nearest[(nearest < 0) | (nearest == np.inf)] = 0
        scores[rows] = to_numpy(nearest.sum(1))
    return scores


def draw_references(n: int, references: int | None, seed: int) -> Ints | None:
    """Return the samples among which neighbours are sought, in ascending order; None for all n samples."""
    if references is not None:
        as_integer("references", references, 1)
    if references is None or references >= n:
        return None
    return np.sort(np.random.default_rng(seed).choice(n, references, replace=False))


@singledispatch
def k_smallest(tile: Any, k: int) -> Any:
    """Return the k smallest values of each row, in any order."""
    return np.array(np.partition(tile, k - 1, axis=1)[:, :k])
