"""The small networks of `anml.networks.mlp` on torch: for a GPU, and for the layers of torch modules."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from anml.core.types import Task
from anml.networks import mlp
from anml.networks.mlp import LayerWidths

Views = list[tuple[Tensor, Tensor]]


@dataclass(frozen=True)
class Networks:
    """B networks of one shape; `flat` holds all parameters, the views below read and write it."""

    shape: LayerWidths
    flat: Tensor

    @property
    def count(self) -> int:
        """B."""
        return int(self.flat.shape[0])

    @cached_property
    def layers(self) -> Views:
        """Weights (B, in, out) and biases (B, 1, out) of each layer, cut once: that costs like a product."""
        return layer_views(self.shape, self.flat)

    def pick(self, which: Sequence[int]) -> "Networks":
        """Copy some of the networks."""
        return Networks(self.shape, self.flat[list(which)].clone())


def layer_views(shape: LayerWidths, flat: Tensor) -> Views:
    """Cut a flat (B, parameters) tensor into the layers' weights and biases."""
    views, start, count = [], 0, flat.shape[0]
    for fan_in, fan_out in shape.layers:
        stop = start + fan_in * fan_out
        weight = flat[:, start:stop].view(count, fan_in, fan_out)
        bias = flat[:, stop : stop + fan_out].reshape(count, 1, fan_out)
        views.append((weight, bias))
        start = stop + fan_out
    return views


def initialise(shape: LayerWidths, seeds: Sequence[int], device: str | torch.device = "cpu") -> Networks:
    """Start networks with the weights and biases that they have on numpy."""
    return Networks(shape, torch.from_numpy(mlp.initialise(shape, seeds).flat).to(device))


def forward(networks: Networks, x: Tensor) -> list[Tensor]:
    """Inputs of every layer and, last, the outputs; x is (B, n, inputs) or (n, inputs) for all."""
    if x.dim() == 2:
        x = x.expand(networks.count, *x.shape)
    activations = [x]
    for depth, (weight, bias) in enumerate(networks.layers):
        x = torch.baddbmm(bias, x, weight)
        if depth < len(networks.layers) - 1:
            x = x.relu_()
        activations.append(x)
    return activations


def predict(networks: Networks, x: Tensor, block: int = 65_536) -> Tensor:
    """Outputs (B, n, outputs), a block of rows at a time."""
    rows = x.shape[-2]
    parts = [forward(networks, x[..., start : start + block, :])[-1] for start in range(0, rows, block)]
    return torch.cat(parts, dim=1)


def output_delta(outputs: Tensor, target: Tensor, task: Task) -> Tensor:
    """Gradient of each sample's loss at its outputs: of cross-entropy (class codes), or squared error."""
    if task == "classification":
        delta = torch.softmax(outputs, dim=-1)
        return delta.scatter_add_(-1, target.unsqueeze(-1), torch.full_like(delta[..., :1], -1.0))
    return 2.0 * (outputs - target.unsqueeze(-1))


def losses(outputs: Tensor, target: Tensor, task: Task) -> Tensor:
    """Loss of each sample, (B, n)."""
    if task == "classification":
        log_p = torch.log_softmax(outputs, dim=-1)
        return -log_p.gather(-1, target.expand(log_p.shape[:-1]).unsqueeze(-1)).squeeze(-1)
    return (outputs.squeeze(-1) - target).square()


def deltas(networks: Networks, activations: list[Tensor], last: Tensor) -> list[Tensor]:
    """Back-propagate output deltas to every layer's output, first layer first."""
    result = [last]
    for (weight, _), active in zip(networks.layers[:0:-1], activations[-2:0:-1], strict=True):
        back = torch.bmm(result[0], weight.transpose(1, 2))
        # Zero where the unit was off, in one pass.
        result.insert(0, torch.ops.aten.threshold_backward(back, active, 0))
    return result


