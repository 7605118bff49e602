"""Per-sample gradients as layer factors: inputs a and the loss's gradients d at outputs, outer products.

Inner products of gradients are sums over layers of (a_i . a_j + 1)(d_i . d_j); the 1 is the bias. Where a
layer sees a sample at several places (sequences, look-ups, convolutions) the gradient is a sum over the
places: products come from all pairs of places without forming it ("ghost" products), or from the gradients
themselves, whichever costs less.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import torch
from torch import Tensor
from torch.nn import functional

import anml.gradients.mlp  # noqa: F401  # registers the operations of torch
from anml.networks.factors import Factors, dense_factor

# Numbers in one block of pairs of places.
BLOCK = 2**22


@dataclass(frozen=True)
class GradientFactor:
    """Gradients of some parameters of a module, a sample each, formed or not; tensors have a row a sample."""

    def take(self, rows: Tensor | slice) -> Self:
        """The part of some of the samples."""
        return replace(self, **{name: each[rows] for name, each in self._tensors().items()})

    def norms(self) -> Tensor:
        """Squared length of each sample's gradient."""
        return self.formed().square().sum(1)

    def products(self, others: Any) -> Tensor:
        """Inner products with the gradients of others."""
        return torch.mm(self.formed(), others.formed().T)

    def formed(self) -> Tensor:
        """The gradients themselves, (n, parameters)."""
        raise NotImplementedError

    def joined(self, others: Sequence[Any]) -> Self:
        """These samples and others, in this order; shorter sequences are filled up with nothing."""
        parts = [part._tensors() for part in (self, *others)]
        return replace(self, **{name: _stacked([part[name] for part in parts]) for name in parts[0]})

    def bytes_per_sample(self) -> int:
        """Memory of one sample in bytes."""
        return sum(each[0].numel() * each.element_size() for each in self._tensors().values())

    def _tensors(self) -> dict[str, Tensor]:
        return {name: each for name, each in vars(self).items() if isinstance(each, Tensor)}


def _stacked(parts: list[Tensor]) -> Tensor:
    """One tensor of all samples; the places that shorter ones lack are zero."""
    longest = max(part.shape[1] for part in parts)
    if any(part.shape[1] < longest for part in parts):
        parts = [functional.pad(p, (0, 0) * (p.dim() - 2) + (0, longest - p.shape[1])) for p in parts]
    return torch.cat(parts)


@dataclass(frozen=True)
class LayerFactor(GradientFactor):
    """Inputs (n, in) and output deltas (n, out) of one linear layer."""

    a: Tensor
    d: Tensor
    bias: bool = True

    def norms(self) -> Tensor:
        """Without forming gradients."""
        return (self.a.square().sum(1) + float(self.bias)) * self.d.square().sum(1)

    def products(self, others: "LayerFactor") -> Tensor:
        """Without forming gradients."""
        return (self.a @ others.a.T).add_(float(self.bias)).mul_(self.d @ others.d.T)

    def formed(self) -> Tensor:
        """Gradients of the weight (out x in) and then of the bias."""
        if self.d.shape[1] == 1 and not self.bias:
            return self.a * self.d
        weight = (self.d.unsqueeze(2) * self.a.unsqueeze(1)).flatten(1)
        return torch.cat([weight, self.d], dim=1) if self.bias else weight


dense_factor.register(Tensor, LayerFactor)


@dataclass(frozen=True)
class SequenceFactor(GradientFactor):
    """Inputs (n, T, in) and output deltas (n, T, out) of a linear layer on sequences."""

    a: Tensor
    d: Tensor
    bias: bool = True

    def norms(self) -> Tensor:
        """From all pairs of places."""
        input_products = torch.bmm(self.a, self.a.mT) + float(self.bias)
        return (input_products * torch.bmm(self.d, self.d.mT)).sum((1, 2))

    def products(self, others: "SequenceFactor") -> Tensor:
        """A block of pairs of places at a time."""
        theirs = others.a.flatten(0, 1).T, others.d.flatten(0, 1).T

        def block(rows: slice) -> Tensor:
            input_products = self.a[rows].flatten(0, 1) @ theirs[0] + float(self.bias)
            return input_products.mul_(self.d[rows].flatten(0, 1) @ theirs[1])

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
class LookupFactor(GradientFactor):
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

        def block(rows_: slice) -> Tensor:
            same = self.rows[rows_].flatten().unsqueeze(1) == rows
            return (self.d[rows_].flatten(0, 1) @ d).mul_(same)

        return _over_places(block, self.d, others.d)

    def formed(self) -> Tensor:
        """Gradients of the table, mostly zeros."""
        n, _, out = self.d.shape
        full = self.d.new_zeros(n, self.size, out)
        return full.scatter_add_(1, self.rows.unsqueeze(2).expand_as(self.d), self.d).flatten(1)


@dataclass(frozen=True)
class LazyGradient(GradientFactor):
    """Gradients that are formed from what a layer saw, its input and its deltas, some samples at a time.

    `unfold`, where given, returns the inputs (n, T, in) and deltas (n, T, out) of a linear layer on sequences
    with the same gradients.
    """

    inputs: Tensor
    deltas: Tensor
    form: Callable[[Tensor, Tensor], Tensor]
    unfold: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]] | None = None

    def formed(self) -> Tensor:
        """By the layer's own rule."""
        return self.form(self.inputs, self.deltas)


def _over_places(block: Callable[[slice], Tensor], mine: Tensor, theirs: Tensor) -> Tensor:
    """Sum blocks of pairs of places over the places of both samples."""
    (n, t), (m, u) = mine.shape[:2], theirs.shape[:2]
    total = mine.new_empty(n, m)
    step = max(1, BLOCK // max(t * m * u, 1))
    for start in range(0, n, step):
        pairs = block(slice(start, start + step))
        total[start : start + step] = pairs.view(-1, t, m, u).sum((1, 3))
    return total


def formed_part(gradients: Tensor) -> LayerFactor:
    """Gradients that were formed after all, (n, parameters), as one layer with delta one."""
    return LayerFactor(gradients, torch.ones_like(gradients[:, :1]), bias=False)


def materialised_factors(gradients: Tensor, loss: Tensor) -> Factors:
    """Gradients that were formed after all, (n, parameters), as factors."""
    return Factors([formed_part(gradients)], loss)
