"""Labels, grades and predicted probabilities on arrays, checked once."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from anml.core import types
from anml.core.checks import MAX_ABS_VALUE, Array, Floats, as_vector, one_of, repr_short
from anml.core.errors import InputError
from anml.io.labels import guess_task
from anml.sklearn.alignment import as_column, as_series
from anml.tasks import Ordinal, Task, task_of

TASKS = ("auto", "classification", "regression", "ordinal")
# Largest difference of a row of `pred_probs` from the sum 1.
TOLERANCE = 1e-3


class ArrayLabels(NamedTuple):
    """Labels as codes of `classes`, the lowest first where they are ordered; or numbers without classes."""

    y: Array
    classes: Array | None
    task: types.Task
    ordered: bool


def read_labels(labels: Any, task: str | Task) -> ArrayLabels:
    """Return labels as the task reads them."""
    chosen = task_of(task)
    name = one_of("task of AnnotatorModel", chosen.name, TASKS)
    if np.ndim(labels) != 1:
        raise InputError(f"labels must be one label per row, got {repr_short(labels)}")
    values = as_column("a label", labels, len(labels))
    if len(values) < 2:
        raise InputError(f"at least two labels are needed, got {len(values)}")
    if name == "auto":
        name = guess_task(as_series(values))
    if name == "regression":
        return ArrayLabels(_numbers(values), None, "regression", False)
    order = chosen.order if isinstance(chosen, Ordinal) else None
    classes = _grades(values, order) if name == "ordinal" else np.unique(values)
    if len(classes) < 2:
        raise InputError(f"only one class is present, {str(classes[0])!r}; two classes are needed")
    codes = {value: code for code, value in enumerate(classes.tolist())}
    y = np.array([codes[value] for value in values.tolist()], dtype=np.int64)
    return ArrayLabels(y, classes, "classification", name == "ordinal")


def _numbers(values: Array) -> Floats:
    numbers = as_vector("labels", values)
    if np.abs(numbers).max() > MAX_ABS_VALUE:
        worst = numbers[np.abs(numbers).argmax()]
        raise InputError(f"labels has values beyond {MAX_ABS_VALUE:g}, as {worst:g}; scale them")
    if np.ptp(numbers) == 0:
        raise InputError(f"all labels are {numbers[0]:g}; two different numbers are needed")
    return numbers


def _grades(values: Array, order: Sequence[Any] | None) -> Array:
    """Return the grades that occur, lowest first."""
    given = np.unique(values)
    if order is None:
        try:
            return given[np.argsort(given.astype(np.float64), kind="stable")]
        except (TypeError, ValueError):
            raise InputError(
                f"the grade {str(given[0])!r} is not a number: name the grades, lowest first, as "
                "task=anml.tasks.Ordinal(order=[...])"
            ) from None
    place = {str(name): k for k, name in enumerate(order)}
    for grade in given.tolist():
        if str(grade) not in place:
            raise InputError(f"the grade {grade!r} is not in the order: {', '.join(map(str, order))}")
    return given[np.argsort([place[str(grade)] for grade in given.tolist()])]


def read_probabilities(given: Any, classes: Array, n: int) -> Floats:
    """Return predicted probabilities (rows, classes); the columns of a frame are found by name."""
    names = classes.tolist()
    if hasattr(given, "columns"):
        places = {str(name): place for place, name in enumerate(given.columns)}
        if sorted(places) != sorted(map(str, names)):
            wanted, got = (
                ", ".join(repr(name) for name in [*listed][:12]) for listed in (names, given.columns)
            )
            raise InputError(f"pred_probs must have one column for each class ({wanted}), got {got}")
        given = np.asarray(given)[:, [places[str(name)] for name in names]]
    try:
        values = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"pred_probs must be numbers, got {repr_short(given)}") from None
    if values.shape != (n, len(names)):
        what = "one row per label and one column per class"
        raise InputError(f"pred_probs must have shape {(n, len(names))}, {what}, got {values.shape}")
    total = values.sum(axis=1)
    bad = ~np.isfinite(total) | (values.min(axis=1) < 0) | (np.abs(total - 1) > TOLERANCE)
    if bad.any():
        at = int(bad.argmax())
        got = f"got {values[at].tolist()} at position {at}"
        raise InputError(f"pred_probs must be probabilities that sum to 1 in each row, {got}")
    return np.asarray(values / total[:, None])
