"""Gradients of layers that see a sample at several places: sequences, look-ups, convolutions.

The gradient is then a sum over the places. Inner products of two samples come from all pairs of places
without forming it ("ghost" products), or from the gradients themselves: whichever costs less.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from anml.gradients.factors import LayerFactor, Part, formed_part

# Numbers in one block of pairs of places.
BLOCK = 2**22


@dataclass(frozen=True)
class SequenceFactor(Part):
    """Inputs (n, T, in) and output deltas (n, T, out) of a linear layer on sequences."""

    a: Tensor
    d: Tensor
    bias: bool = True

    def norms(self) -> Tensor:
        """From all pairs of places."""
        alike = torch.bmm(self.a, self.a.mT) + float(self.bias)
        return (alike * torch.bmm(self.d, self.d.mT)).sum((1, 2))

    def products(self, others: "SequenceFactor") -> Tensor:
        """A block of pairs of places at a time."""
        theirs = others.a.flatten(0, 1).T, others.d.flatten(0, 1).T

        def block(rows: slice) -> Tensor:
            alike = self.a[rows].flatten(0, 1) @ theirs[0] + float(self.bias)
            return alike.mul_(self.d[rows].flatten(0, 1) @ theirs[1])

        return _over_places(block, self.d, others.d)

    def formed(self) -> Tensor:
        """Gradients of the weight (out x in) and then of the bias."""
        weight = torch.bmm(self.d.mT, self.a).flatten(1)
        return torch.cat([weight, self.d.sum(1)], dim=1) if self.bias else weight

    def cheaper(self) -> "SequenceFactor | LayerFactor":
        """Itself where products of pairs of places cost less than of formed gradients, else those."""
        length, wide, out = self.a.shape[1], self.a.shape[2], self.d.shape[2]
        return self if length * length * (wide + out) <= wide * out else formed_part(self.formed())


@dataclass(frozen=True)
class LookupFactor(Part):
    """Rows looked up (n, T) in a table of `size` rows, and output deltas (n, T, out)."""

    rows: Tensor
    d: Tensor
    size: int

    def norms(self) -> Tensor:
        """From places that looked up the same row."""
        same = self.rows.unsqueeze(2) == self.rows.unsqueeze(1)
        return (same * torch.bmm(self.d, self.d.mT)).sum((1, 2))

    def products(self, others: "LookupFactor") -> Tensor:
        """From places that looked up the same row."""
        rows, d = others.rows.flatten(), others.d.flatten(0, 1).T

        def block(some: slice) -> Tensor:
            same = self.rows[some].flatten().unsqueeze(1) == rows
            return (self.d[some].flatten(0, 1) @ d).mul_(same)

        return _over_places(block, self.d, others.d)

    def formed(self) -> Tensor:
        """Gradients of the table, mostly zeros."""
        n, _, out = self.d.shape
        full = self.d.new_zeros(n, self.size, out)
        return full.scatter_add_(1, self.rows.unsqueeze(2).expand_as(self.d), self.d).flatten(1)


@dataclass(frozen=True)
class FormedWhenNeeded(Part):
    """Gradients that are formed from what a layer saw, its input and its deltas, some samples at a time."""

    seen: Tensor
    deltas: Tensor
    form: Callable[[Tensor, Tensor], Tensor]

    def formed(self) -> Tensor:
        """By the layer's own rule."""
        return self.form(self.seen, self.deltas)


def _over_places(block: Callable[[slice], Tensor], mine: Tensor, theirs: Tensor) -> Tensor:
    """Sum blocks of pairs of places over the places of both samples."""
    (n, t), (m, u) = mine.shape[:2], theirs.shape[:2]
    total = mine.new_empty(n, m)
    step = max(1, BLOCK // max(t * m * u, 1))
    for start in range(0, n, step):
        pairs = block(slice(start, start + step))
        total[start : start + step] = pairs.view(-1, t, m, u).sum((1, 3))
    return total
