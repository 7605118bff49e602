"""Warnings about the data itself, as counts that accuse nobody: what no weighing puts right."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from anml.core.checks import Array, Ints
from anml.core.errors import InputError
from anml.core.people.copies import copy_groups
from anml.core.words import counted, listed
from anml.gradients.crossfit import standardise
from anml.intake.prepare import Prepared
from anml.intake.roles import TIMES_SPENT, is_named
from anml.predictors.duplicates import near_copies

# A class with fewer labels says nothing of who supplies it.
SOME = 10
# Sentences of one kind; the rest is counted.
MOST_SAID = 3
# Hardly anybody labels a thing twice: above this share of rows, each is somebody's only one of its kind.
COMMON = 0.9
# More than this share of rows shared with one other contributor, and a contributor's rows are copies.
MOSTLY = 0.5

Names = npt.NDArray[np.str_]


class Copies(NamedTuple):
    """Rows of a contributor that are nearly the same as rows of others, and whose most of them are."""

    contributor: str
    rows: int
    copies: int
    copies_of: str


class DataWarnings(NamedTuple):
    """Warnings, one sentence each, and whose rows are mostly copies."""

    warnings: list[str]
    copies: list[Copies]


def look_at_data(prepared: Prepared) -> DataWarnings:
    """What is to be said of the rows used before anybody is judged by them."""
    who = prepared.contributor
    said: list[str] = []
    if who is None or len(np.unique(who)) < 2:
        return DataWarnings(said, [])
    if prepared.task == "classification":
        said += supplied_by_one(prepared.y, prepared.classes, who)
        if prepared.item is not None:
            said += one_voice(prepared.y, prepared.item, who)
    copies, about = copied(prepared.x, who, prepared.item)
    return DataWarnings([*said, *about], copies)


def with_copies(contributors: pl.DataFrame, copies: Sequence[Copies]) -> pl.DataFrame:
    """The table of contributors with `copies` and `copies_of`, where anybody has any."""
    if not copies:
        return contributors
    known = pl.DataFrame([each._asdict() for each in copies]).drop("rows")
    return contributors.join(known, on="contributor", how="left", maintain_order="left")


def with_time_spent(people: pl.DataFrame, samples: pl.DataFrame, frame: pl.DataFrame) -> pl.DataFrame:
    """People with the median of the seconds that they spent on a label, where a column says so."""
    name = next((each for each in frame.columns if is_named(each, TIMES_SPENT)), None)
    if name is None or not frame.schema[name].is_numeric() or people.is_empty():
        return people
    spent = frame[name].cast(pl.Float64)[samples["row"].to_numpy()]
    medians = samples.select("contributor", seconds=spent).group_by("contributor").agg(pl.median("seconds"))
    return people.join(medians, on="contributor", how="left", maintain_order="left")


def supplied_by_one(y: Ints, classes: Sequence[str], who: Names) -> list[str]:
    """Classes that all come from one contributor: label and contributor cannot be told apart there."""
    found = (
        pl.DataFrame({"y": y, "who": who})
        .group_by("y")
        .agg(rows=pl.len(), people=pl.col("who").n_unique(), first=pl.col("who").first())
        .filter((pl.col("people") == 1) & (pl.col("rows") >= SOME))
        .sort("rows", "y", descending=[True, False])
    )
    said = [
        f"all {rows:,} labels “{classes[code]}” are given by {first}: a wrong one looks like any other"
        for code, rows, first in found.select("y", "rows", "first").iter_rows()
    ]
    return _first(said, "class", "classes", "come from one contributor")


def _first(said: list[str], one: str, many: str, rest: str) -> list[str]:
    """The first sentences, and how many more there are."""
    more = len(said) - MOST_SAID
    told = f"{counted(more, f'more {one}', f'more {many}')} {rest}"
    return said if more <= 0 else [*said[:MOST_SAID], told]


def one_voice(y: Ints, item: npt.NDArray[Any], who: Names) -> list[str]:
    """Contributors who give the same labels to items far beyond what they know, and are counted as one."""
    names, codes = np.unique(who, return_inverse=True)
    camp = copy_groups(np.unique(item, return_inverse=True)[1], codes, y.astype(np.int64))
    groups = [names[camp == which].tolist() for which in np.flatnonzero(np.bincount(camp) > 1)]
    groups.sort(key=len, reverse=True)
    said = [
        f"{listed(group)} look like one person: the answers that they share count once" for group in groups
    ]
    return _first(said, "group", "groups", "like that")


def copied(x: Array, who: Names, item: Names | None = None) -> tuple[list[Copies], list[str]]:
    """Whose rows are mostly copies of another's, and what to say of it; one item's labels are no copies."""
    if x.shape[1] == 0:
        return [], []
    # Labels of one item have one row of features: of each item one is compared.
    thing = np.arange(len(who)) if item is None else np.unique(item, return_inverse=True)[1]
    first = np.unique(thing, return_index=True)[1]
    group = near_copies(standardise(np.asarray(x[first], dtype=np.float64)), np.random.default_rng(0))[thing]
    table = pl.DataFrame({"group": group, "who": who, "thing": thing}).unique(maintain_order=True)
    many = [pl.col(name).n_unique().over("group") > 1 for name in ("who", "thing")]
    across = table.filter(*many)
    if across.is_empty():
        return [], []
    sizes = dict(table.group_by("who").len().iter_rows())
    found = [
        Copies(name, sizes[name], shared, other)
        for name, other, shared in _pairs(across).iter_rows()
        if shared >= SOME and shared > MOSTLY * sizes[name]
    ]
    # Who copies is said of the people; what is left is said of the rows.
    if found or across.height < max(SOME, 0.01 * table.height):
        return found, []
    return [], [f"{counted(across.height, 'row')} nearly equal a row of another contributor"]


def _pairs(across: pl.DataFrame) -> pl.DataFrame:
    """For each contributor the other whose rows most of its own are like: who, other, rows."""
    people = across.select("group", "who").unique()
    both = across.join(people, on="group", suffix="_other").filter(pl.col("who") != pl.col("who_other"))
    shared = both.group_by("who", "who_other").agg(rows=pl.col("thing").n_unique())
    best = shared.sort("rows", "who_other", descending=[True, False]).group_by("who", maintain_order=True)
    return best.first().select("who", "who_other", "rows").sort("rows", "who", descending=[True, False])


def refuse_unnamed_items(prepared: Prepared) -> None:
    """Refuse a table whose rows mostly have an equal by somebody else until it is said what an item is."""
    who, x = prepared.contributor, prepared.x
    if prepared.item is None and who is not None and x.shape[1] and _look_like_items(x, who):
        raise InputError(
            "most rows have an equal by another contributor, so they seem to be labels of the same items: "
            "name the column that says which (--item), or one that differs in every row if they are not"
        )


def _look_like_items(x: Array, who: Names) -> bool:
    """Whether most rows have an equal by somebody else, and hardly anybody has the same row twice."""
    table = pl.DataFrame({"row": pl.DataFrame(np.asarray(x)).hash_rows(), "who": who})
    people = table.select(pl.col("who").n_unique().over("row")).to_series().to_numpy()
    once = table.select(pl.len().over("row", "who")).to_series().to_numpy() == 1
    return bool((people > 1).mean() > MOSTLY and once.mean() > COMMON)
