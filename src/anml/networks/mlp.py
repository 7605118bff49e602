"""B small multi-layer perceptrons, trained together; parameters are one flat (B, parameters) array.

Network b depends on its own seed and rows only, not on the networks that are trained with it. All functions
keep the precision of the parameters. Arrays are those of numpy; where an operation has another name in torch,
it is a `singledispatch` function here, and `anml.gradients.mlp` registers the operation of torch.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, singledispatch
from itertools import pairwise
from typing import Any, Self

import numpy as np

from anml.core.checks import Floats, Ints
from anml.core.types import Task

# An array of numpy, or a tensor of torch.
Array = Any


@dataclass(frozen=True)
class LayerWidths:
    """Layer widths of a multi-layer perceptron with ReLU between layers."""

    inputs: int
    hidden: tuple[int, ...]
    outputs: int

    @property
    def layers(self) -> list[tuple[int, int]]:
        """(inputs, outputs) of each linear layer."""
        return list(pairwise((self.inputs, *self.hidden, self.outputs)))

    @property
    def parameters(self) -> int:
        """Number of parameters of one network."""
        return sum((fan_in + 1) * fan_out for fan_in, fan_out in self.layers)


Views = list[tuple[Any, Any]]


@dataclass(frozen=True)
class NetworkBatch:
    """B networks of one shape; `flat` holds all parameters, `layers` are views of it."""

    shape: LayerWidths
    flat: Array

    @property
    def count(self) -> int:
        """B."""
        return len(self.flat)

    @cached_property
    def layers(self) -> Views:
        """Weights (B, in, out) and biases (B, 1, out) of each layer."""
        return layer_views(self.shape, self.flat)

    def pick(self, places: Sequence[int]) -> "NetworkBatch":
        """Copy the networks at these places."""
        return NetworkBatch(self.shape, self.flat[list(places)])


def layer_views(shape: LayerWidths, flat: Array) -> Views:
    """Cut a flat (B, parameters) array into the layers' weights and biases."""
    views, start, count = [], 0, len(flat)
    for fan_in, fan_out in shape.layers:
        stop = start + fan_in * fan_out
        weight = flat[:, start:stop].reshape(count, fan_in, fan_out)
        bias = flat[:, None, stop : stop + fan_out]
        views.append((weight, bias))
        start = stop + fan_out
    return views


def initialise(shape: LayerWidths, seeds: Sequence[int]) -> NetworkBatch:
    """Start networks with Glorot-uniform weights and biases, each from its own seed."""
    each = {seed: _initial_parameters(shape, seed) for seed in seeds}
    return NetworkBatch(shape, np.stack([each[seed] for seed in seeds]))


def _initial_parameters(shape: LayerWidths, seed: int) -> Array:
    # NEP 19 freezes the stream of RandomState: a seed gives the same network with every version of numpy.
    # The 24 random bits of a number are also those of `torch.rand` with a generator of this seed.
    stream = np.random.RandomState(seed)
    parts = []
    for fan_in, fan_out in shape.layers:
        bound = math.sqrt(6.0 / (fan_in + fan_out))
        bits = stream.randint(2**24, size=(fan_in + 1) * fan_out, dtype=np.uint32)
        parts.append(bits.astype(np.float32) * np.float32(2**-24) * np.float32(2 * bound) - np.float32(bound))
    return np.concatenate(parts)


def forward(networks: NetworkBatch, x: Array) -> list[Array]:
    """Return the inputs of every layer and the outputs; x is (B, n, inputs), or (n, inputs) for all."""
    if x.ndim == 2:
        x = x[None]
    activations = [x]
    for depth, (weight, bias) in enumerate(networks.layers):
        x = affine(x, weight, bias, relu=depth < len(networks.layers) - 1)
        activations.append(x)
    return activations


@singledispatch
def affine(x: Array, weight: Array, bias: Array, *, relu: bool) -> Array:
    """Return x @ weight + bias, and its positive part for a hidden layer."""
    outputs = np.matmul(x, weight)
    outputs += bias
    return np.maximum(outputs, 0, out=outputs) if relu else outputs


def predict(networks: NetworkBatch, x: Array, block: int = 65_536) -> Array:
    """Return outputs (B, n, outputs), computed a block of rows at a time."""
    rows = x.shape[-2]
    parts = [forward(networks, x[..., start : start + block, :])[-1] for start in range(0, rows, block)]
    return parts[0] if len(parts) == 1 else joined(parts[0], parts)


@singledispatch
def joined(first: Any, blocks: list[Any]) -> Any:
    """Return blocks of rows as one array; `first` is the first of them."""
    return np.concatenate(blocks, axis=1)


