"""What is to be learned: classes or a number."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from anml.core.checks import LARGEST, one_of
from anml.core.domain import Task
from anml.core.errors import InputError
from anml.intake.plain import as_text, codes_in, is_nested

TASKS = ("auto", "classification", "regression")
# Whole numbers with at most this many values are classes.
MOST_NUMBERED_CLASSES = 50


class Labels(NamedTuple):
    """Labels as numbers: codes of sorted classes, or values."""

    y: np.ndarray[tuple[int], np.dtype[np.int64] | np.dtype[np.float64]]
    task: Task
    classes: list[str]
    notes: list[str]


def read_labels(series: pl.Series, task: str = "auto") -> Labels:
    """Turn a column of labels without gaps into numbers."""
    one_of("task", task, TASKS)
    if is_nested(series.dtype):
        raise InputError(f"column {series.name!r} holds {series.dtype}, which cannot be a label")
    notes = []
    if task == "auto":
        task = guess_task(series)
        if series.dtype.is_numeric():
            count = series.n_unique()
            notes.append(
                f"column {series.name!r} has {count} different numbers and is taken as "
                f"{'classes' if task == 'classification' else 'a quantity'} ({task})"
            )
    if task == "regression":
        values = _values(series)
        if values.min() == values.max():
            raise InputError(f"column {series.name!r} is {values[0]:g} in every row: nothing to learn")
        return Labels(values, "regression", [], notes)
    codes, classes = _classes(series)
    return Labels(codes, "classification", classes, notes)


def read_targets(series: pl.Series, task: str, classes: list[str]) -> np.ndarray[Any, Any]:
    """Turn the labels of another table into numbers as in the table learned from; an unseen class is -1."""
    return _values(series) if task == "regression" else codes_in(as_text(series), classes)


def guess_task(series: pl.Series) -> str:
    """Say whether labels are classes or a quantity."""
    if not series.dtype.is_numeric():
        return "regression" if series.dtype.is_temporal() else "classification"
    distinct = series.n_unique()
    whole = bool((series == series.round()).all()) if series.dtype.is_float() else True
    few = distinct <= MOST_NUMBERED_CLASSES and distinct <= max(2, series.len() / 2)
    return "classification" if whole and few else "regression"


def in_order(names: Iterable[str], dtype: pl.DataType) -> list[str]:
    """Classes in the order that their codes have: numbered ones by their numbers, 2 before 10."""
    return sorted(names, key=float) if dtype.is_numeric() else sorted(names)


def _values(series: pl.Series) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    numbers = series.cast(pl.Float64, strict=False) if not series.dtype.is_temporal() else None
    if numbers is None or numbers.null_count():
        bad = series.filter(numbers.is_null())[0] if numbers is not None else series[0]
        raise InputError(f"column {series.name!r} cannot be a quantity: {str(bad)!r} is not a number")
    values = numbers.to_numpy().astype(np.float64)
    bad = int((~np.isfinite(values)).sum())
    if bad:
        raise InputError(f"column {series.name!r} has {bad} infinite labels; empty ones are left out instead")
    if np.abs(values).max(initial=0) > LARGEST:
        worst = values[np.abs(values).argmax()]
        raise InputError(f"column {series.name!r} has labels beyond {LARGEST:g}, as {worst:g}; scale them")
    return values


def _classes(series: pl.Series) -> tuple[np.ndarray[tuple[int], np.dtype[np.int64]], list[str]]:
    texts = as_text(series)
    names = [str(name) for name in texts.unique().to_list()]
    classes = in_order(names, series.dtype)
    if len(classes) == 1:
        raise InputError(f"column {series.name!r} has one class only, {classes[0]!r}; two are needed")
    if len(classes) > max(2, series.len() / 2):
        hint = " or use the task regression" if series.dtype.is_numeric() else ""
        raise InputError(
            f"column {series.name!r} has {len(classes)} classes in {series.len()} rows, more than one "
            f"class per two rows; name another label column{hint}"
        )
    return codes_in(texts, classes), classes
