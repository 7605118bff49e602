"""Per-sample gradients of a small network as layer factors: layer inputs and output deltas.

A sample's gradient of a linear layer is the outer product of both, so that inner products of gradients are
sums over layers of (a_i . a_j + 1)(d_i . d_j), where the 1 is the bias. `anml.gradients.factors` has the
factors of the layers of any torch module.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np

from anml.core.types import Task
from anml.networks.mlp import Array, NetworkBatch, deltas, forward, losses, output_delta


@dataclass(frozen=True)
class DenseFactor:
    """Inputs `a` (n, in) and output deltas `d` (n, out) of one linear layer with a bias."""

    a: Array
    d: Array

    def take(self, rows: Any) -> "DenseFactor":
        """Return the factor of some of the samples."""
        return DenseFactor(self.a[rows], self.d[rows])

    def norms(self) -> Array:
        """Return the squared length of each sample's gradient."""
        return np.asarray((np.einsum("ni,ni->n", self.a, self.a) + 1) * np.einsum("ni,ni->n", self.d, self.d))

    def products(self, others: "DenseFactor") -> Array:
        """Return the inner products with the gradients of others, (n, m)."""
        products = self.a @ others.a.T
        products += 1
        products *= self.d @ others.d.T
        return products


@dataclass(frozen=True)
class Factors:
    """Factors of all layers of one library, and the loss of each sample."""

    layers: Sequence[Any]
    loss: Any

    def __len__(self) -> int:
        return len(self.loss)

    def take(self, rows: Any) -> "Factors":
        """Return the factors of some of the samples."""
        return Factors([layer.take(rows) for layer in self.layers], self.loss[rows])

    def norms(self) -> Any:
        """Return the squared length of each sample's gradient."""
        return sum((layer.norms() for layer in self.layers[1:]), self.layers[0].norms())

    def products(self, others: "Factors") -> Any:
        """Return the inner products of these samples' gradients with those of others, (n, m)."""
        pairs = zip(self.layers, others.layers, strict=True)
        mine, theirs = next(pairs)
        total = mine.products(theirs)
        for mine, theirs in pairs:
            total += mine.products(theirs)
        return total

    def distances(self, others: "Factors", norms: Any, other_norms: Any) -> Any:
        """Return the squared distances between these samples' gradients and those of others, by all norms."""
        distances = self.products(others)
        distances *= -2
        distances += norms[:, None]
        distances += other_norms
        return distances


@singledispatch
def dense_factor(a: Any, d: Any) -> Any:
    """Return the factor of a linear layer with a bias, in the library of its arrays."""
    return DenseFactor(a, d)


def network_factors(networks: NetworkBatch, x: Array, y: Array, task: Task) -> Factors:
    """Return the factors of a network; `networks` holds exactly one."""
    activations = forward(networks, x)
    last = output_delta(activations[-1], y[None], task)
    pairs = zip(activations[:-1], deltas(networks, activations, last), strict=True)
    layers = [dense_factor(a[0], d[0]) for a, d in pairs]
    return Factors(layers, losses(activations[-1], y[None], task)[0])
