"""What is known of some labels: right ones, which count as observed, and gold, which only checks."""

from typing import Any, NamedTuple

import numpy as np
import polars as pl

from anml.core.answers import Answers, answers, contradicted, told, unknown
from anml.core.checks import Bools
from anml.core.errors import InputError
from anml.intake.columns import Columns
from anml.intake.labels import Labels
from anml.intake.plain import as_text, codes_in
from anml.intake.roles import ALIASES, TRAPS, are_flags, is_named, read_flags


def read_known(
    frame: pl.DataFrame, columns: Columns, labels: Labels, item: np.ndarray[Any, Any] | None,
    notes: list[str], warnings: list[str],
) -> Answers | None:  # fmt: skip
    """Read right labels and marks, from the column of what is known and from reviews; None for neither."""
    if columns.known is None and columns.reviewed is None:
        return None
    truth, none = unknown(labels.y, labels.task), np.zeros(frame.height, dtype=bool)
    right, wrong = none, none
    if columns.known is not None:
        truth, right, wrong = _answers(frame[columns.known], frame[columns.label], labels)
        _say(columns.known, truth, right, wrong, notes, warnings)
    if columns.reviewed is not None:
        accepted, rejected = read_flags(frame[columns.reviewed], "reviewed")
        right, wrong = right | (accepted & ~wrong), wrong | (rejected & ~right)
        notes.append(
            f"{int(accepted.sum()):,} labels that a reviewer accepted and {int(rejected.sum()):,} that one "
            "rejected enter as known"
        )
    if item is not None and (double := contradicted(truth, item)):
        warnings.append(
            f"{len(double)} items have more than one right label in column {columns.known!r} (known), "
            f"the first {double[0]!r}"
        )
    return answers(labels.y, truth, right, wrong, item)


def _answers(series: pl.Series, labelled: pl.Series, labels: Labels) -> tuple[Any, Bools, Bools]:
    said = as_text(series).str.strip_chars()
    values = said.drop_nulls().unique(maintain_order=True)
    flags = are_flags(values)
    truth, none = unknown(labels.y, labels.task), np.zeros(len(series), dtype=bool)
    if labels.task == "regression":
        if series.dtype == pl.Boolean or (flags and not series.dtype.is_numeric()):
            return truth, *read_flags(series, "known")
        return _numbers(series), none, none
    if flags and not values.is_in(labels.classes).all():
        return truth, *read_flags(series, "known")
    if len(values) and not values.is_in(labels.classes).any():
        raise InputError(
            f"column {series.name!r} (known) must hold true or false, or labels of column "
            f"{labelled.name!r}; got {values[0]!r}"
        )
    truth = codes_in(said, labels.classes)
    # A right label that nobody gave: whatever was given is wrong.
    return truth, none, said.is_not_null().to_numpy() & (truth < 0)


def _numbers(series: pl.Series) -> Any:
    numbers = series.cast(pl.Float64, strict=False)
    if numbers.null_count() > series.null_count():
        bad = series.filter(numbers.is_null() & series.is_not_null())[0]
        raise InputError(
            f"column {series.name!r} (known) must hold numbers, or true or false, where labels are numbers; "
            f"got {str(bad)!r}"
        )
    found = numbers.fill_null(float("nan")).to_numpy().astype(np.float64)
    if np.isinf(found).any():
        raise InputError(f"column {series.name!r} (known) must hold finite numbers, got an infinite one")
    return found


def _say(name: str, truth: Any, right: Bools, wrong: Bools, notes: list[str], warnings: list[str]) -> None:
    rows = int(told(truth).sum())
    if right.any() or (wrong.any() and not rows):
        notes.append(
            f"column {name!r} (known) marks {int(right.sum()):,} labels as right and {int(wrong.sum()):,} as "
            "wrong, which enter as known"
        )
    elif rows:
        known = rows + int(wrong.sum())
        notes.append(f"column {name!r} (known) holds the right label of {known:,} rows, which enter as known")
    else:
        warnings.append(f"column {name!r} (known) says nothing of any label")


class Gold(NamedTuple):
    """Labels known right or wrong: "marks" of right ones, or right "labels" where they are known."""

    known: Bools
    right: Bools
    kind: str


def read_gold(series: pl.Series, labels: pl.Series, task: str, items: pl.Series | None = None) -> Gold:
    """Read a gold column: true and false (or 1, 0, yes, no) where labels are not, or named so, are marks."""
    said, given = as_text(series).str.strip_chars(), as_text(labels)
    values = said.drop_nulls().unique(maintain_order=True)
    flags = not len(values) or are_flags(values)
    of_label = values.filter(values.is_in(given.unique().to_list()))
    told_apart = flags and (task == "regression" or len(of_label) < len(values))
    if is_named(series.name, ALIASES["gold"]) or told_apart:
        right, _ = read_flags(series, "gold")
        _check_marks(series.name, right, given, items)
        return Gold(right, right.copy(), "marks")
    if task == "regression":
        raise InputError(
            f"column {series.name!r} (gold) must be true or false where labels are numbers, got {values[0]!r}"
        )
    if len(values) and not len(of_label):
        raise InputError(
            f"column {series.name!r} (gold) must hold true or false, or labels of column {labels.name!r}; "
            f"got {values[0]!r}"
        )
    known = said.is_not_null().to_numpy()
    return Gold(known, known & (said == given).fill_null(False).to_numpy(), "labels")


def _check_marks(name: str, right: Bools, labels: pl.Series, items: pl.Series | None) -> None:
    """Refuse marks that say where an answer is known and not that this label is right."""
    why = f"column {name!r} (gold) says where the answer is known, not which it is"
    if is_named(name, TRAPS):
        raise InputError(f"{why}; name the column of answers")
    if items is None:
        return
    marked = pl.DataFrame({"item": items, "label": labels}).filter(right)
    unlike = (
        marked.group_by("item", maintain_order=True)
        .agg(pl.col("label").n_unique())
        .filter(pl.col("label") > 1)
    )
    if unlike.height:
        raise InputError(
            f"{why}: it marks different labels of item {str(unlike['item'][0])!r}; name the column of answers"
        )