@dataclass(frozen=True)
class Data:
    """Training data of a batch of networks: G data sets, x (G, n, inputs) and y (G, n).

    Network b has the rows `rows[b]` of data set `source[b]` with weights `weight[b]`, padded with weight 0.
    """

    x: Tensor
    y: Tensor
    source: Tensor
    rows: Tensor
    weight: Tensor

    @classmethod
    def shared(cls, x: Tensor, y: Tensor, weight: Tensor) -> "Data":
        """One data set for all networks, each with the rows whose weight, of (B, n), is positive."""
        count, device = weight.shape[0], x.device
        positive = weight > 0
        longest = max(1, int(positive.sum(dim=1).max()))
        # Rows with positive weight first, in their own order; the rest is padding of weight 0.
        rows = torch.argsort((~positive).to(torch.int8), dim=1, stable=True)[:, :longest]
        source = torch.zeros(count, dtype=torch.long, device=device)
        return cls(x.unsqueeze(0), y.unsqueeze(0), source, rows, weight.gather(1, rows))

    def take(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Features and targets of (B, m) rows."""
        # Whole rows of one long table are copied faster than single values are looked up.
        flat = (self.source.unsqueeze(1) * self.x.shape[1] + rows).flatten()
        x = self.x.flatten(0, 1).index_select(0, flat).view(*rows.shape, -1)
        return x, self.y.flatten().index_select(0, flat).view(rows.shape)


def as_data(x: Any, y: Any, task: Task = "classification", device: Any = "cpu") -> tuple[Tensor, Tensor]:
    """Features, and class codes or numbers, as networks take them."""
    kind = torch.long if task == "classification" else torch.float32
    inputs = torch.as_tensor(x, dtype=torch.float32, device=device)
    return inputs, torch.as_tensor(y, dtype=kind, device=device)


def train(
    networks: Networks, data: Data, task: Task, seeds: Sequence[int], *, epochs: int, batch: int = 200,
    lr: float = 1e-3, on_epoch: Callable[[int], bool] | None = None,
) -> None:  # fmt: skip
    """Train all networks in place with Adam until `on_epoch(epoch)`, from 1 on, returns True."""
    flat = networks.flat
    gradient = torch.zeros_like(flat)
    gradient_views = layer_views(networks.shape, gradient)
    adam = _Adam(flat, gradient, lr)
    total = data.rows.shape[1]
    whole = total <= batch
    # Constant denominators make a batch's gradient an unbiased share of the weighted mean.
    weight = data.weight * (total / data.weight.sum(dim=1, keepdim=True).clamp_min(1e-12))
    if whole:
        x, y = data.take(data.rows)
    for epoch in range(1, epochs + 1):
        if whole:
            _step(networks, gradient_views, x, y, weight / total, task)
            adam.step()
        else:
            order = shuffled(seeds, epoch, total, flat.device)
            for start in range(0, total, batch):
                chosen = order[:, start : start + batch]
                x, y = data.take(data.rows.gather(1, chosen))
                _step(networks, gradient_views, x, y, weight.gather(1, chosen) / chosen.shape[1], task)
                adam.step()
        if on_epoch is not None and on_epoch(epoch):
            break


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


def _step(networks: Networks, gradient: Views, x: Tensor, y: Tensor, weight: Tensor, task: Task) -> None:
    """Write the gradient of the weighted loss of every network into the views of `gradient`."""
    activations = forward(networks, x)
    last = output_delta(activations[-1], y, task).mul_(weight.unsqueeze(-1))
    back = deltas(networks, activations, last)
    for (grad_w, grad_b), active, delta in zip(gradient, activations[:-1], back, strict=True):
        grad_w.copy_(torch.bmm(active.transpose(1, 2), delta))
        torch.sum(delta, dim=1, keepdim=True, out=grad_b)


_GOLDEN, _MIX1, _MIX2 = -7046029254386353131, -4658895280553007687, -7723592293110705685


def shuffled(seeds: Sequence[int], epoch: int, n: int, device: torch.device) -> Tensor:
    """Each network's order of rows in an epoch, (B, n): by a hash, alike alone, in company and elsewhere."""
    seed = torch.tensor(list(seeds), dtype=torch.long, device=device).unsqueeze(1)
    row = torch.arange(1, n + 1, dtype=torch.long, device=device).unsqueeze(0)
    return _hash(_hash(seed * _GOLDEN + epoch) + row * _GOLDEN).argsort(dim=1)


def _hash(x: Tensor) -> Tensor:
    """The finaliser of splitmix64, on signed integers that wrap."""
    x = (x ^ _shift(x, 30)) * _MIX1
    x = (x ^ _shift(x, 27)) * _MIX2
    return x ^ _shift(x, 31)


def _shift(x: Tensor, bits: int) -> Tensor:
    """Shift right without the sign."""
    return (x >> bits) & ((1 << (64 - bits)) - 1)
