"""Gradients of layers that see a sample at several places: sequences, look-ups, convolutions.

The gradient is then a sum over the places. Inner products of two samples come from all pairs of places
without forming it ("ghost" products), or from the gradients themselves: whichever costs less.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from anml.gradients.factors import LayerFactor, formed_part

# Numbers in one block of pairs of places.
BLOCK = 2**22


@dataclass(frozen=True)
class SequenceFactor:
    """Inputs (n, T, in) and output deltas (n, T, out) of a linear layer on sequences."""

    a: Tensor
    d: Tensor
    bias: bool = True

    def take(self, rows: Tensor | slice) -> "SequenceFactor":
        """The factors of some of the samples."""
        return SequenceFactor(self.a[rows], self.d[rows], self.bias)

    def norms(self) -> Tensor:
        """Squared length of each sample's gradient."""
        alike = torch.bmm(self.a, self.a.mT) + float(self.bias)
        return (alike * torch.bmm(self.d, self.d.mT)).sum((1, 2))

    def products(self, others: "SequenceFactor") -> Tensor:
        """Inner products with the gradients of others, a block of pairs of places at a time."""
        theirs = others.a.flatten(0, 1).T, others.d.flatten(0, 1).T

        def block(rows: slice) -> Tensor:
            alike = self.a[rows].flatten(0, 1) @ theirs[0] + float(self.bias)
            return alike.mul_(self.d[rows].flatten(0, 1) @ theirs[1])

        return _over_places(block, self.d, others.d)

    def formed(self) -> Tensor:
        """Gradients of the weight (out x in) and then of the bias."""
        weight = torch.bmm(self.d.mT, self.a).flatten(1)
        return torch.cat([weight, self.d.sum(1)], dim=1) if self.bias else weight

    def joined(self, others: Sequence["SequenceFactor"]) -> "SequenceFactor":
        """These samples and others, in this order; shorter sequences are filled up with nothing."""
        parts = [self, *others]
        return SequenceFactor(_stacked([p.a for p in parts]), _stacked([p.d for p in parts]), self.bias)

    def bytes_per_sample(self) -> int:
        """What one sample takes."""
        return self.a.shape[1] * (self.a.shape[2] + self.d.shape[2]) * self.a.element_size()

    def cheaper(self) -> "SequenceFactor | LayerFactor":
        """Itself where products of pairs of places cost less than of formed gradients, else those."""
        length, wide, out = self.a.shape[1], self.a.shape[2], self.d.shape[2]
        return self if length * length * (wide + out) <= wide * out else formed_part(self.formed())


@dataclass(frozen=True)
class LookupFactor:
    """Rows looked up (n, T) in a table of `size` rows, and output deltas (n, T, out)."""

    rows: Tensor
    d: Tensor
    size: int

    def take(self, rows: Tensor | slice) -> "LookupFactor":
        """The factors of some of the samples."""
        return LookupFactor(self.rows[rows], self.d[rows], self.size)

    def norms(self) -> Tensor:
        """Squared length of each sample's gradient."""
        same = self.rows.unsqueeze(2) == self.rows.unsqueeze(1)
        return (same * torch.bmm(self.d, self.d.mT)).sum((1, 2))

    def products(self, others: "LookupFactor") -> Tensor:
        """Inner products with the gradients of others: places that looked up the same row."""
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

    def joined(self, others: Sequence["LookupFactor"]) -> "LookupFactor":
        """These samples and others, in this order."""
        parts = [self, *others]
        return LookupFactor(_stacked([p.rows for p in parts]), _stacked([p.d for p in parts]), self.size)

    def bytes_per_sample(self) -> int:
        """What one sample takes."""
        return self.d.shape[1] * (self.d.shape[2] + 2) * self.d.element_size()


@dataclass(frozen=True)
class FormedWhenNeeded:
    """Gradients that are formed from what a layer saw, some samples at a time."""

    seen: tuple[Tensor, ...]
    form: Callable[..., Tensor]

    def take(self, rows: Tensor | slice) -> "FormedWhenNeeded":
        """The part of some of the samples."""
        return FormedWhenNeeded(tuple(each[rows] for each in self.seen), self.form)

    def formed(self) -> Tensor:
        """The gradients themselves."""
        return self.form(*self.seen)

    def norms(self) -> Tensor:
        """Squared length of each sample's gradient."""
        return self.formed().square().sum(1)

    def products(self, others: "FormedWhenNeeded") -> Tensor:
        """Inner products with the gradients of others."""
        return self.formed() @ others.formed().T

    def joined(self, others: Sequence["FormedWhenNeeded"]) -> "FormedWhenNeeded":
        """These samples and others, in this order."""
        seen = [torch.cat(each) for each in zip(*(part.seen for part in [self, *others]), strict=True)]
        return FormedWhenNeeded(tuple(seen), self.form)

    def bytes_per_sample(self) -> int:
        """What one sample takes."""
        return sum(each[0].numel() * each.element_size() for each in self.seen)


def _over_places(block: Callable[[slice], Tensor], mine: Tensor, theirs: Tensor) -> Tensor:
    """Sum blocks of pairs of places over the places of both samples."""
    (n, t), (m, u) = mine.shape[:2], theirs.shape[:2]
    total = mine.new_empty(n, m)
    step = max(1, BLOCK // max(t * m * u, 1))
    for start in range(0, n, step):
        pairs = block(slice(start, start + step))
        total[start : start + step] = pairs.view(-1, t, m, u).sum((1, 3))
    return total


def _stacked(parts: list[Tensor]) -> Tensor:
    """One tensor of all samples; the places that shorter ones lack are zero."""
    longest = max(part.shape[1] for part in parts)
    return torch.cat([_filled(part, longest) for part in parts])


def _filled(part: Tensor, length: int) -> Tensor:
    if part.shape[1] == length:
        return part
    more = part.new_zeros(part.shape[0], length - part.shape[1], *part.shape[2:])
    return torch.cat([part, more], dim=1)
