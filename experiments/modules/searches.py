"""Two approximations of Krum scores that the paper names: neighbours in a minibatch, or in near cells.

With n samples and gradients of d numbers, minibatches of b samples cost n b d, and p cells around sqrt(n)
random samples about 2 n sqrt(n) p d. The product compares with all samples or with random references.
"""

import numpy as np
import torch
from torch import Tensor

from anml.core.checks import Floats
from anml.gradients.sample_krum_torch import krum_scores
from anml.networks.factors import Factors
from anml.networks.sample_krum import k_smallest
from anml.signals.quality import krum_neighbours

# Fewer samples are compared with all others.
MIN_SAMPLES_FOR_CELLS = 64


def minibatch_scores(factors: Factors, k: int, size: int, seed: int = 0) -> Floats:
    """Return Krum scores of samples within random minibatches of about `size` samples."""
    n = len(factors)
    order = np.random.default_rng(seed).permutation(n)
    result = np.zeros(n)
    # Equal minibatches: a last one of a few samples would score them against hardly any others.
    for rows in np.array_split(order, max(1, round(n / size))):
        subset = factors.take(torch.as_tensor(rows, device=factors.loss.device))
        result[rows] = krum_scores(subset, krum_neighbours(len(rows), k))
    return result


def cell_scores(factors: Factors, k: int, probes: int = 8, seed: int = 0) -> Floats:
    """Return Krum scores with neighbours among the samples of the `probes` nearest cells."""
    n, device = len(factors), factors.loss.device
    k = krum_neighbours(n, k)
    if n < MIN_SAMPLES_FOR_CELLS:
        return krum_scores(factors, k)
    chosen = np.random.default_rng(seed).choice(n, max(8, round(n**0.5)), replace=False)
    centres = factors.take(torch.as_tensor(np.sort(chosen), device=device))
    norms, centre_norms = factors.norms(), centres.norms()
    own = torch.cat([
        (centre_norms - 2 * factors.take(slice(at, at + 4_096)).products(centres)).argmin(1)
        for at in range(0, n, 4_096)
    ])  # fmt: skip
    between = centre_norms.unsqueeze(1) + centre_norms - 2 * centres.products(centres)
    next_to = between.fill_diagonal_(-1.0).argsort(dim=1)
    order = own.argsort(stable=True)
    ends = torch.bincount(own, minlength=len(centres)).cumsum(0).tolist()
    cells = [order[start:end] for start, end in zip([0, *ends[:-1]], ends, strict=True)]
    scores: Tensor = norms.new_zeros(n)
    for cell, rows in enumerate(cells):
        if len(rows):
            scores[rows] = _in_cells(factors, norms, rows, _members(cells, next_to[cell], probes, k), k)
    return scores.double().cpu().numpy()


def _members(cells: list[Tensor], order: Tensor, probes: int, k: int) -> Tensor:
    """Return the samples of the nearest cells: `probes` cells, and more while they hold too few samples."""
    nearest = [cells[cell] for cell in order.tolist()]
    held = np.cumsum([len(cell) for cell in nearest])
    return torch.cat(nearest[: max(probes, int(np.searchsorted(held, k, side="right")) + 1)])


def _in_cells(factors: Factors, norms: Tensor, rows: Tensor, others: Tensor, k: int) -> Tensor:
    distance = factors.take(rows).distances(factors.take(others), norms[rows], norms[others]).clamp_min_(0)
    distance[rows.unsqueeze(1) == others] = torch.inf
    nearest: Tensor = k_smallest(distance, min(k, len(others) - 1))
    return nearest.sum(1)
