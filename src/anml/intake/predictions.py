"""Held-out predictions and embeddings that a user gives, checked row by row."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from anml.core.checks import Floats, Ints
from anml.core.errors import InputError
from anml.core.words import counted
from anml.intake.beside import Aligned, aligned, columns_of, read_numbers
from anml.intake.labels import Labels
from anml.intake.roles import shown
from anml.intake.tables import Table

# How far the probabilities of a row may be from a sum of one; within that they are divided by it.
TOLERANCE = 1e-3
# What rounding leaves below zero.
ROUNDING = 1e-9


def read_predictions(
    source: Any, table: Table, rows: Ints, labels: Labels, key: str | None = None
) -> tuple[Floats, dict[str, str]]:
    """Class probabilities (rows, classes) in the order of the classes, or predicted numbers (rows,)."""
    given = aligned(source, "predictions", table, rows, key)
    if labels.task == "regression":
        return _quantity(given, table, rows), given.about
    values = _by_class(given, table, labels.classes)
    _check_finite(values, "predictions", rows)
    if (low := values.min(axis=1) < -ROUNDING).any():
        at = int(low.argmax())
        raise InputError(
            f"predictions must be probabilities, which are not negative, got {values[at].min():g} "
            f"in row {rows[at]}"
        )
    values = np.maximum(values, 0.0)
    total = values.sum(axis=1)
    if (off := np.abs(total - 1) > TOLERANCE).any():
        at = int(off.argmax())
        raise InputError(
            f"the predictions of a row must sum to 1, got {total[at]:.4g} in row {rows[at]} "
            f"(off by more than {TOLERANCE:g} in {counted(int(off.sum()), 'row')})"
        )
    return values / total[:, None], given.about


def read_embeddings(
    source: Any, table: Table, rows: Ints, key: str | None = None
) -> tuple[npt.NDArray[np.float32], dict[str, str]]:
    """Vectors (rows, dimensions) that stand in place of feature columns."""
    given = aligned(source, "embeddings", table, rows, key)
    check_vectors(given.values, rows)
    return given.values.astype(np.float32), given.about


def read_vectors(source: Any, width: int) -> npt.NDArray[np.float32]:
    """Vectors to predict for, by a model that was trained on embeddings of `width` dimensions."""
    read = read_numbers(source, "embeddings")
    values = columns_of(read.frame, "embeddings")[0] if isinstance(read, Table) else read
    if values.shape[1] != width:
        raise InputError(f"the model was trained on embeddings of {width} dimensions, got {values.shape[1]}")
    check_vectors(values, np.arange(len(values)))
    return values.astype(np.float32)


def _quantity(given: Aligned, table: Table, rows: Ints) -> Floats:
    if given.values.shape[1] != 1:
        named = "" if given.names is None else f" ({shown([*map(repr, given.names)])})"
        raise InputError(
            f"predictions of a quantity are one column, got {given.values.shape[1]}{named}"
            + _shared(given, table)
        )
    _check_finite(given.values, "predictions", rows)
    return given.values[:, 0]


def _by_class(given: Aligned, table: Table, classes: list[str]) -> Floats:
    """Put columns in the order of the classes; of two classes one is enough: without a name, the second."""
    width = given.values.shape[1]
    if given.names is None:
        if width == 1 and len(classes) == 2:
            return np.column_stack([1 - given.values, given.values])
        if width != len(classes):
            raise InputError(
                f"predictions without names need one column for each of the {len(classes)} classes "
                f"({shown([*map(repr, classes)])}), got {width}"
            )
        return given.values
    at: dict[str, int] = {}
    for column, name in enumerate(given.names):
        found = _class_of(name, classes)
        if found is None or found in at:
            raise InputError(
                f"column {name!r} of the predictions is {'no' if found is None else 'a second column of a'} "
                f"class{_shared(given, table)}; classes: {shown([*map(repr, classes)])}"
            )
        at[found] = column
    absent = [name for name in classes if name not in at]
    if absent and not (len(classes) == 2 and len(at) == 1):
        raise InputError(
            f"the predictions have no column for class {absent[0]!r}; one for each is needed: "
            f"{shown([*map(repr, classes)])}"
        )
    if absent:
        first = given.values[:, 0]
        pair = np.column_stack([first, 1 - first])
        return pair if classes[0] in at else pair[:, ::-1]
    return given.values[:, [at[name] for name in classes]]


def _class_of(name: str, classes: Sequence[str]) -> str | None:
    """The class that a column is named by; True and true are one where only one of them is a class."""
    if name in classes:
        return name
    alike = [each for each in classes if each.lower() == name.lower()]
    return alike[0] if len(alike) == 1 else None


def _shared(given: Aligned, table: Table) -> str:
    both = [name for name in given.names or () if name in table.frame.columns]
    return f" (column {both[0]!r} is also in the table: name it as key to align by it)" if both else ""


def check_vectors(values: Floats, rows: Ints) -> None:
    """Refuse vectors that are empty, not finite or too large."""
    if values.shape[1] == 0:
        raise InputError("embeddings need at least one dimension, got none")
    _check_finite(values, "embeddings", rows)
    if np.abs(values).max(initial=0) > np.finfo(np.float32).max:
        raise InputError(f"embeddings are too large, such as {np.abs(values).max():g}; scale them")


def _check_finite(values: Floats, what: str, rows: Ints) -> None:
    if (bad := ~np.isfinite(values)).any():
        at = int(bad.any(axis=1).argmax())
        raise InputError(
            f"{what} must be finite numbers; {int(bad.sum())} values are missing or infinite, "
            f"the first in row {rows[at]}"
        )
