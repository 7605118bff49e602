"""What each contributor's data are worth: the error without them less the error with them.

A model is trained on all rows and once more without each contributor, as one program, and measured on rows
that it did not see. Everybody's rows count alike here, so that a figure below zero says: better without.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import polars as pl

from anml.core.checks import Array, Bools, Floats, Ints
from anml.core.domain import Task
from anml.core.errors import InputError
from anml.core.folds import assign_folds
from anml.core.progress import Progress
from anml.core.stats import mean_interval
from anml.gradients.crossfit import standardise
from anml.intake.prepare import Prepared
from anml.valuation.models import EPOCHS, MODELS, Metric
from anml.valuation.parts import parts_of

# Folds without test data; with it, networks that start elsewhere, so that chance in training averages out.
FOLDS = 3
# Rows that take part at most, and contributors that are left out one by one: those with most rows.
MOST_ROWS, MOST_VALUED = 20_000, 200
# Rows that may pass through all networks together; beyond, the model is a linear one.
PASSES = 12_000_000
COLUMNS = ("value", "value_low", "value_high")


class Worth(NamedTuple):
    """One row per contributor (contributor, value, value_low, value_high), and how it was measured."""

    contributors: pl.DataFrame
    note: str


def contributor_values(
    prepared: Prepared,
    trusted: Bools,
    *,
    test: tuple[Array, Array] | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Worth:
    """Error without each contributor less the error with all, and its 95% interval.

    For classes in percentage points, for numbers in their own unit. Without test data the error is measured
    by cross-validation on the rows of `trusted`: against labels that are wrong, a model that learned the same
    mistakes would seem the better one.
    """
    if prepared.contributor is None or len(np.unique(prepared.contributor)) < 2:
        raise InputError("a value needs at least two contributors, of whom one can be left out")
    rng = np.random.default_rng(seed)
    n = len(prepared.y)
    rows = np.sort(rng.choice(n, min(n, MOST_ROWS), replace=False))
    who = prepared.contributor[rows]
    names, counts = np.unique(who, return_counts=True)
    valued = names[np.lexsort((names, -counts))][:MOST_VALUED]
    model = "mlp" if (len(valued) + 1) * FOLDS * len(rows) * EPOCHS <= PASSES else "linear"
    if test is not None:
        starts = range(seed, seed + (FOLDS if model == "mlp" else 1))
        differ = np.mean([_left_out(prepared, rows, valued, model, test, start) for start in starts], axis=0)
        on = f"{len(test[1]):,} rows of test data"
    else:
        units = rows if prepared.item is None else np.unique(prepared.item[rows], return_inverse=True)[1]
        differ = _by_folds(prepared, rows, units, trusted[rows], valued, model, rng, seed, progress)
        on = f"{differ.shape[1]:,} held-out {'rows' if prepared.item is None else 'items'} that are kept"
    unit = 100.0 if prepared.task == "classification" else 1.0
    found = [mean_interval(unit * each) for each in differ]
    frame = pl.DataFrame(
        {
            "contributor": valued.tolist(),
            **{name: [float(each[at]) for each in found] for at, name in enumerate(COLUMNS)},
        },
        schema_overrides=dict.fromkeys(COLUMNS, pl.Float64),
    )
    return Worth(frame, _note(prepared.task, model, on, len(names) - len(valued)))


def _note(task: Task, model: str, on: str, left: int) -> str:
    what = "percentage points of error" if task == "classification" else "mean absolute error"
    kind = "a small network" if model == "mlp" else "a linear model"
    rest = f"; {left:,} contributors with fewer rows were not valued" if left else ""
    return f"value is in {what} without a contributor less with, of {kind} measured on {on}{rest}"


def _by_folds(
    prepared: Prepared, rows: Ints, units: Ints, trusted: Bools, valued: Array, model: str,
    rng: np.random.Generator, seed: int, progress: Progress | None,
) -> Floats:  # fmt: skip
    """Differences (contributors, units), each unit the mean of its rows."""
    classes = prepared.y[rows] if prepared.task == "classification" else None
    fold = assign_folds(classes, units, FOLDS, rng)
    differ = np.zeros((len(valued), len(rows)))
    for k in range(FOLDS):
        if progress is not None:
            progress("training without each contributor", k, FOLDS)
        held = np.flatnonzero((fold == k) & trusted)
        if not len(held) or not (fold != k).any():
            continue
        measured = (prepared.x[rows[held]], prepared.y[rows[held]])
        differ[:, held] = _left_out(prepared, rows[fold != k], valued, model, measured, seed)
    if not trusted.any():
        raise InputError("no row is kept, so there is nothing to measure a value on; give test data")
    return _means(differ[:, trusted], units[trusted])


def _means(values: Floats, units: Ints) -> Floats:
    """Means over the columns of a unit: labels of one item are not independent."""
    _, codes = np.unique(units, return_inverse=True)
    sums = np.zeros((len(values), int(codes.max()) + 1))
    np.add.at(sums.T, codes, values.T)
    return np.asarray(sums / np.bincount(codes))


def _left_out(
    prepared: Prepared, train: Ints, valued: Array, model: str, measured: tuple[Array, Array], seed: int
) -> Floats:
    """Error of each measured row without each contributor, less that with all."""
    assert prepared.contributor is not None
    raw = np.asarray(prepared.x[train], dtype=np.float64)
    centre, spread = raw.mean(axis=0), raw.std(axis=0)
    scaled = (np.asarray(measured[0], dtype=np.float64) - centre) / np.where(spread > 1e-12, spread, 1.0)
    y, target, unit = prepared.y[train], measured[1], 1.0
    if prepared.task == "regression":
        middle, unit = float(y.mean()), float(y.std()) or 1.0
        y, target = (y - middle) / unit, (target - middle) / unit
    parts = parts_of(prepared.contributor[train])
    places = {name: at for at, name in enumerate(parts.names)}
    without = np.ones((len(valued) + 1, len(parts.names)), dtype=bool)
    for row, name in enumerate(valued.tolist(), 1):
        # Somebody without rows in this fold changes nothing in it.
        if name in places:
            without[row, places[name]] = False
    utility = MODELS[model](
        standardise(raw), y, parts, scaled, target, classes=max(len(prepared.classes), 1),
        metric=_ERRORS[prepared.task], seed=seed,
    )  # fmt: skip
    errors = np.asarray(utility(without))
    return unit * np.asarray(errors[1:] - errors[0])


def _wrong(y: Array, outputs: Array) -> Floats:
    return np.asarray(outputs.argmax(axis=2) != y, dtype=np.float64)


def _distance(y: Array, outputs: Array) -> Floats:
    return np.asarray(np.abs(outputs[:, :, 0] - y), dtype=np.float64)


# Errors row by row, where a metric has one number for all rows.
_ERRORS: dict[Task, Metric | Callable[[Array, Array], Floats]] = {
    "classification": _wrong,
    "regression": _distance,
}
