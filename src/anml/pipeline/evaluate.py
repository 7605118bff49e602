"""Held-out error of the same network with equal weights and with the weights of the audit."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from anml.core.checks import Array, Floats
from anml.core.folds import assign_folds
from anml.core.progress import Progress, ticker
from anml.core.stats import Estimate, mean_interval, paired, wilson
from anml.core.types import Task, Weighting
from anml.networks.crossfit import scale_targets
from anml.networks.mlp import LayerWidths, NetworkBatch, TrainingData, as_data, initialise, predict, train
from anml.networks.threads import limit_threads

# Maximum number of rows times epochs times networks: bounds the duration of a comparison.
MAX_SAMPLE_EPOCHS = 6_000_000
MAX_ROWS = 20_000
EPOCHS = 200
# Data on which errors are measured.
ON_TEST_DATA, ON_HELD_OUT = "test data", "held-out rows, against the given labels"
Unscaled = Callable[[Floats], Floats]


@dataclass(frozen=True)
class WeightingResult:
    """Error of a weighting, and its paired differences from the previous weightings."""

    name: str
    error: Estimate
    against: dict[str, Estimate]


@dataclass(frozen=True)
class Comparison:
    """Errors of the weightings, with the data they are measured on and the epochs of training."""

    results: list[WeightingResult]
    on: str
    rows: int
    epochs: int
    metric: str

    def to_dict(self) -> dict[str, Any]:
        """Return values for JSON."""
        weightings = []
        for result in self.results:
            differences = {name: difference.to_dict() for name, difference in result.against.items()}
            weightings.append(
                {"name": result.name, "error": result.error.to_dict(), "difference_from": differences}
            )
        return {
            "metric": self.metric, "measured_on": self.on, "rows": self.rows, "epochs": self.epochs,
            "weightings": weightings,
        }  # fmt: skip


def compare_weightings(
    x: Array, y: Array, task: Task, classes: int, weightings: dict[str, Weighting], *,
    groups: np.ndarray[Any, Any] | None = None, test: tuple[Array, Array] | None = None, seed: int = 0,
    progress: Progress | None = None,
) -> Comparison:  # fmt: skip
    """Error of one network under each weighting: on `test`, else by folds against the given labels."""
    rng = np.random.default_rng(seed)
    rows = np.sort(rng.choice(len(y), min(len(y), MAX_ROWS), replace=False))
    x, y = x[rows], y[rows]
    weights = np.stack([weighting.sample_weight()[rows] for weighting in weightings.values()])
    if test is not None:
        networks, unscaled, epochs = _fit(x, y, task, classes, weights, seed, progress)
        wrong, on = _errors(networks, *test, task, unscaled), ON_TEST_DATA
    else:
        inner = None if groups is None else groups[rows]
        units = np.arange(len(y)) if inner is None else inner
        k = max(2, min(5 if len(y) <= 5_000 else 3, len(np.unique(units))))
        strata, members = (y, inner) if task == "classification" else (None, units)
        fold = assign_folds(strata, members, k, rng)
        every = np.concatenate([weights * (fold != i) for i in range(k)])
        networks, unscaled, epochs = _fit(x, y, task, classes, every, seed, progress)
        wrong, on = np.zeros(weights.shape), ON_HELD_OUT
        for i in range(k):
            held, mine = fold == i, networks.pick(range(i * len(weightings), (i + 1) * len(weightings)))
            wrong[:, held] = _errors(mine, x[held], y[held], task, unscaled)
    return compare_errors(dict(zip(weightings, wrong, strict=True)), task, on, epochs)


def compare_errors(wrong: Mapping[str, Floats], task: Task, on: str, epochs: int) -> Comparison:
    """Mean errors of each weighting on the same rows, with paired differences."""
    measured: list[WeightingResult] = []
    for name, values in wrong.items():
        against = {previous.name: paired(values, wrong[previous.name]).difference for previous in measured}
        measured.append(WeightingResult(name, mean_error(values, task), against))
    metric = "error rate" if task == "classification" else "mean absolute error"
    return Comparison(measured, on, len(next(iter(wrong.values()))), epochs, metric)


def _fit(
    x: Array, y: Array, task: Task, classes: int, weights: Floats, seed: int, progress: Progress | None
) -> tuple[NetworkBatch, Unscaled, int]:
    count, n = weights.shape
    epochs = int(np.clip(MAX_SAMPLE_EPOCHS // (count * n), 10, EPOCHS))
    scaled, unscaled = scale_targets(y, task)
    shape = LayerWidths(x.shape[1], (64, 32), classes if task == "classification" else 1)
    networks = initialise(shape, [seed] * count)
    tick = ticker(progress, "evaluating the weights", epochs)
    data = TrainingData.shared(*as_data(x, scaled, task), weights.astype(np.float32))
    with limit_threads(1):
        train(networks, data, task, [seed] * count, epochs=epochs, on_epoch=tick)
    return networks, unscaled, epochs


def _errors(networks: NetworkBatch, x: Array, y: Array, task: Task, unscaled: Unscaled) -> Floats:
    outputs = predict(networks, np.asarray(x, dtype=np.float32))
    wrong = outputs.argmax(axis=2) != y if task == "classification" else np.abs(unscaled(outputs[..., 0]) - y)
    return np.asarray(wrong, dtype=np.float64)


def mean_error(values: Floats, task: str) -> Estimate:
    """Mean error with its interval: share of wrong predictions, or mean absolute error."""
    if task == "regression":
        return mean_interval(values)
    low, high = wilson(values.mean(), len(values))
    return Estimate(float(values.mean()), float(low), float(high))
