"""Krum scores of samples on torch: a kernel for large sets on a GPU, else `networks.sample_krum`."""

import torch
from torch import Tensor

from anml.core.checks import Floats
from anml.gradients.fused import fused_scores, kernel_available
from anml.networks import sample_krum
from anml.networks.factors import Factors
from anml.networks.mlp import to_numpy
from anml.networks.sample_krum import draw_references, k_smallest

# Rows and columns of a tile where every pair is computed once, by kind of device, and the largest number of
# neighbours for which that pays: each sample's nearest so far are kept in memory.
TILE_SIZE = {"cpu": 1024, "cuda": 8192}
MAX_NEIGHBOURS = 64


def krum_scores(factors: Factors, k: int, references: int | None = None, seed: int = 0) -> Floats:
    """Return the scores of `anml.networks.sample_krum.krum_scores`, faster for large sets."""
    n, device = len(factors), factors.loss.device.type
    if draw_references(n, references, seed) is None and n > 1 and k > 0:
        if kernel_available(factors, k):
            return to_numpy(fused_scores(factors, k, seed))
        if k <= MAX_NEIGHBOURS and n * n * factors.loss.itemsize > sample_krum.TILE_BYTES:
            return to_numpy(_once_per_pair(factors, k, min(n, TILE_SIZE.get(device, TILE_SIZE["cpu"]))))
    return sample_krum.krum_scores(factors, k, references, seed)


def _once_per_pair(factors: Factors, k: int, side: int) -> Tensor:
    """Return scores from the tiles on and above the diagonal: each serves its rows and its columns."""
    n, norms = len(factors), factors.norms()
    starts = range(0, n, side)
    blocks = [factors.take(slice(start, start + side)) for start in starts]
    best: Tensor = norms.new_full((n, k), torch.inf)
    for i, first in zip(starts, blocks, strict=True):
        for j, second in zip(starts, blocks, strict=True):
            if j < i:
                continue
            rows, columns = slice(i, i + side), slice(j, j + side)
            tile = first.distances(second, norms[rows], norms[columns])
            if i == j:
                tile.fill_diagonal_(torch.inf)
            else:
                best[columns] = k_smallest(torch.cat([best[columns], tile.T], dim=1), k)
            best[rows] = k_smallest(torch.cat([best[rows], tile], dim=1), k)
    return best.clamp_min_(0.0).sort(dim=1).values.sum(dim=1)
