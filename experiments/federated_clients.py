"""Clients who train at home, in one process: all of them are one batched program."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from anml.core.checks import Array, Floats, Ints
from anml.gradients.mlp import as_data
from anml.networks.mlp import LayerWidths, NetworkBatch, TrainingData, losses, predict, train


@dataclass(frozen=True)
class LocalTraining:
    """Local training settings of a client."""

    epochs: int = 5
    batch: int = 32
    lr: float = 5e-3


@dataclass(frozen=True)
class Clients:
    """Rows of all clients, each a share of one data set, and the network that they train."""

    data: TrainingData
    shape: LayerWidths

    @classmethod
    def of(cls, x: Floats, y: Array, contributor: Ints, shape: LayerWidths) -> "Clients":
        """Deal rows out to their clients; `who` are codes from 0."""
        holds = torch.as_tensor(
            contributor == np.arange(int(contributor.max()) + 1)[:, None], dtype=torch.float32
        )
        return cls(TrainingData.shared(*as_data(x, y), holds), shape)

    @property
    def count(self) -> int:
        """Number of clients."""
        return len(self.data.rows)

    def counts(self) -> Floats:
        """Rows of each client."""
        return np.asarray(self.data.weight.sum(dim=1).double().numpy())

    def updates(self, start: Tensor, seeds: Sequence[int], how: LocalTraining | None = None) -> Array:
        """Train and return the updates (clients, parameters), from one model or one model per client."""
        how, begin = how or LocalTraining(), start.expand(self.count, -1)
        networks = NetworkBatch(self.shape, begin.clone())
        train(networks, self.data, "classification", seeds, epochs=how.epochs, batch=how.batch, lr=how.lr)
        return np.asarray((networks.flat - begin).numpy())


def predicted(shape: LayerWidths, model: Tensor, x: Floats) -> Ints:
    """Classes that a model predicts."""
    outputs = predict(NetworkBatch(shape, model.reshape(1, -1)), torch.as_tensor(x, dtype=torch.float32))
    return np.asarray(outputs[0].argmax(dim=1).numpy())


def mean_loss(shape: LayerWidths, models: Tensor, x: Floats, y: Array) -> Floats:
    """Mean loss of each of some models (B, parameters)."""
    outputs = predict(NetworkBatch(shape, models), torch.as_tensor(x, dtype=torch.float32))
    each = losses(outputs, torch.as_tensor(y, dtype=torch.long), "classification")
    return np.asarray(each.mean(dim=1).double().numpy())
