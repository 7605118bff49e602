"""Warnings about the data itself, as counts: problems that sample weights cannot correct."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from anml.annotators.copies import copy_groups_in_memory
from anml.core.checks import Array, Ints
from anml.core.errors import InputError
from anml.core.stats import standardise
from anml.core.text import join_names, pluralise
from anml.io.prepare import Prepared
from anml.io.roles import TIMES_SPENT, is_named
from anml.predictors.duplicates import near_duplicate_groups

# A class with fewer labels says nothing of who supplies it.
MIN_CLASS_LABELS = 10
# Sentences of one kind; the rest is counted.
MAX_SENTENCES = 3
# Hardly anybody labels a thing twice: above this share of rows, each is somebody's only one of its kind.
MAX_UNIQUE_SHARE = 0.9
# More than this share of rows shared with one other contributor, and a contributor's rows are copies.
COPY_SHARE = 0.5

Names = npt.NDArray[np.str_]
DUPLICATES = {"contributor": pl.String, "duplicate_rows": pl.UInt32, "duplicates_of": pl.String}
NO_DUPLICATES = pl.DataFrame(schema=DUPLICATES)


def check_data(prepared: Prepared) -> tuple[pl.DataFrame, list[str]]:
    """Contributors whose rows are mostly near-duplicates, and warnings about the labels."""
    who = prepared.contributor
    said = case_variants(prepared.classes) if prepared.task == "classification" else []
    if who is None or len(np.unique(who)) < 2:
        return NO_DUPLICATES, said
    if prepared.task == "classification":
        said += classes_from_one_contributor(prepared.y, prepared.classes, who)
        if prepared.item is not None:
            said += duplicate_accounts(prepared.y, prepared.item, who)
    copies, about = copied_rows(prepared.x, who, prepared.item)
    return copies, [*said, *about]


def add_copy_columns(contributors: pl.DataFrame, copies: pl.DataFrame) -> pl.DataFrame:
    """The table of contributors with `duplicate_rows` and `duplicates_of`, if any contributor has some."""
    known = contributors.join(copies, on="contributor", how="left", maintain_order="left")
    return contributors if copies.is_empty() else known


def add_median_seconds(people: pl.DataFrame, samples: pl.DataFrame, frame: pl.DataFrame) -> pl.DataFrame:
    """People with the median of the seconds that they spent on a label, where a column says so."""
    name = next((each for each in frame.columns if is_named(each, TIMES_SPENT)), None)
    if name is None or not frame.schema[name].is_numeric() or people.is_empty():
        return people
    spent = frame[name].cast(pl.Float64)[samples["row"].to_numpy()]
    seconds = samples.select("contributor", median_seconds=spent)
    medians = seconds.group_by("contributor").agg(pl.median("median_seconds"))
    return people.join(medians, on="contributor", how="left", maintain_order="left")


def case_variants(classes: Sequence[str]) -> list[str]:
    """Classes that differ in nothing but capitals: each is a class of its own, so who writes one is wrong."""
    spelled: dict[str, list[str]] = {}
    for name in classes:
        spelled.setdefault(str(name).casefold(), []).append(f"“{name}”")
    alike = [join_names(names) for names in spelled.values() if len(names) > 1]
    said = [
        f"labels {names} differ only in letter case and are treated as different classes" for names in alike
    ]
    return _first(said, "group", "groups", "of labels that differ only in letter case")


def classes_from_one_contributor(y: Ints, classes: Sequence[str], who: Names) -> list[str]:
    """Classes that all come from one contributor: label and contributor cannot be told apart there."""
    found = (
        pl.DataFrame({"y": y, "who": who})
        .group_by("y")
        .agg(rows=pl.len(), people=pl.col("who").n_unique(), first=pl.col("who").first())
        .filter((pl.col("people") == 1) & (pl.col("rows") >= MIN_CLASS_LABELS))
        .sort("rows", "y", descending=[True, False])
    )
    said = [
        f"all {rows:,} labels “{classes[code]}” are given by {first}; wrong ones cannot be detected"
        for code, rows, first in found.select("y", "rows", "first").iter_rows()
    ]
    return _first(said, "class", "classes", "with labels from one contributor only")


def _first(said: list[str], one: str, many: str, rest: str) -> list[str]:
    more = len(said) - MAX_SENTENCES
    told = f"{pluralise(more, f'more {one}', f'more {many}')} {rest}"
    return said if more <= 0 else [*said[:MAX_SENTENCES], told]


def duplicate_accounts(y: Ints, item: npt.NDArray[Any], who: Names) -> list[str]:
    """Contributors who give the same labels to items far beyond what they know, and are counted as one."""
    names, codes = np.unique(who, return_inverse=True)
    camp = copy_groups_in_memory(np.unique(item, return_inverse=True)[1], codes, y.astype(np.int64))
    groups = [names[camp == which].tolist() for which in np.flatnonzero(np.bincount(camp) > 1)]
    groups.sort(key=len, reverse=True)
    said = [
        f"{join_names(each)} give nearly identical labels and are treated as one copy group: "
        "labels that they share count as one vote"
        for each in groups
    ]
    return _first(said, "copy group", "copy groups", "of contributors")


def copied_rows(x: Array, who: Names, item: Names | None = None) -> tuple[pl.DataFrame, list[str]]:
    """Detect contributors whose rows mostly duplicate another's; labels of one item are no duplicates."""
    if x.shape[1] == 0:
        return NO_DUPLICATES, []
    # Labels of one item have one row of features: of each item one is compared.
    thing = np.arange(len(who)) if item is None else np.unique(item, return_inverse=True)[1]
    first = np.unique(thing, return_index=True)[1]
    group = near_duplicate_groups(
        standardise(np.asarray(x[first], dtype=np.float64)), np.random.default_rng(0)
    )[thing]
    table = pl.DataFrame({"group": group, "who": who, "thing": thing}).unique(maintain_order=True)
    many = [pl.col(name).n_unique().over("group") > 1 for name in ("who", "thing")]
    across = table.filter(*many)
    people = across.select("group", duplicates_of="who").unique()
    both = across.join(people, on="group").filter(pl.col("who") != pl.col("duplicates_of"))
    shared = both.group_by("who", "duplicates_of").agg(duplicate_rows=pl.col("thing").n_unique())
    # For each contributor the other whose rows most of its own are like.
    best = shared.sort("duplicate_rows", "duplicates_of", descending=[True, False])
    best = best.unique("who", keep="first")
    count = pl.col("duplicate_rows")
    mostly = (count >= MIN_CLASS_LABELS) & (count > COPY_SHARE * pl.col("len"))
    found = best.join(table.group_by("who").len(), on="who").filter(mostly)
    found = found.select(pl.col("who").alias("contributor"), "duplicate_rows", "duplicates_of")
    # Who copies is said of the people; what is left is said of the rows.
    if not found.is_empty() or across.height < max(MIN_CLASS_LABELS, 0.01 * table.height):
        return found.sort("duplicate_rows", "contributor", descending=[True, False]), []
    return found, [
        f"{pluralise(across.height, 'row is', 'rows are')} near-duplicates of rows of another contributor"
    ]


def require_item_column(prepared: Prepared) -> None:
    """Refuse a table whose rows mostly have an equal by somebody else until it is said what an item is."""
    who, x = prepared.contributor, prepared.x
    if prepared.item is not None or who is None or not x.shape[1]:
        return
    table = pl.DataFrame({"row": pl.DataFrame(np.asarray(x)).hash_rows(), "who": who})
    shared = table.select((pl.col("who").n_unique().over("row") > 1).mean()).item()
    once = table.select((pl.len().over("row", "who") == 1).mean()).item()
    if shared > COPY_SHARE and once > MAX_UNIQUE_SHARE:
        raise InputError(
            "most rows are equal to a row of another contributor, so they seem to be labels of the same "
            "items; name the item column with --item, or a column with a different value in each row"
        )
