"""Utility of a coalition: the held-out score of a model trained on its rows."""

from collections.abc import Callable
from typing import Any

import numpy as np

from anml.attribution.games import Utility
from anml.attribution.row_ownership import RowOwnership
from anml.core.checks import Array, Bools, Floats, one_of
from anml.core.errors import InputError
from anml.core.types import Task
from anml.networks.mlp import LayerWidths, NetworkBatch, TrainingData, as_data, initialise, predict, train
from anml.networks.threads import limit_threads

# How much the linear model is pulled to zero: as much as so many rows.
RIDGE = 1.0
# Coalitions solved at a time, and networks trained at a time.
SOLVED, TRAINED = 256, 48
EPOCHS, HIDDEN = 60, (32,)


def accuracy(y: Array, outputs: Array) -> Floats:
    """Share of rows predicted right, for outputs (B, rows, classes)."""
    return np.asarray((outputs.argmax(axis=2) == y).mean(axis=1))


def balanced_accuracy(y: Array, outputs: Array) -> Floats:
    """Mean over classes of the share of their rows predicted right."""
    right = outputs.argmax(axis=2) == y
    return np.asarray(np.mean([right[:, y == label].mean(axis=1) for label in np.unique(y)], axis=0))


def minus_rmse(y: Array, outputs: Array) -> Floats:
    """Minus the root mean squared error of numbers, outputs (B, rows, 1)."""
    return np.asarray(-np.sqrt(np.square(outputs[:, :, 0] - y).mean(axis=1)))


def r_squared(y: Array, outputs: Array) -> Floats:
    """Share of the spread of numbers that is predicted."""
    return np.asarray(1 - np.square(outputs[:, :, 0] - y).mean(axis=1) / max(float(np.var(y)), 1e-12))


Metric = Callable[[Array, Array], Floats]
METRICS: dict[Task, dict[str, Metric]] = {
    "classification": {"accuracy": accuracy, "balanced-accuracy": balanced_accuracy},
    "regression": {"r2": r_squared, "minus-rmse": minus_rmse},
}


def metric_of(name: str | None, task: Task) -> Metric:
    """A metric by name; the first of the task where none is named."""
    known = METRICS[task]
    return known[one_of(f"metric of {task}", name, known)] if name is not None else next(iter(known.values()))


def linear_utility(
    x: Floats, y: Array, parts: RowOwnership, x_test: Floats, y_test: Array, *, classes: int, metric: Metric,
    ridge: float = RIDGE, seed: int = 0,
) -> Utility:  # fmt: skip
    """Least squares on class indicators (or numbers), from sums over rows: no coalition passes over rows.

    Nobody's model predicts nothing: 0 for every class, of which the first is taken, or the number 0.
    """
    given = np.asarray(y)[parts.rows]
    targets = np.eye(classes)[given.astype(np.int64)] if classes > 1 else given.astype(np.float64)[:, None]
    design = _with_one(x[parts.rows])
    count, width = len(parts.holders), design.shape[1]
    moments, products = np.zeros((count, width, width)), np.zeros((count, width, targets.shape[1]))
    for part in range(count):
        mine = parts.part == part
        moments[part] = design[mine].T @ design[mine]
        products[part] = design[mine].T @ targets[mine]
    pull = ridge * np.diag(np.r_[1e-3, np.ones(width - 1)])
    held = _with_one(x_test)

    def utility(coalitions: Bools) -> Floats:
        found = []
        for start in range(0, len(coalitions), SOLVED):
            present = parts.present(coalitions[start : start + SOLVED]).astype(np.float64)
            left = (present @ moments.reshape(count, -1)).reshape(-1, width, width) + pull
            right = (present @ products.reshape(count, -1)).reshape(len(present), width, -1)
            solved = np.linalg.solve(left, right)
            # One product for all coalitions is several times as fast as one for each.
            outputs = held @ solved.transpose(1, 0, 2).reshape(width, -1)
            found.append(metric(y_test, outputs.reshape(len(held), len(present), -1).transpose(1, 0, 2)))
        return np.concatenate(found)

    return utility


def mlp_utility(
    x: Floats, y: Array, parts: RowOwnership, x_test: Floats, y_test: Array, *, classes: int, metric: Metric,
    epochs: int = EPOCHS, hidden: tuple[int, ...] = HIDDEN, lr: float = 1e-2, seed: int = 0,
) -> Utility:  # fmt: skip
    """A small network trained on the coalition's rows; some dozens of networks are trained as one program.

    All start from the same weights, so that two coalitions differ by their rows alone.
    """
    task: Task = "classification" if classes > 1 else "regression"
    inputs, labels = as_data(x[parts.rows], y[parts.rows], task)
    held = np.asarray(x_test, dtype=np.float32)
    shape = LayerWidths(inputs.shape[1], hidden, max(classes, 1))
    start_at = initialise(shape, [seed])

    def utility(coalitions: Bools) -> Floats:
        found = []
        with limit_threads(1):
            for start in range(0, len(coalitions), TRAINED):
                present = parts.present(coalitions[start : start + TRAINED])[:, parts.part]
                networks = NetworkBatch(shape, np.repeat(start_at.flat, len(present), axis=0))
                data = TrainingData.shared(inputs, labels, present.astype(np.float32))
                train(networks, data, task, [seed] * len(present), epochs=epochs, lr=lr)
                found.append(metric(y_test, predict(networks, held)))
        return np.concatenate(found)

    return utility


def estimator_utility(
    x: Floats, y: Array, parts: RowOwnership, x_test: Floats, y_test: Array, *, classes: int,
    make: Callable[[], Any], score: Callable[[Array, Array], float], seed: int = 0,
) -> Utility:  # fmt: skip
    """Any estimator with `fit` and `predict`, one coalition at a time, scored by `score(truth, predicted)`.

    Where a coalition has rows of one class only, that class is predicted; nobody predicts the first class.
    """
    rows, labels = x[parts.rows], y[parts.rows]

    def predicted(mine: Bools) -> Array:
        known = np.unique(labels[mine]) if mine.any() else labels[:0]
        if len(known) < 2:
            return np.full(len(y_test), known[0] if len(known) else 0, dtype=y_test.dtype)
        return np.asarray(make().fit(rows[mine], labels[mine]).predict(x_test))

    def utility(coalitions: Bools) -> Floats:
        present = parts.present(coalitions)[:, parts.part]
        return np.array([float(score(y_test, predicted(mine))) for mine in present])

    return utility


def _with_one(x: Floats) -> Floats:
    wide = np.asarray(x, dtype=np.float64)
    if not np.isfinite(wide).all():
        raise InputError("features must be finite numbers")
    return np.column_stack([np.ones(len(wide)), wide])


MODELS: dict[str, Callable[..., Utility]] = {"linear": linear_utility, "mlp": mlp_utility}