@singledispatch
def softmax(outputs: Any) -> Any:
    """Return class probabilities, over the last axis."""
    # Reductions over a short last axis are slow: classes first.
    by_class = np.ascontiguousarray(np.moveaxis(outputs, -1, 0))
    p = np.exp(by_class - by_class.max(axis=0))
    p /= p.sum(axis=0)
    return np.ascontiguousarray(np.moveaxis(p, 0, -1))


@singledispatch
def log_softmax(outputs: Any) -> Any:
    """Return log-probabilities of classes, over the last axis."""
    by_class = np.ascontiguousarray(np.moveaxis(outputs, -1, 0))
    shifted = by_class - by_class.max(axis=0)
    shifted -= np.log(np.exp(shifted).sum(axis=0))
    return np.ascontiguousarray(np.moveaxis(shifted, 0, -1))


def output_delta(outputs: Array, target: Array, task: Task) -> Array:
    """Return the gradient of each sample's cross-entropy (class codes) or squared error at its outputs."""
    if task == "classification":
        return subtract_targets(softmax(outputs), target)
    return 2 * (outputs - target[..., None])


@singledispatch
def subtract_targets(probabilities: Any, target: Any) -> Any:
    """Subtract 1 from the probability of each sample's class, in place."""
    samples = probabilities.reshape(-1, probabilities.shape[-1])
    samples[np.arange(len(samples)), np.broadcast_to(target, probabilities.shape[:-1]).ravel()] -= 1
    return probabilities


def losses(outputs: Array, target: Array, task: Task) -> Array:
    """Return the loss of each sample, (B, n)."""
    if task == "classification":
        return -of_target(log_softmax(outputs), target)
    return (outputs[..., 0] - target) ** 2


@singledispatch
def of_target(values: Any, target: Any) -> Any:
    """Return the value (B, n, classes) of each sample's class, (B, n)."""
    codes = np.broadcast_to(target, values.shape[:-1])[..., None]
    return np.take_along_axis(values, codes, axis=-1)[..., 0]


def deltas(networks: NetworkBatch, activations: list[Array], last: Array) -> list[Array]:
    """Back-propagate output deltas to every layer's output, first layer first."""
    result = [last]
    for (weight, _), active in zip(networks.layers[:0:-1], activations[-2:0:-1], strict=True):
        result.insert(0, where_active(result[0] @ weight.swapaxes(1, 2), active))
    return result


@singledispatch
def where_active(gradient: Any, active: Any) -> Any:
    """Return the gradient where a unit is active, and 0 elsewhere; it may be changed in place."""
    gradient *= (active > 0).astype(gradient.dtype)
    return gradient


@dataclass(frozen=True)
class TrainingData:
    """Training data of each network: of G data sets, x (G, n, inputs) and y (G, n).

    Network b has the rows `rows[b]` of data set `source[b]` with weights `weight[b]`, padded with weight 0.
    """

    x: Array
    y: Array
    source: Array
    rows: Array
    weight: Array

    @classmethod
    def shared(cls, x: Array, y: Array, weight: Array) -> Self:
        """One data set for all networks, each with the rows whose weight, of (B, n), is positive."""
        positive = to_numpy(weight) > 0
        longest = max(1, int(positive.sum(axis=1).max()))
        # Rows with positive weight first, in their own order; the rest is padding of weight 0.
        order = np.argsort(~positive, axis=1, kind="stable")[:, :longest]
        rows, source = like(y, order), like(y, np.zeros(len(weight), dtype=np.int64))
        return cls(x[None], y[None], source, rows, take_columns(like(y, weight), rows))

    def take(self, rows: Array) -> tuple[Array, Array]:
        """Features and targets of (B, m) rows."""
        flat = (self.source[:, None] * self.x.shape[1] + rows).reshape(-1)
        x = take_rows(self.x.reshape(-1, self.x.shape[2]), flat)
        return x.reshape(*rows.shape, -1), take_rows(self.y.reshape(-1), flat).reshape(rows.shape)


@singledispatch
def like(array: Any, values: Any) -> Any:
    """Return values in the library, and on the device, of an array."""
    return np.asarray(values)


@singledispatch
def to_numpy(array: Any) -> Floats:
    """Return an array of any library as numpy, in double precision."""
    return np.asarray(array, dtype=np.float64)


@singledispatch
def take_columns(values: Any, columns: Any) -> Any:
    """Return (B, m) values at the columns of each row."""
    return np.take_along_axis(values, columns, axis=1)


@singledispatch
def take_rows(values: Any, rows: Any) -> Any:
    """Return rows of a table; whole rows are copied faster than single values are looked up."""
    return values.take(rows, axis=0)


def as_data(x: Any, y: Any, task: Task = "classification") -> tuple[Array, Array]:
    """Return features, and class codes or numbers, in the types that networks are trained on."""
    kind = np.int64 if task == "classification" else np.float32
    return np.ascontiguousarray(x, dtype=np.float32), np.asarray(y, dtype=kind)


