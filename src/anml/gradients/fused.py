"""Krum on a GPU with tiles that never leave the processor: products, distances and selection in one kernel.

The kernel stores only distances below a bound on the k-th, which starts from random references and falls as
nearer ones are found; a tile whose lists overflow is repeated without the kernel. The scores are those of
`networks.sample_krum`. Products take three passes of the tensor cores ("tf32x3", about as exact as plain 32
bits), or one where `torch.backends.cuda.matmul.allow_tf32` is set.
"""

from dataclasses import dataclass
from importlib.util import find_spec

import torch
from torch import Tensor

from anml.gradients.factors import LayerFactor
from anml.networks.factors import Factors
from anml.networks.sample_krum import k_smallest

k_smallest.register(Tensor, lambda tile, k: torch.topk(tile, k, 1, largest=False, sorted=False).values)

# Rows and columns of one launch.
TILE_SIZE = 16_384
# Distances kept for each sample between two selections.
BUFFER_SIZE = 128
# Samples that the first bounds come from, and from how many samples on the kernel pays.
REFERENCES, MIN_SAMPLES = 16_384, 32_768
# By how much of a squared length a distance of the kernel may be off.
TOLERANCE = {"tf32": 1e-3, "tf32x3": 1e-5, "ieee": 1e-5}


def kernel_available(factors: Factors, k: int) -> bool:
    """True if the kernel supports these factors and is faster."""
    return (
        factors.loss.device.type == "cuda"
        and factors.loss.dtype == torch.float32
        and len(factors) >= MIN_SAMPLES
        and k <= BUFFER_SIZE // 4
        and all(isinstance(part, LayerFactor) for part in factors.layers)
        and find_spec("triton") is not None
    )


@dataclass(frozen=True)
class Nearest:
    """The nearest found so far, bounds on the k-th, and distances not yet selected from."""

    best: Tensor
    bound: Tensor
    lists: Tensor
    count: Tensor


def fused_scores(
    factors: Factors, k: int, seed: int = 0, side: int = TILE_SIZE, precision: str = ""
) -> Tensor:
    """Sums of the k smallest squared distances to others."""
    from anml.gradients.kernel import launch, pack

    precision = precision or ("tf32" if torch.backends.cuda.matmul.allow_tf32 else "tf32x3")
    n, norms = len(factors), factors.norms()
    packed = pack(factors)
    room = norms.new_empty(n, BUFFER_SIZE)
    count = torch.zeros(n, dtype=torch.int32, device=norms.device)
    bound = _first_bound(factors, norms, k, seed) + TOLERANCE[precision] * norms
    state = Nearest(norms.new_full((n, k), torch.inf), bound, room, count)
    for i in range(0, n, side):
        for j in range(i, n, side):
            rows, columns = slice(i, min(i + side, n)), slice(j, min(j + side, n))
            pairs = [(rows, columns)] if i == j else [(rows, columns), (columns, rows)]
            before = [count[mine].clone() for mine, _ in pairs]
            launch(packed, norms, state.bound, room, count, rows, columns, precision)
            for (mine, theirs), counted in zip(pairs, before, strict=True):
                fullest = int(count[mine].max())
                if fullest > BUFFER_SIZE:
                    count[mine] = counted
                    _select(state, mine)
                    _without_lists(state, factors, norms, mine, theirs)
                elif fullest > BUFFER_SIZE // 2:
                    _select(state, mine)
    _select(state, slice(0, n))
    _fill(state, factors, norms)
    return state.best.clamp_min_(0.0).sort(dim=1).values.sum(dim=1)


def _first_bound(factors: Factors, norms: Tensor, k: int, seed: int) -> Tensor:
    """The k-th smallest distance to random references, for each sample."""
    n, device = len(factors), norms.device
    generator = torch.Generator().manual_seed(seed)
    chosen = torch.randperm(n, generator=generator)[:REFERENCES].sort().values.to(device)
    others, theirs = factors.take(chosen), norms[chosen]
    bound = torch.empty_like(norms)
    for start in range(0, n, 8_192):
        rows = slice(start, start + 8_192)
        tile = factors.take(rows).distances(others, norms[rows], theirs)
        own = torch.arange(start, start + len(tile), device=device).unsqueeze(1)
        bound[rows] = k_smallest(tile.masked_fill_(own == chosen, torch.inf), k).amax(dim=1)
    return bound


def _select(state: Nearest, rows: slice) -> None:
    """The k smallest of what was found before and of the lists, which are empty then."""
    places = torch.arange(state.lists.shape[1], device=state.count.device)
    longest = max(1, min(int(state.count[rows].max()), len(places)))
    fresh = state.lists[rows, :longest].masked_fill(places[:longest] >= state.count[rows, None], torch.inf)
    best = k_smallest(torch.cat([state.best[rows], fresh], dim=1), state.best.shape[1])
    state.best[rows] = best
    state.bound[rows] = torch.minimum(state.bound[rows], best.amax(dim=1))
    state.count[rows] = 0


def _without_lists(state: Nearest, factors: Factors, norms: Tensor, rows: slice, columns: slice) -> None:
    """Some rows against some columns through torch, a part of the rows at a time."""
    others = factors.take(columns)
    across = torch.arange(columns.start, columns.stop, device=norms.device)
    for start in range(rows.start, rows.stop, 2_048):
        part = slice(start, min(start + 2_048, rows.stop))
        tile = factors.take(part).distances(others, norms[part], norms[columns])
        own = torch.arange(part.start, part.stop, device=norms.device).unsqueeze(1)
        tile.masked_fill_(own == across, torch.inf)
        k = state.best.shape[1]
        state.best[part] = k_smallest(torch.cat([state.best[part], k_smallest(tile, k)], dim=1), k)
        state.bound[part] = torch.minimum(state.bound[part], state.best[part].amax(dim=1))


def _fill(state: Nearest, factors: Factors, norms: Tensor) -> None:
    """Samples that rounding left with fewer than k neighbours are sought again among all."""
    for row in torch.isinf(state.best).any(dim=1).nonzero().flatten().tolist():
        one = slice(row, row + 1)
        state.best[one] = torch.inf
        _without_lists(state, factors, norms, one, slice(0, len(norms)))
