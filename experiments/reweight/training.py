"""Common parts of reweighting methods: a small network, a plain Adam step, and sample weights."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from anml.core.checks import Floats, Ints
from anml.core.errors import InputError
from anml.gradients.mlp import initialise
from anml.networks.mlp import LayerWidths, NetworkBatch, deltas, forward, layer_views, losses, predict


@dataclass(frozen=True)
class Schedule:
    """Training settings of a network."""

    hidden: tuple[int, ...] = (64, 32)
    epochs: int = 60
    batch: int = 100
    lr: float = 1e-3
    seed: int = 0


class Reweighted(NamedTuple):
    """A network (or several, whose outputs are averaged), and how far each sample counted, in [0, 1]."""

    networks: NetworkBatch
    weights: Floats

    def predict(self, x: Any) -> Ints:
        """Classes of some rows."""
        outputs = predict(self.networks, torch.as_tensor(np.asarray(x), dtype=torch.float32))
        return np.asarray(torch.softmax(outputs, dim=-1).mean(dim=0).argmax(dim=1).numpy())


class TensorData(NamedTuple):
    """Checked features and labels, as tensors."""

    x: Tensor
    y: Tensor


def check_training_data(what: str, x: Any, y: Any, classes: int) -> TensorData:
    """Features (n, d) and class codes (n,), or what is wrong with them."""
    features, labels = np.asarray(x, dtype=np.float32), np.asarray(y)
    if features.ndim != 2 or labels.shape != features.shape[:1] or not len(labels):
        raise InputError(
            f"{what} must be rows of features with one class each, got {features.shape} and {labels.shape}"
        )
    if not np.isfinite(features).all():
        raise InputError(f"{what} has features that are missing or infinite")
    if labels.dtype.kind not in "iu" or labels.min() < 0 or labels.max() >= classes:
        raise InputError(f"{what} must have class codes from 0 to {classes - 1}")
    return TensorData(torch.as_tensor(features), torch.as_tensor(labels.astype(np.int64)))


def setup_training(
    x: Any, y: Any, classes: int, plan: Schedule | None, count: int = 1
) -> tuple[Schedule, TensorData, NetworkBatch, "Adam", torch.Generator]:
    """Check the training data, and make different networks for it, their steps and their randomness."""
    how, rows = plan or Schedule(), check_training_data("training data", x, y, classes)
    shape = LayerWidths(int(rows.x.shape[1]), how.hidden, classes)
    networks = initialise(shape, [how.seed + 7919 * place for place in range(count)])
    return how, rows, networks, Adam(networks, how.lr), torch.Generator().manual_seed(how.seed)


class Adam:
    """One step after another for one flat tensor of parameters."""

    def __init__(self, networks: NetworkBatch, lr: float) -> None:
        self.networks, self.optimiser = networks, torch.optim.Adam([networks.flat], lr=lr)

    def step(self, x: Tensor, target: Tensor, weight: Tensor) -> None:
        """Descend the weighted cross-entropy of soft targets (B, n, classes)."""
        self.networks.flat.grad = gradient_of(self.networks, x, target, weight)
        self.optimiser.step()


def gradient_of(networks: NetworkBatch, x: Tensor, target: Tensor, weight: Tensor) -> Tensor:
    """Gradient of the weighted sum of cross-entropies, (B, parameters)."""
    active, back = factors_of(networks, x, target, weight)
    gradient = torch.zeros_like(networks.flat)
    for (grad_w, grad_b), inputs, delta in zip(
        layer_views(networks.shape, gradient), active, back, strict=True
    ):
        grad_w.copy_(inputs.mT @ delta)
        grad_b.copy_(delta.sum(dim=1, keepdim=True))
    return gradient


def factors_of(
    networks: NetworkBatch, x: Tensor, target: Tensor, weight: Tensor
) -> tuple[list[Tensor], list[Tensor]]:
    """Inputs of every layer, and the gradient at its outputs, for soft targets."""
    activations = forward(networks, x)
    last = (torch.softmax(activations[-1], dim=-1) - target) * weight.unsqueeze(-1)
    return activations[:-1], deltas(networks, activations, last)


def one_hot(y: Tensor, classes: int) -> Tensor:
    """Soft targets from class codes."""
    return torch.nn.functional.one_hot(y, classes).float()


def batches(n: int, plan: Schedule, generator: torch.Generator) -> list[Tensor]:
    """Rows in a new order, some at a time."""
    return list(torch.split(torch.randperm(n, generator=generator), plan.batch))


def loss_of(networks: NetworkBatch, rows: TensorData) -> Floats:
    """Loss of each row for each network."""
    return np.asarray(losses(predict(networks, rows.x), rows.y, "classification").double().numpy())
