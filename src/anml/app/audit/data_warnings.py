"""Warnings about the data itself, as counts that accuse nobody: what no weighing puts right."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from anml.core.checks import Array, Ints
from anml.core.errors import InputError
from anml.core.people.copies import copy_groups
from anml.core.stats import standardise
from anml.core.words import counted, listed
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
NO_COPIES = pl.DataFrame(schema={"contributor": pl.String, "copies": pl.UInt32, "copies_of": pl.String})


def look_at_data(prepared: Prepared) -> tuple[pl.DataFrame, list[str]]:
    """Whose rows are mostly copies, and what else is to be said of rows before anybody is judged by them."""
    who = prepared.contributor
    said = spelled_alike(prepared.classes) if prepared.task == "classification" else []
    if who is None or len(np.unique(who)) < 2:
        return NO_COPIES, said
    if prepared.task == "classification":
        said += supplied_by_one(prepared.y, prepared.classes, who)
        if prepared.item is not None:
            said += one_voice(prepared.y, prepared.item, who)
    copies, about = copied(prepared.x, who, prepared.item)
    return copies, [*said, *about]


def with_copies(contributors: pl.DataFrame, copies: pl.DataFrame) -> pl.DataFrame:
    """The table of contributors with `copies` and `copies_of`, where anybody has any."""
    known = contributors.join(copies, on="contributor", how="left", maintain_order="left")
    return contributors if copies.is_empty() else known


def with_time_spent(people: pl.DataFrame, samples: pl.DataFrame, frame: pl.DataFrame) -> pl.DataFrame:
    """People with the median of the seconds that they spent on a label, where a column says so."""
    name = next((each for each in frame.columns if is_named(each, TIMES_SPENT)), None)
    if name is None or not frame.schema[name].is_numeric() or people.is_empty():
        return people
    spent = frame[name].cast(pl.Float64)[samples["row"].to_numpy()]
    medians = samples.select("contributor", seconds=spent).group_by("contributor").agg(pl.median("seconds"))
    return people.join(medians, on="contributor", how="left", maintain_order="left")


def spelled_alike(classes: Sequence[str]) -> list[str]:
    """Classes that differ in nothing but capitals: each is a class of its own, so who writes one is wrong."""
    spelled: dict[str, list[str]] = {}
    for name in classes:
        spelled.setdefault(str(name).casefold(), []).append(f"“{name}”")
    alike = [listed(names) for names in spelled.values() if len(names) > 1]
    said = [f"labels {names} differ in capitals only, and count as different" for names in alike]
    return _first(said, "label", "labels", "like that")


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
    more = len(said) - MOST_SAID
    told = f"{counted(more, f'more {one}', f'more {many}')} {rest}"
    return said if more <= 0 else [*said[:MOST_SAID], told]


def one_voice(y: Ints, item: npt.NDArray[Any], who: Names) -> list[str]:
    """Contributors who give the same labels to items far beyond what they know, and are counted as one."""
    names, codes = np.unique(who, return_inverse=True)
    camp = copy_groups(np.unique(item, return_inverse=True)[1], codes, y.astype(np.int64))
    groups = [names[camp == which].tolist() for which in np.flatnonzero(np.bincount(camp) > 1)]
    groups.sort(key=len, reverse=True)
    said = [f"{listed(each)} look like one person: the answers that they share count once" for each in groups]
    return _first(said, "group", "groups", "like that")


def copied(x: Array, who: Names, item: Names | None = None) -> tuple[pl.DataFrame, list[str]]:
    """Whose rows are mostly copies of another's, and what to say of it; one item's labels are no copies."""
    if x.shape[1] == 0:
        return NO_COPIES, []
    # Labels of one item have one row of features: of each item one is compared.
    thing = np.arange(len(who)) if item is None else np.unique(item, return_inverse=True)[1]
    first = np.unique(thing, return_index=True)[1]
    group = near_copies(standardise(np.asarray(x[first], dtype=np.float64)), np.random.default_rng(0))[thing]
    table = pl.DataFrame({"group": group, "who": who, "thing": thing}).unique(maintain_order=True)
    many = [pl.col(name).n_unique().over("group") > 1 for name in ("who", "thing")]
    across = table.filter(*many)
    people = across.select("group", copies_of="who").unique()
    both = across.join(people, on="group").filter(pl.col("who") != pl.col("copies_of"))
    shared = both.group_by("who", "copies_of").agg(copies=pl.col("thing").n_unique())
    # For each contributor the other whose rows most of its own are like.
    best = shared.sort("copies", "copies_of", descending=[True, False]).unique("who", keep="first")
    mostly = (pl.col("copies") >= SOME) & (pl.col("copies") > MOSTLY * pl.col("len"))
    found = best.join(table.group_by("who").len(), on="who").filter(mostly)
    found = found.select(pl.col("who").alias("contributor"), "copies", "copies_of")
    # Who copies is said of the people; what is left is said of the rows.
    if not found.is_empty() or across.height < max(SOME, 0.01 * table.height):
        return found.sort("copies", "contributor", descending=[True, False]), []
    return found, [f"{counted(across.height, 'row')} nearly equal a row of another contributor"]


def refuse_unnamed_items(prepared: Prepared) -> None:
    """Refuse a table whose rows mostly have an equal by somebody else until it is said what an item is."""
    who, x = prepared.contributor, prepared.x
    if prepared.item is not None or who is None or not x.shape[1]:
        return
    table = pl.DataFrame({"row": pl.DataFrame(np.asarray(x)).hash_rows(), "who": who})
    shared = table.select((pl.col("who").n_unique().over("row") > 1).mean()).item()
    once = table.select((pl.len().over("row", "who") == 1).mean()).item()
    if shared > MOSTLY and once > COMMON:
        raise InputError(
            "most rows have an equal by another contributor, so they seem to be labels of the same items: "
            "name the column that says which (--item), or one that differs in every row if they are not"
        )
