"""Gold: what is known of some labels. It checks how far beliefs hold, and is used for nothing else."""

from typing import NamedTuple

import polars as pl

from anml.core.checks import Bools
from anml.core.errors import InputError
from anml.intake.plain import as_text
from anml.intake.roles import ALIASES, TRAPS, are_flags, is_named, read_flags


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
