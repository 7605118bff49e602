"""Labels: classes, sets of classes as `a;b`, or numbers; and the true labels of some rows."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from anml.core.checks import MAX_ABS_VALUE, Bools, one_of
from anml.core.errors import InputError
from anml.core.types import Task
from anml.io.columns import Columns
from anml.io.plain import as_text, codes_in, is_nested
from anml.io.roles import ALIASES, HONEYPOT_ALIASES, are_flags, is_named, read_flags
from anml.io.true_labels import (
    GoldLabels,
    combine_gold,
    empty_gold,
    has_gold_label,
    items_with_conflicting_gold,
)

TASKS = ("auto", "classification", "regression")
# Whole numbers with at most this many values are classes.
MAX_NUMERIC_CLASSES = 50


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
            taken = "classes" if task == "classification" else "a quantity"
            numbers = f"column {series.name!r} has {series.n_unique()} different numbers"
            ordered = task == "classification" and series.n_unique() > 2
            hint = "; --task ordinal uses their order" if ordered else ""
            notes.append(f"{numbers} and is taken as {taken} ({task}){hint}")
    if task == "regression":
        values = _values(series)
        if values.min() == values.max():
            raise InputError(f"column {series.name!r} is {values[0]:g} in every row: nothing to learn")
        return Labels(values, "regression", [], notes)
    texts = as_text(series)
    names = [str(name) for name in texts.unique().to_list()]
    classes = sort_classes(names, series.dtype)
    if len(classes) == 1:
        raise InputError(f"column {series.name!r} has one class only, {classes[0]!r}; two are needed")
    if len(classes) > max(2, series.len() / 2):
        hint = " or use the task regression" if series.dtype.is_numeric() else ""
        why = f"column {series.name!r} has {len(classes)} classes in {series.len()} rows"
        raise InputError(f"{why}, more than one class per two rows; name another label column{hint}")
    return Labels(codes_in(texts, classes), "classification", classes, notes)


def read_targets(series: pl.Series, task: str, classes: list[str]) -> np.ndarray[Any, Any]:
    """Turn the labels of another table into numbers as in the table learned from; an unseen class is -1."""
    return _values(series) if task == "regression" else codes_in(as_text(series), classes)


def guess_task(series: pl.Series) -> str:
    """Say whether labels are classes or a quantity."""
    if not series.dtype.is_numeric():
        return "regression" if series.dtype.is_temporal() else "classification"
    distinct = series.n_unique()
    whole = bool((series == series.round()).all()) if series.dtype.is_float() else True
    few_values = distinct <= MAX_NUMERIC_CLASSES and distinct <= max(2, series.len() / 2)
    return "classification" if whole and few_values else "regression"


def sort_classes(names: Iterable[str], dtype: pl.DataType) -> list[str]:
    """Classes in the order that their codes have: numbered ones by their numbers, 2 before 10."""
    return sorted(names, key=float) if dtype.is_numeric() else sorted(names)


def _values(series: pl.Series) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    numbers = series.cast(pl.Float64, strict=False) if not series.dtype.is_temporal() else None
    if numbers is None or numbers.null_count():
        bad = series.filter(numbers.is_null())[0] if numbers is not None else series[0]
        raise InputError(f"column {series.name!r} cannot be a quantity: {str(bad)!r} is not a number")
    values = numbers.to_numpy().astype(np.float64)
    if bad := int((~np.isfinite(values)).sum()):
        raise InputError(f"column {series.name!r} has {bad} infinite labels; empty ones are left out instead")
    if np.abs(values).max(initial=0) > MAX_ABS_VALUE:
        worst = values[np.abs(values).argmax()]
        raise InputError(
            f"column {series.name!r} has labels beyond {MAX_ABS_VALUE:g}, as {worst:g}; scale them"
        )
    return values


SET_SEPARATORS = (";", "|", ",")


def equivalent_sets(texts: Iterable[str]) -> dict[str, str]:
    """Different texts of one set, and the one that stands for it; empty where all sets are written alike."""
    sets: dict[tuple[str, ...], list[str]] = {}
    for text in sorted(set(texts)):
        if (parts := _parts(text)) is not None:
            sets.setdefault(parts, []).append(text)
    spelling = {
        text: parts[0].join(parts[1:]) for parts, same in sets.items() if len(same) > 1 for text in same
    }
    return {text: name for text, name in spelling.items() if text != name}


def match_set_spelling(texts: Iterable[str], classes: Iterable[str]) -> dict[str, str]:
    """Texts that are the set of one of the classes in another order, and that class."""
    known = {_parts(name): name for name in classes}
    spelling = {text: known.get(_parts(text)) for text in sorted(set(texts)) if _parts(text) is not None}
    return {text: name for text, name in spelling.items() if name is not None and name != text}


def _parts(text: str) -> tuple[str, ...] | None:
    """The mark between the parts and the parts in order; None where there is one part only."""
    mark = next((each for each in SET_SEPARATORS if each in text), None)
    return None if mark is None else (mark, *sorted({part.strip() for part in text.split(mark)}))


def normalise_sets(frame: pl.DataFrame, label: str, known: str | None) -> tuple[pl.DataFrame, list[str]]:
    """Write each set in one order, among labels and where right ones are known; and say so."""
    if frame.schema[label] != pl.String:
        return frame, []
    spelling = equivalent_sets(frame[label].drop_nulls())
    frame, notes = frame.with_columns(pl.col(label).replace(spelling)), []
    if spelling:
        text, name = next(iter(spelling.items()))
        notes = [f"labels that are the same set are one: {text!r} is taken as {name!r}"]
    if known is not None and frame.schema[known] == pl.String:
        spelled = match_set_spelling(frame[known].drop_nulls(), frame[label].drop_nulls().unique())
        frame = frame.with_columns(pl.col(known).replace(spelled))
    return frame, notes


def read_gold_labels(
    frame: pl.DataFrame, columns: Columns, labels: Labels, item: np.ndarray[Any, Any] | None,
    notes: list[str], warnings: list[str],
) -> GoldLabels | None:  # fmt: skip
    """Read true labels and marks, from their column and from reviews; None without both."""
    if columns.true_label is None and columns.reviewed is None:
        return None
    truth, none = empty_gold(labels.y, labels.task), np.zeros(frame.height, dtype=bool)
    right, wrong = none, none
    if columns.true_label is not None:
        truth, right, wrong = _answers(frame[columns.true_label], frame[columns.label], labels)
        _note_known(columns.true_label, truth, right, wrong, notes, warnings)
    if columns.reviewed is not None:
        accepted, rejected = read_flags(frame[columns.reviewed], "reviewed")
        right, wrong = right | (accepted & ~wrong), wrong | (rejected & ~right)
        yes, no = int(accepted.sum()), int(rejected.sum())
        notes.append(f"{yes:,} labels that a reviewer accepted and {no:,} that one rejected enter as known")
    if item is not None and (double := items_with_conflicting_gold(truth, item)):
        conflict = f"{len(double)} items have more than one correct label in column {columns.true_label!r}"
        warnings.append(f"{conflict}, the first {double[0]!r}")
    return combine_gold(labels.y, truth, right, wrong, item)


def _answers(series: pl.Series, labelled: pl.Series, labels: Labels) -> tuple[Any, Bools, Bools]:
    texts, values = _mark_values(series)
    flags = are_flags(values)
    truth, none = empty_gold(labels.y, labels.task), np.zeros(len(series), dtype=bool)
    if labels.task == "regression":
        if series.dtype == pl.Boolean or (flags and not series.dtype.is_numeric()):
            return truth, *read_flags(series, "true_label")
        numbers = series.cast(pl.Float64, strict=False)
        if numbers.null_count() > series.null_count():
            bad = series.filter(numbers.is_null() & series.is_not_null())[0]
            must = f"column {series.name!r} (true_label) must hold numbers, or true or false"
            raise InputError(f"{must}, where labels are numbers; got {str(bad)!r}")
        true_values = numbers.fill_null(float("nan")).to_numpy().astype(np.float64)
        if np.isinf(true_values).any():
            raise InputError(
                f"column {series.name!r} (true_label) must hold finite numbers, got an infinite one"
            )
        return true_values, none, none
    if flags and not values.is_in(labels.classes).all():
        return truth, *read_flags(series, "true_label")
    if len(values) and not values.is_in(labels.classes).any():
        why = f"column {series.name!r} (true_label) must hold true, false, or labels of {labelled.name!r}"
        raise InputError(f"{why}; got {values[0]!r}")
    truth = codes_in(texts, labels.classes)
    # A true label that is not among the given labels: the given label is wrong.
    return truth, none, texts.is_not_null().to_numpy() & (truth < 0)


def _note_known(
    name: str, truth: Any, right: Bools, wrong: Bools, notes: list[str], warnings: list[str]
) -> None:
    rows = int(has_gold_label(truth).sum())
    if right.any() or (wrong.any() and not rows):
        marks = f"{int(right.sum()):,} labels as right and {int(wrong.sum()):,} as wrong"
        notes.append(f"column {name!r} (true_label) marks {marks}, which enter as known")
    elif rows:
        known = rows + int(wrong.sum())
        notes.append(
            f"column {name!r} (true_label) holds the right label of {known:,} rows, which enter as known"
        )
    else:
        warnings.append(f"column {name!r} (true_label) says nothing of any label")


def _mark_values(series: pl.Series) -> tuple[pl.Series, pl.Series]:
    texts = as_text(series).str.strip_chars()
    return texts, texts.drop_nulls().unique(maintain_order=True)


class EvalGold(NamedTuple):
    """Labels known right or wrong: "marks" of right ones, or right "labels" where they are known."""

    known: Bools
    right: Bools
    kind: str


def read_test_label(
    series: pl.Series, labels: pl.Series, task: str, items: pl.Series | None = None
) -> EvalGold:
    """Read a gold column: true and false (or 1, 0, yes, no) where labels are not, or named so, are marks."""
    (texts, values), given = _mark_values(series), as_text(labels)
    flags = not len(values) or are_flags(values)
    of_label = values.filter(values.is_in(given.unique().to_list()))
    told_apart = flags and (task == "regression" or len(of_label) < len(values))
    if is_named(series.name, ALIASES["test_label"]) or told_apart:
        right, _ = read_flags(series, "test_label")
        # Marks that say where an answer is known do not say that this label is right.
        why = f"column {series.name!r} (test_label) says where the answer is known, not which it is"
        if is_named(series.name, HONEYPOT_ALIASES):
            raise InputError(f"{why}; name the column of answers")
        if items is not None:
            marked = pl.DataFrame({"item": items, "label": given}).filter(right)
            if len(unlike := marked.filter(pl.col("label").n_unique().over("item") > 1)["item"]):
                detail = f"it marks different labels of item {str(unlike[0])!r}"
                raise InputError(f"{why}: {detail}; name the column of answers")
        return EvalGold(right, right.copy(), "marks")
    if task == "regression":
        must = f"column {series.name!r} (test_label) must be true or false where labels are numbers"
        raise InputError(f"{must}, got {values[0]!r}")
    if len(values) and not len(of_label):
        must = f"column {series.name!r} (test_label) must hold true or false"
        raise InputError(f"{must}, or labels of column {labels.name!r}; got {values[0]!r}")
    known = texts.is_not_null().to_numpy()
    return EvalGold(known, known & (texts == given).fill_null(False).to_numpy(), "labels")
