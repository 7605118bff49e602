"""What would change without anml: held-out error of the same network under each way of weighing."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from anml.core.checks import Array, Floats
from anml.core.domain import Task, Weighting
from anml.core.folds import assign_folds
from anml.core.progress import Progress, ticker
from anml.core.stats import Estimate, mean_interval, paired, wilson
from anml.gradients.mlp import Data, Networks, Widths, initialise, predict, train
from anml.gradients.threads import threads

# Rows that pass through all networks together, so that a comparison takes seconds, not minutes.
PASSES = 6_000_000
MOST_ROWS = 20_000
EPOCHS = 200


@dataclass(frozen=True)
class Way:
    """Error of a way of weighing, and its paired difference from each way before it."""

    name: str
    error: Estimate
    against: dict[str, Estimate]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        against = {name: difference.to_dict() for name, difference in self.against.items()}
        return {"name": self.name, "error": self.error.to_dict(), "against": against}


@dataclass(frozen=True)
class Comparison:
    """Errors side by side, on which rows they were measured, and how long the networks trained."""

    ways: list[Way]
    on: str
    rows: int
    epochs: int
    metric: str

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {**self.__dict__, "ways": [way.to_dict() for way in self.ways]}


def compare(
    x: Array, y: Array, task: Task, classes: int, ways: dict[str, Weighting], *,
    groups: np.ndarray[Any, Any] | None = None, test: tuple[Array, Array] | None = None, seed: int = 0,
    progress: Progress | None = None,
) -> Comparison:  # fmt: skip
    """Error of one network under each weighting: on `test`, else on folds, against the labels as given."""
    rng = np.random.default_rng(seed)
    rows = np.sort(rng.choice(len(y), min(len(y), MOST_ROWS), replace=False))
    x, y = x[rows], y[rows]
    weights = np.stack([way.sample_weight()[rows] for way in ways.values()])
    if test is not None:
        networks, scale, epochs = _fit(x, y, task, classes, weights, seed, progress)
        wrong, on = _errors(networks, *test, task, scale), "test data"
    else:
        inner = None if groups is None else groups[rows]
        wrong, epochs = _on_folds(x, y, task, classes, weights, inner, rng, seed, progress)
        on = "held-out rows, against the labels as given"
    measured: list[Way] = []
    for name, values in zip(ways, wrong, strict=True):
        before = zip([way.name for way in measured], wrong, strict=False)
        against = {earlier: paired(values, others).difference for earlier, others in before}
        measured.append(Way(name, error_of(values, task), against))
    metric = "share of wrong predictions" if task == "classification" else "mean absolute error"
    return Comparison(measured, on, wrong.shape[1], epochs, metric)


def _on_folds(
    x: Array, y: Array, task: Task, classes: int, weights: Floats, groups: Any,
    rng: np.random.Generator, seed: int, progress: Progress | None,
) -> tuple[Floats, int]:  # fmt: skip
    n = len(y)
    units = np.arange(n) if groups is None else groups
    k = max(2, min(5 if n <= 5_000 else 3, len(np.unique(units))))
    strata, members = (y, groups) if task == "classification" else (None, units)
    fold = assign_folds(strata, members, k, rng)
    every = np.concatenate([weights * (fold != i) for i in range(k)])
    networks, scale, epochs = _fit(x, y, task, classes, every, seed, progress)
    wrong = np.zeros((len(weights), n))
    for i in range(k):
        held = np.flatnonzero(fold == i)
        mine = networks.pick(range(i * len(weights), (i + 1) * len(weights)))
        wrong[:, held] = _errors(mine, x[held], y[held], task, scale)
    return wrong, epochs


def _fit(
    x: Array, y: Array, task: Task, classes: int, weights: Floats, seed: int, progress: Progress | None
) -> tuple[Networks, tuple[float, float], int]:
    count, n = weights.shape
    epochs = int(np.clip(PASSES // (count * n), 10, EPOCHS))
    centre, spread = (0.0, 1.0) if task == "classification" else (float(y.mean()), float(y.std()) or 1.0)
    target = torch.as_tensor(y if task == "classification" else ((y - centre) / spread).astype(np.float32))
    shape = Widths(x.shape[1], (64, 32), classes if task == "classification" else 1)
    networks = initialise(shape, [seed] * count)
    tick = ticker(progress, "comparing with and without", epochs)
    data = Data.shared(torch.as_tensor(x), target, torch.as_tensor(weights, dtype=torch.float32))
    with threads(1):
        train(networks, data, task, [seed] * count, epochs=epochs, on_epoch=tick)
    return networks, (centre, spread), epochs


def _errors(networks: Networks, x: Array, y: Array, task: Task, scale: tuple[float, float]) -> Floats:
    outputs = predict(networks, torch.as_tensor(x)).numpy()
    if task == "classification":
        return np.asarray(outputs.argmax(axis=2) != y, dtype=np.float64)
    return np.asarray(np.abs(outputs[..., 0] * scale[1] + scale[0] - y), dtype=np.float64)


def error_of(values: Floats, task: str) -> Estimate:
    """The mean of errors with its interval: shares of wrong predictions, or distances."""
    if task == "regression":
        return mean_interval(values)
    low, high = wilson(values.mean(), len(values))
    return Estimate(float(values.mean()), float(low), float(high))
