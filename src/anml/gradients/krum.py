"""Krum scores of samples, from gradient factors: exact, a tile of pairs at a time."""

import numpy as np
import torch
from torch import Tensor

from anml.core.checks import Floats
from anml.gradients.factors import Factors
from anml.gradients.fused import fused_scores, k_smallest, kernel_available
from anml.networks.krum import draw_references

# Size of one tile of distances. Small enough to stay near the processor, large enough to keep it busy.
TILE_BYTES = 8 * 2**20
# Rows and columns of a tile where every pair is computed once, by kind of device, and the most neighbours
# for which that pays: each sample's nearest so far are kept beside.
TILE_SIZE = {"cpu": 1024, "cuda": 8192}
MAX_NEIGHBOURS = 64


def krum_scores(factors: Factors, k: int, references: int | None = None, seed: int = 0) -> Floats:
    """Sum of squared distances to the k nearest other gradients, or of `references` drawn at random.

    Low is consistent. Memory is a few tiles beside the factors; large sets on a GPU have a kernel.
    """
    n = len(factors)
    drawn = draw_references(n, references, seed)
    if n == 1 or k == 0:
        return np.zeros(n)
    others, positions = factors, torch.arange(n, device=factors.loss.device)
    if drawn is not None:
        positions = torch.as_tensor(drawn, device=positions.device)
        others = factors.take(positions)
    if others is factors and kernel_available(factors, k):
        return fused_scores(factors, k, seed).double().cpu().numpy()
    if others is factors and k <= MAX_NEIGHBOURS and n * n * factors.loss.element_size() > TILE_BYTES:
        side = min(n, TILE_SIZE.get(factors.loss.device.type, TILE_SIZE["cpu"]))
        return _once_per_pair(factors, k, side).double().cpu().numpy()
    norms, other_norms = factors.norms(), others.norms()
    rows = max(1, TILE_BYTES // (len(others) * norms.element_size()))
    scores = torch.empty_like(norms)
    for start in range(0, n, rows):
        some = slice(start, start + rows)
        tile = factors.take(some).distances(others, norms[some], other_norms).clamp_min_(0.0)
        own = torch.arange(start, start + len(tile), device=tile.device).unsqueeze(1)
        tile.masked_fill_(own == positions, torch.inf)
        nearest = k_smallest(tile, min(k, len(others) - 1) or 1)
        # Infinitely far is the sample itself.
        scores[some] = torch.where(torch.isinf(nearest), 0.0, nearest).sum(dim=1)
    return scores.double().cpu().numpy()


def _once_per_pair(factors: Factors, k: int, side: int) -> Tensor:
    """Scores from the tiles on and above the diagonal: each serves its rows and its columns."""
    n, norms = len(factors), factors.norms()
    starts = range(0, n, side)
    blocks = [factors.take(slice(start, start + side)) for start in starts]
    best = norms.new_full((n, k), torch.inf)
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
