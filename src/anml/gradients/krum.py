"""Krum scores of samples, from gradient factors: exact, a block of rows at a time."""

import numpy as np
import torch
from torch import Tensor

from anml.core.checks import Floats
from anml.core.errors import InputError
from anml.gradients.factors import Factors

# Size of one tile of distances. Small enough to stay near the processor, large enough to keep it busy.
TILE_BYTES = 32 * 2**20


def krum_scores(factors: Factors, k: int, references: int | None = None, seed: int = 0) -> Floats:
    """Sum of squared distances to the k nearest other gradients; low is consistent.

    With `references=m` the neighbours are sought among m samples drawn at random, and k shrinks in
    proportion only if m is smaller than k: cost n m instead of n n, each row on its own.
    Memory is one tile beside the factors, whatever n.
    """
    n = len(factors)
    if references is not None and references < 1:
        raise InputError(f"references must be at least 1, got {references}")
    if n == 1 or k == 0:
        return np.zeros(n)
    others, positions = factors, torch.arange(n, device=factors.loss.device)
    if references is not None and references < n:
        chosen = np.sort(np.random.default_rng(seed).choice(n, references, replace=False))
        positions = torch.as_tensor(chosen, device=positions.device)
        others = factors.take(positions)
    norms, other_norms = factors.norms(), others.norms()
    rows = max(1, TILE_BYTES // (len(others) * norms.element_size()))
    scores = torch.empty_like(norms)
    for start in range(0, n, rows):
        tile = _distances(factors, others, norms, other_norms, positions, slice(start, start + rows))
        scores[start : start + rows] = _nearest(tile, min(k, len(others) - 1) or 1)
    return scores.double().cpu().numpy()


def _distances(
    factors: Factors, others: Factors, norms: Tensor, other_norms: Tensor, positions: Tensor, rows: slice
) -> Tensor:
    """Squared distances of some rows to all others; a sample is infinitely far from itself."""
    block = factors.take(rows)
    tile = block.products(others).mul_(-2.0).add_(norms[rows].unsqueeze(1)).add_(other_norms).clamp_min_(0.0)
    own = torch.arange(rows.start, rows.start + len(block), device=tile.device)
    at = torch.searchsorted(positions, own).clamp_max_(len(positions) - 1)
    itself = positions[at] == own
    tile[itself.nonzero().squeeze(1), at[itself]] = torch.inf
    return tile


def _nearest(tile: Tensor, k: int) -> Tensor:
    """Sum of the k smallest of each row, infinities (the sample itself) left out."""
    nearest = torch.topk(tile, k, dim=1, largest=False, sorted=False).values
    return torch.where(torch.isinf(nearest), 0.0, nearest).sum(dim=1)
