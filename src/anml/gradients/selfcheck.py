"""Whether gradients read from layers are torch's: checked for each parameter on a sample that reaches it.

A mix of a few samples' gradients is compared with torch's of the same mix, from a pass over these alone.
"""

from collections import Counter
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from anml.gradients.factors import FormedWhenNeeded
from anml.gradients.record import Covered
from anml.gradients.sketch import FORMED

# How far a gradient may be off that of torch, in its own length, by the precision it is computed in.
SAME = {torch.float64: 1e-3, torch.float32: 1e-3, torch.bfloat16: 0.1, torch.float16: 0.05}
# Samples that are looked at together, and the share of the whole gradient below which a part is rounding.
MOST, ROUNDING = 8, 0.01


def same_within(module: nn.Module, precision: torch.dtype | None) -> float:
    """How far a gradient of a module may be off that of torch."""
    kinds = {p.dtype for p in module.parameters()} | ({precision} if precision else set())
    return max(SAME.get(kind, SAME[torch.float32]) for kind in kinds)


def flat(gradient: Tensor) -> Tensor:
    """A gradient as one row of numbers; those of look-up tables may be sparse."""
    return (gradient.to_dense() if gradient.is_sparse else gradient).flatten().float()


class SelfCheck:
    """Which parameters have been checked so far; `part` where only some layers are read."""

    def __init__(self, module: nn.Module, precision: torch.dtype | None, part: bool) -> None:
        self.parameters = [p for p in module.parameters() if p.requires_grad]
        self.part = part
        self.same_within = same_within(module, precision)
        self.left = {id(p) for p in self.parameters}

    def rows(self, covered: Sequence[Covered]) -> list[int]:
        """Samples of a batch by which parameters can be checked that have not been, as many as fit."""
        if not self.left:
            return []
        reached: Counter[int] = Counter()
        for parameters, part in covered:
            if any(id(p) in self.left for p in parameters):
                # Of gradients that are not formed yet, the deltas say enough.
                told = part.deltas.flatten(1) if isinstance(part, FormedWhenNeeded) else None
                length = part.norms() if told is None else told.square().sum(1)
                if float(length.max()) > 0:
                    reached[int(length.argmax())] += 1
        size = sum(p.numel() for p in self.parameters)
        room = min(MOST, max(1, FORMED // (4 * size)))
        return sorted(row for row, _ in reached.most_common(room))

    def same(self, covered: Sequence[Covered], rows: list[int], losses: Tensor) -> bool:
        """Whether the gradients of these samples are those of their losses, one each, as torch has them."""
        mix = torch.linspace(1.0, 2.0, len(rows), device=losses.device)
        ours: dict[int, Tensor] = {}
        for parameters, part in covered:
            few = Covered(parameters, part.take(torch.as_tensor(rows, device=mix.device)))
            ours |= {id(p): mix @ piece for p, piece in few.pieces()}
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
