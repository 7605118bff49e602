"""A shape of judgement other than one class for each row: what it is made into, and what it was made of."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from anml.core.errors import InputError
from anml.core.text import pluralise
from anml.core.types import TASK_TYPES as TASK_TYPES
from anml.io.plain import as_text
from anml.io.roles import ALIASES, find_column, format_names

PREFERENCE, ORDINAL, TAGS, SPANS, BOXES = TASK_TYPES
# Options that name a role, where they are not called like it.
OPTIONS = {"document": "item", "type": "label"}
# Options of readers: names of columns, of a question, of a file.
Given = Mapping[str, Any]


class StructuredTask(NamedTuple):
    """Task type of a table, one of `SHAPES`, the name of its unit, and the frames of the task view.

    `nested`: True if spans of the consensus may be nested.
    """

    kind: str
    unit: str
    frames: dict[str, pl.DataFrame]
    nested: bool = False


class CandidateLabels(NamedTuple):
    """Labels of items by contributors, with the shape that they had, and what is to be said of it."""

    rows: pl.DataFrame
    shape: StructuredTask
    notes: list[str]
    warnings: list[str]


def column(frame: pl.DataFrame, given: Given, role: str, names: Sequence[str]) -> str:
    """The column that plays a role; without one there is nothing to read."""
    if (name := find_column(frame.columns, given, role, names)) is None:
        how = f"name one of {format_names(frame.columns)} with --{OPTIONS.get(role, role)}"
        how = (
            f"call one of {format_names(frame.columns)} so" if role in ("x", "y", "width", "height") else how
        )
        raise InputError(f"no column says {role}; {how}")
    return name


def contributor_column(frame: pl.DataFrame, given: Given) -> tuple[str, pl.DataFrame]:
    """Return the column of contributors, as text without gaps."""
    name = column(frame, given, "contributor", ALIASES["contributor"])
    frame = frame.with_columns(as_text(frame[name]))
    if nobody := frame[name].null_count():
        raise InputError(f"{nobody} of {frame.height} rows have no {name!r}: who judged them is needed")
    return name, frame


def extra_columns(frame: pl.DataFrame, roles: Sequence[str], taken: Sequence[str]) -> pl.DataFrame:
    """Columns without a role, credentials and times among them; a name that is taken has data_ before."""
    rest = [name for name in frame.columns if name not in roles]
    return frame.select(pl.col(name).alias(f"data_{name}" if name in taken else name) for name in rest)


def label_table(
    frame: pl.DataFrame, given: Given, names: Sequence[str]
) -> tuple[pl.DataFrame, str, str, str]:
    """A table of labels of items, with its columns of contributors, items and labels."""
    contributor, frame = contributor_column(frame, given)
    taken = {**given, "contributor": contributor}
    item = column(frame, taken, "item", ALIASES["item"])
    if gaps := frame[item].null_count():
        none = pluralise(gaps, "row has", "rows have")
        raise InputError(f"{none} no {item!r}: which item a row is of is needed")
    return frame, contributor, item, column(frame, {**taken, "item": item}, "label", names)
