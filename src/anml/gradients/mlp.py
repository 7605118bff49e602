"""The small networks of `anml.networks.mlp` on torch: for a GPU, and for the layers of torch modules."""

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from anml.core.types import Task
from anml.networks import mlp
from anml.networks.mlp import LayerWidths, NetworkBatch


def initialise(shape: LayerWidths, seeds: Sequence[int], device: str | torch.device = "cpu") -> NetworkBatch:
    """Start networks with the weights and biases that they have on numpy."""
    flat: Any = torch.from_numpy(mlp.initialise(shape, seeds).flat).to(device)
    return NetworkBatch(shape, flat)


def as_data(x: Any, y: Any, task: Task = "classification", device: Any = "cpu") -> tuple[Any, Any]:
    """Return features, and class codes or numbers, in the types that networks are trained on."""
    kind = torch.long if task == "classification" else torch.float32
    inputs = torch.as_tensor(x, dtype=torch.float32, device=device)
    return inputs, torch.as_tensor(y, dtype=kind, device=device)


@mlp.affine.register(Tensor)
def _(x: Tensor, weight: Tensor, bias: Tensor, *, relu: bool) -> Tensor:
    outputs = torch.baddbmm(bias, x.expand(len(weight), -1, -1), weight)
    return outputs.relu_() if relu else outputs


@mlp.subtract_targets.register(Tensor)
def _(probabilities: Tensor, target: Tensor) -> Tensor:
    codes = target.expand(probabilities.shape[:-1]).unsqueeze(-1)
    return probabilities.scatter_add_(-1, codes, torch.full_like(probabilities[..., :1], -1.0))


@mlp.of_target.register(Tensor)
def _(values: Tensor, target: Tensor) -> Tensor:
    return values.gather(-1, target.expand(values.shape[:-1]).unsqueeze(-1)).squeeze(-1)


@mlp.write_gradient.register(Tensor)
def _(weights: Tensor, biases: Tensor, active: Tensor, delta: Tensor) -> None:
    weights.copy_(active.mT @ delta)
    torch.sum(delta, dim=1, keepdim=True, out=biases)


mlp.joined.register(Tensor, lambda first, blocks: torch.cat(blocks, dim=1))
mlp.softmax.register(Tensor, lambda outputs: torch.softmax(outputs, dim=-1))
mlp.log_softmax.register(Tensor, lambda outputs: torch.log_softmax(outputs, dim=-1))
# Zero where the unit was off, in one pass.
mlp.where_active.register(Tensor, lambda back, active: torch.ops.aten.threshold_backward(back, active, 0))
mlp.like.register(Tensor, lambda array, values: torch.as_tensor(values, device=array.device))
mlp.to_numpy.register(Tensor, lambda array: array.detach().double().cpu().numpy())
mlp.take_columns.register(Tensor, lambda values, columns: values.gather(1, columns))
mlp.take_rows.register(Tensor, lambda values, rows: values.index_select(0, rows))


@mlp.adam_for.register(Tensor)
class _Adam:
    """Adam on one flat tensor; the first use of `torch.optim` loads the compiler, for seconds."""

    def __init__(self, flat: Tensor, gradient: Tensor, lr: float) -> None:
        self.flat, self.gradient, self.lr, self.steps = flat, gradient, lr, 0
        self.mean, self.square = torch.zeros_like(flat), torch.zeros_like(flat)
        self.scratch = torch.empty_like(flat)

    def step(self, beta1: float = 0.9, beta2: float = 0.999, eps: float = 1e-8) -> None:
        self.steps += 1
        self.mean.lerp_(self.gradient, 1 - beta1)
        self.square.mul_(beta2).addcmul_(self.gradient, self.gradient, value=1 - beta2)
        correction = math.sqrt(1 - beta2**self.steps)
        torch.sqrt(self.square, out=self.scratch).add_(eps * correction)
        rate = self.lr * correction / (1 - beta1**self.steps)
        self.flat.addcdiv_(self.mean, self.scratch, value=-rate)
