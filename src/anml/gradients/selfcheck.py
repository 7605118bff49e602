"""Self-check of layer gradients against torch, for each parameter on a sample with a non-zero gradient.

A weighted sum of a few samples' gradients is compared with torch's gradient of the same weighted loss.
"""

from collections import Counter
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from anml.gradients.factors import LazyGradient
from anml.gradients.record import Covered
from anml.gradients.sketch import FORMED

# How far a gradient may be off that of torch, in its own length, by the precision it is computed in.
SAME = {torch.float64: 1e-3, torch.float32: 1e-3, torch.bfloat16: 0.1, torch.float16: 0.05}
# Samples that are looked at together, and the share of the whole gradient below which a part is rounding.
MAX_CHECKED_SAMPLES, ROUNDING = 8, 0.01


def same_within(module: nn.Module, precision: torch.dtype | None) -> float:
    """Relative tolerance between a gradient and that of torch."""
    kinds = {p.dtype for p in module.parameters()} | ({precision} if precision else set())
    return max(SAME.get(kind, SAME[torch.float32]) for kind in kinds)


def flat(gradient: Tensor) -> Tensor:
    """A gradient as one row of numbers; those of look-up tables may be sparse."""
    return (gradient.to_dense() if gradient.is_sparse else gradient).flatten().float()


class SelfCheck:
    """Record of the parameters that were checked; `part` is True if only some layers are read."""

    def __init__(self, module: nn.Module, precision: torch.dtype | None, part: bool) -> None:
        self.parameters = [p for p in module.parameters() if p.requires_grad]
        self.part = part
        self.same_within = same_within(module, precision)
        self.left = {id(p) for p in self.parameters}

    def rows(self, covered: Sequence[Covered]) -> list[int]:
        """Select samples of a batch that reach unchecked parameters, as many as fit into memory."""
        if not self.left:
            return []
        reached: Counter[int] = Counter()
        for parameters, part in covered:
            if any(id(p) in self.left for p in parameters):
                # The deltas suffice for gradients that are not formed yet.
                lazy_deltas = part.deltas.flatten(1) if isinstance(part, LazyGradient) else None
                length = part.norms() if lazy_deltas is None else lazy_deltas.square().sum(1)
                if float(length.max()) > 0:
                    reached[int(length.argmax())] += 1
        size = sum(p.numel() for p in self.parameters)
        room = min(MAX_CHECKED_SAMPLES, max(1, FORMED // (4 * size)))
        return sorted(row for row, _ in reached.most_common(room))

    def same(self, covered: Sequence[Covered], rows: list[int], losses: Tensor) -> bool:
        """True if the gradients of these samples equal those that torch computes from their losses."""
        mix = torch.linspace(1.0, 2.0, len(rows), device=losses.device)
        ours: dict[int, Tensor] = {}
        for parameters, part in covered:
            checked = Covered(parameters, part.take(torch.as_tensor(rows, device=mix.device)))
            ours |= {id(p): mix @ piece for p, piece in checked.pieces()}
        wanted = [p for p in self.parameters if not self.part or id(p) in ours]
        right = torch.autograd.grad(mix @ losses.float(), wanted, allow_unused=True)
        theirs = [None if g is None else flat(g) for g in right]
        whole = sum(float(g.square().sum()) for g in theirs if g is not None) ** 0.5
        for p, g in zip(wanted, theirs, strict=True):
            mine = ours.get(id(p))
            if g is None and mine is None:
                continue
            length = 0.0 if g is None else float(g.norm())
            off = float(((0.0 if g is None else g) - (0.0 if mine is None else mine)).norm())
            if off > self.same_within * (length + ROUNDING * whole) + 1e-7:
                return False
            if length > 0:
                self.left.discard(id(p))
        if self.part:
            self.left &= {id(p) for p in wanted}
        return True
