"""Per-sample gradients of a small network as layer factors: layer inputs and output deltas.

A sample's gradient of a linear layer is the outer product of both, so that inner products of gradients are
sums over layers of (a_i . a_j + 1)(d_i . d_j), where the 1 is the bias. `anml.gradients.factors` has these
factors for layers of any torch module.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from anml.core.checks import Array
from anml.core.types import Task
from anml.networks.mlp import NetworkBatch, deltas, forward, losses, output_delta


@dataclass(frozen=True)
class DenseFactor:
    """Inputs `a` (n, in) and output deltas `d` (n, out) of one linear layer with a bias."""

    a: Array
    d: Array

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
class NetworkFactors:
    """Factors of all layers, and the loss of each sample."""

    layers: Sequence[DenseFactor]
    loss: Array

    def __len__(self) -> int:
        return len(self.loss)

    def take(self, rows: Any) -> "NetworkFactors":
        """Return the factors of some of the samples."""
        return NetworkFactors(
            [DenseFactor(layer.a[rows], layer.d[rows]) for layer in self.layers], self.loss[rows]
        )

    def norms(self) -> Array:
        """Return the squared length of each sample's gradient."""
        return np.asarray(sum(layer.norms() for layer in self.layers))

    def products(self, others: "NetworkFactors") -> Array:
        """Return the inner products of these samples' gradients with those of others, (n, m)."""
        pairs = zip(self.layers, others.layers, strict=True)
        mine, theirs = next(pairs)
        total = mine.products(theirs)
        for mine, theirs in pairs:
            total += mine.products(theirs)
        return total

    def distances(self, others: "NetworkFactors", norms: Array, other_norms: Array) -> Array:
        """Return the squared distances between these samples' gradients and those of others, by all norms."""
        distances = self.products(others)
        distances *= -2
        distances += norms[:, None]
        distances += other_norms
        return distances


def network_factors(networks: NetworkBatch, x: Array, y: Array, task: Task) -> NetworkFactors:
    """Return the factors of a network; `networks` holds exactly one."""
    activations = forward(networks, x)
    last = output_delta(activations[-1], y[None], task)
    pairs = zip(activations[:-1], deltas(networks, activations, last), strict=True)
    layers = [DenseFactor(a[0], d[0]) for a, d in pairs]
    return NetworkFactors(layers, losses(activations[-1], y[None], task)[0])
