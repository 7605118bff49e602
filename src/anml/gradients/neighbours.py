"""Among whom a sample's nearest neighbours are sought: all, some, those in its cell, those in its minibatch.

With n samples, gradients of d numbers and k neighbours:

    all          n n d / 2    exact
    references   n m d        the k nearest of m random samples
    approximate  about 2 n sqrt(n) p d    cells around sqrt(n) random samples, p cells looked into
    minibatch    n b d        the k nearest in a random minibatch of b samples
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from anml.core.checks import Floats, one_of, whole
from anml.core.signals.quality import neighbours
from anml.gradients.factors import Factors
from anml.gradients.fused import smallest
from anml.gradients.krum import krum_scores


@dataclass(frozen=True)
class Search:
    """Among whom neighbours are sought (a name in `SEARCHES`), and how many make a Krum score.

    For k None is the classic n - f - 2, with f from `malicious`.
    """

    among: str = "all"
    k: int | None = 10
    malicious: float | None = None
    references: int = 2_048
    probes: int = 8
    minibatch: int = 512
    seed: int = 0

    def __post_init__(self) -> None:
        one_of("among", self.among, SEARCHES)
        for name, low in (("references", 1), ("probes", 1), ("minibatch", 2)):
            whole(name, getattr(self, name), low)


def scores(factors: Factors, search: Search) -> Floats:
    """Krum scores, low is consistent, with neighbours sought in the way that was asked for."""
    return SEARCHES[search.among](factors, search)


def _all(factors: Factors, search: Search) -> Floats:
    """Among all samples, or as many random references as are asked for."""
    n = len(factors)
    pool = min(search.references, n) if search.among == "references" else n
    return krum_scores(factors, neighbours(pool, search.k, search.malicious), pool, search.seed)


def _minibatch(factors: Factors, search: Search) -> Floats:
    n = len(factors)
    order = np.random.default_rng(search.seed).permutation(n)
    found = np.zeros(n)
    # Equal minibatches: a last one of a few samples would score them against hardly anybody.
    for rows in np.array_split(order, max(1, round(n / search.minibatch))):
        some = factors.take(torch.as_tensor(rows, device=factors.loss.device))
        found[rows] = krum_scores(some, neighbours(len(rows), search.k, search.malicious))
    return found


def _approximate(factors: Factors, search: Search) -> Floats:
    """Nearest neighbours among the samples of the cells next to a sample's own."""
    n, device = len(factors), factors.loss.device
    if n < 64:
        return _all(factors, search)
    k = neighbours(n, search.k, search.malicious)
    chosen = np.random.default_rng(search.seed).choice(n, max(8, round(n**0.5)), replace=False)
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
    found = norms.new_zeros(n)
    for cell, rows in enumerate(cells):
        if len(rows):
            found[rows] = _in_cells(factors, norms, rows, _members(cells, next_to[cell], search.probes, k), k)
    return found.double().cpu().numpy()


def _members(cells: list[Tensor], order: Tensor, probes: int, k: int) -> Tensor:
    """Samples of the nearest cells: so many cells, and more while they hold too few samples."""
    nearest = [cells[cell] for cell in order.tolist()]
    held = np.cumsum([len(cell) for cell in nearest])
    return torch.cat(nearest[: max(probes, int(np.searchsorted(held, k, side="right")) + 1)])


def _in_cells(factors: Factors, norms: Tensor, rows: Tensor, others: Tensor, k: int) -> Tensor:
    distance = factors.take(rows).distances(factors.take(others), norms[rows], norms[others]).clamp_min_(0)
    distance[rows.unsqueeze(1) == others] = torch.inf
    return smallest(distance, min(k, len(others) - 1)).sum(1)


SEARCHES: dict[str, Callable[[Factors, Search], Floats]] = {
    "all": _all,
    "references": _all,
    "approximate": _approximate,
    "minibatch": _minibatch,
}
