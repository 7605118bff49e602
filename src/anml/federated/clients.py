"""Clients who train at home, in one process: all of them are one batched program."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from anml.core.checks import Array, Bools, Floats, Ints
from anml.gradients.mlp import Data, Networks, Widths, losses, predict, train


@dataclass(frozen=True)
class LocalTraining:
    """How a client trains between two rounds."""

    epochs: int = 5
    batch: int = 32
    lr: float = 5e-3


@dataclass(frozen=True)
class Clients:
    """Rows of all clients, and who holds which; `who` are codes from 0."""

    x: Tensor
    y: Tensor
    rows: Tensor
    weight: Tensor
    shape: Widths

    @classmethod
    def of(cls, x: Floats, y: Array, who: Ints, shape: Widths) -> "Clients":
        """Deal rows out to their clients; shorter lists of rows are filled up with weight 0."""
        count = int(who.max()) + 1
        held = [np.flatnonzero(who == client) for client in range(count)]
        longest = max(len(rows) for rows in held)
        rows, weight = np.zeros((count, longest), dtype=np.int64), np.zeros((count, longest))
        for client, mine in enumerate(held):
            rows[client, : len(mine)] = mine
            weight[client, : len(mine)] = 1.0
        return cls(
            torch.as_tensor(x, dtype=torch.float32), torch.as_tensor(y, dtype=torch.long),
            torch.as_tensor(rows), torch.as_tensor(weight, dtype=torch.float32), shape,
        )  # fmt: skip

    @property
    def count(self) -> int:
        """How many clients there are."""
        return int(self.rows.shape[0])

    def counts(self) -> Floats:
        """Rows of each client."""
        return np.asarray(self.weight.sum(dim=1).double().numpy())

    def updates(
        self, start: Tensor, seeds: Sequence[int], how: LocalTraining | None = None, part: Bools | None = None
    ) -> Array:
        """What training changes, (clients, parameters), from one model or each its own row; else zeros."""
        how = how or LocalTraining()
        chosen = np.arange(self.count) if part is None else np.flatnonzero(part)
        result = np.zeros((self.count, self.shape.parameters), dtype=np.float32)
        if not len(chosen):
            return result
        begin = start.expand(self.count, -1)[torch.as_tensor(chosen)].clone()
        networks = Networks(self.shape, begin.clone())
        data = Data(
            self.x.unsqueeze(0), self.y.unsqueeze(0), torch.zeros(len(chosen), dtype=torch.long),
            self.rows[chosen], self.weight[chosen],
        )  # fmt: skip
        train(
            networks, data, "classification", [seeds[int(c)] for c in chosen], epochs=how.epochs,
            batch=how.batch, lr=how.lr,
        )  # fmt: skip
        result[chosen] = (networks.flat - begin).numpy()
        return result


def predicted(shape: Widths, model: Tensor, x: Floats) -> Ints:
    """Classes that a model predicts."""
    outputs = predict(Networks(shape, model.reshape(1, -1)), torch.as_tensor(x, dtype=torch.float32))
    return np.asarray(outputs[0].argmax(dim=1).numpy())


def mean_loss(shape: Widths, models: Tensor, x: Floats, y: Array) -> Floats:
    """Mean loss of each of some models (B, parameters)."""
    outputs = predict(Networks(shape, models), torch.as_tensor(x, dtype=torch.float32))
    each = losses(outputs, torch.as_tensor(y, dtype=torch.long), "classification")
    return np.asarray(each.mean(dim=1).double().numpy())
