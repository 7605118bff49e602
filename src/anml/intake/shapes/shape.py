"""A shape of judgement other than one class for each row: what it is made into, and what it was made of."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from anml.core.domain import SHAPES as SHAPES
from anml.core.errors import InputError
from anml.core.words import counted
from anml.intake.plain import as_text
from anml.intake.roles import ALIASES, find_column, shown

PREFERENCE, GRADES, TAGS, SPANS, BOXES = SHAPES
# Options that name a role, where they are not called like it.
OPTIONS = {"document": "item", "type": "label"}
# What readers are told by the user: names of columns, of a question, of a file beside.
Given = Mapping[str, Any]


class Shape(NamedTuple):
    """What a table of labels was made of: one of `SHAPES`, what a row is called, and what views need.

    `nested`: whether spans of the consensus may lie within each other.
    """

    kind: str
    unit: str
    frames: dict[str, pl.DataFrame]
    nested: bool = False


class Reduced(NamedTuple):
    """Labels of items by contributors, with the shape that they had, and what is to be said of it."""

    rows: pl.DataFrame
    shape: Shape
    notes: list[str]
    warnings: list[str]


def column(frame: pl.DataFrame, given: Given, role: str, names: Sequence[str]) -> str:
    """The column that plays a role; without one there is nothing to read."""
    if (found := find_column(frame.columns, given, role, names)) is None:
        how = f"name one of {shown(frame.columns)} with --{OPTIONS.get(role, role)}"
        how = f"call one of {shown(frame.columns)} so" if role in ("x", "y", "width", "height") else how
        raise InputError(f"no column says {role}; {how}")
    return found


def people(frame: pl.DataFrame, given: Given) -> tuple[str, pl.DataFrame]:
    """The column of contributors, as text; everybody has a name."""
    name = column(frame, given, "contributor", ALIASES["contributor"])
    frame = frame.with_columns(as_text(frame[name]))
    if nobody := frame[name].null_count():
        raise InputError(f"{nobody} of {frame.height} rows have no {name!r}: who judged them is needed")
    return name, frame


def beside(frame: pl.DataFrame, roles: Sequence[str], taken: Sequence[str]) -> pl.DataFrame:
    """Columns without a role, credentials and times among them; a name that is taken has data_ before."""
    rest = [name for name in frame.columns if name not in roles]
    return frame.select(pl.col(name).alias(f"data_{name}" if name in taken else name) for name in rest)


def labelled(frame: pl.DataFrame, given: Given, names: Sequence[str]) -> tuple[pl.DataFrame, str, str, str]:
    """A table of labels of items, with its columns of contributors, items and labels."""
    contributor, frame = people(frame, given)
    taken = {**given, "contributor": contributor}
    item = column(frame, taken, "item", ALIASES["item"])
    if gaps := frame[item].null_count():
        none = counted(gaps, "row has", "rows have")
        raise InputError(f"{none} no {item!r}: which item a row is of is needed")
    return frame, contributor, item, column(frame, {**taken, "item": item}, "label", names)