def train(
    networks: NetworkBatch, data: TrainingData, task: Task, seeds: Sequence[int], *, epochs: int,
    batch: int = 200, lr: float = 1e-3, on_epoch: Callable[[int], bool] | None = None,
) -> None:  # fmt: skip
    """Train all networks in place with Adam until `on_epoch(epoch)`, from 1 on, returns True."""
    gradient = networks.flat * 0
    gradient_views = layer_views(networks.shape, gradient)
    adam = adam_for(networks.flat, gradient, lr)
    total = data.rows.shape[1]
    whole = total <= batch
    # Constant denominators make a batch's gradient an unbiased share of the weighted mean.
    weight = data.weight / (data.weight.sum(1)[:, None].clip(min=1e-12) / total)
    if whole:
        x, y = data.take(data.rows)
    for epoch in range(1, epochs + 1):
        if whole:
            _set_gradient(networks, gradient_views, x, y, weight / total, task)
            adam.step()
        else:
            order = like(data.rows, shuffled(seeds, epoch, total))
            for start in range(0, total, batch):
                chosen = order[:, start : start + batch]
                x, y = data.take(take_columns(data.rows, chosen))
                share = take_columns(weight, chosen) / chosen.shape[1]
                _set_gradient(networks, gradient_views, x, y, share, task)
                adam.step()
        if on_epoch is not None and on_epoch(epoch):
            break


class NumpyAdam:
    """Adam on one flat array, without temporary arrays."""

    def __init__(self, flat: Array, gradient: Array, lr: float) -> None:
        self.flat, self.gradient, self.lr, self.steps = flat, gradient, lr, 0
        self.mean, self.square = np.zeros_like(flat), np.zeros_like(flat)
        self.scratch, self.change = np.empty_like(flat), np.empty_like(flat)

    def step(self, beta1: float = 0.9, beta2: float = 0.999, eps: float = 1e-8) -> None:
        """Change the parameters by their gradient."""
        self.steps += 1
        scratch, change = self.scratch, self.change
        np.subtract(self.gradient, self.mean, out=scratch)
        scratch *= 1 - beta1
        self.mean += scratch
        np.square(self.gradient, out=scratch)
        scratch *= 1 - beta2
        self.square *= beta2
        self.square += scratch
        correction = math.sqrt(1 - beta2**self.steps)
        np.sqrt(self.square, out=scratch)
        scratch += eps * correction
        np.divide(self.mean, scratch, out=change)
        change *= self.lr * correction / (1 - beta1**self.steps)
        self.flat -= change


@singledispatch
def adam_for(flat: Any, gradient: Any, lr: float) -> Any:
    """Return an optimiser with a method `step`, which changes the parameters by their gradient."""
    return NumpyAdam(flat, gradient, lr)


def _set_gradient(
    networks: NetworkBatch, gradient: Views, x: Array, y: Array, weight: Array, task: Task
) -> None:
    """Write the gradient of the weighted loss of every network into the views of `gradient`."""
    activations = forward(networks, x)
    last = output_delta(activations[-1], y, task)
    last *= weight[..., None]
    back = deltas(networks, activations, last)
    for (weights, biases), active, delta in zip(gradient, activations[:-1], back, strict=True):
        write_gradient(weights, biases, active, delta)


@singledispatch
def write_gradient(weights: Any, biases: Any, active: Any, delta: Any) -> None:
    """Write the gradient of one layer, from its inputs and the deltas at its outputs."""
    np.matmul(active.swapaxes(1, 2), delta, out=weights)
    # A product with ones sums faster than a reduction.
    np.matmul(np.ones((1, delta.shape[1]), dtype=delta.dtype), delta, out=biases)


_GOLDEN, _MIX1, _MIX2 = (np.uint64(c) for c in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))


def shuffled(seeds: Sequence[int], epoch: int, n: int) -> Ints:
    """Return each network's order of rows in an epoch, (B, n): by a hash of seed, epoch and row."""
    distinct = list(dict.fromkeys(seeds))
    seed = np.array(distinct).astype(np.uint64)[:, None]
    row = np.arange(1, n + 1, dtype=np.uint64)
    order = _splitmix64(_splitmix64(seed * _GOLDEN + np.uint64(epoch)) + row * _GOLDEN)
    orders: Ints = order.view(np.int64).argsort(axis=1)
    return orders[[distinct.index(seed) for seed in seeds]]


def _splitmix64(x: Array) -> Array:
    """Return the finaliser of splitmix64, on integers that wrap."""
    x = (x ^ (x >> np.uint64(30))) * _MIX1
    x = (x ^ (x >> np.uint64(27))) * _MIX2
    return np.asarray(x ^ (x >> np.uint64(31)))
