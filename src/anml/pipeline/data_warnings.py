"""Warnings about problems of the data that sample weights cannot correct."""

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

# Classes with fewer labels are not tested.
MIN_CLASS_LABELS = 10
# Maximum number of sentences of one kind.
MAX_SENTENCES = 3
# Minimum share of rows unique within their contributor, to infer shared items.
MAX_UNIQUE_SHARE = 0.9
# Share of rows equal to those of one other contributor, from which rows are duplicates.
COPY_SHARE = 0.5

Names = npt.NDArray[np.str_]
DUPLICATES = {"contributor": pl.String, "duplicate_rows": pl.UInt32, "duplicates_of": pl.String}
NO_DUPLICATES = pl.DataFrame(schema=DUPLICATES)


def check_data(prepared: Prepared) -> tuple[pl.DataFrame, list[str]]:
    """Contributors whose rows are mostly near-duplicates, and warnings about the labels."""
    contributors = prepared.contributor
    warnings: list[str] = []
    if contributors is None or len(np.unique(contributors)) < 2:
        return NO_DUPLICATES, warnings
    if prepared.task == "classification":
        warnings += classes_from_one_contributor(prepared.y, prepared.classes, contributors)
        if prepared.item is not None:
            warnings += duplicate_accounts(prepared.y, prepared.item, contributors)
    copies, copy_warnings = copied_rows(prepared.x, contributors, prepared.item)
    return copies, [*warnings, *copy_warnings]


def add_copy_columns(contributors: pl.DataFrame, copies: pl.DataFrame) -> pl.DataFrame:
    """Add `duplicate_rows` and `duplicates_of` to the contributors, if there are duplicates."""
    with_copies = contributors.join(copies, on="contributor", how="left", maintain_order="left")
    return contributors if copies.is_empty() else with_copies


def add_median_seconds(people: pl.DataFrame, samples: pl.DataFrame, frame: pl.DataFrame) -> pl.DataFrame:
    """Add the median seconds per label to the contributors, if there is a column of seconds."""
    name = next((each for each in frame.columns if is_named(each, TIMES_SPENT)), None)
    if name is None or not frame.schema[name].is_numeric() or people.is_empty():
        return people
    spent = frame[name].cast(pl.Float64)[samples["row"].to_numpy()]
    seconds = samples.select("contributor", median_seconds=spent)
    medians = seconds.group_by("contributor").agg(pl.median("median_seconds"))
    return people.join(medians, on="contributor", how="left", maintain_order="left")


def classes_from_one_contributor(y: Ints, classes: Sequence[str], contributors: Names) -> list[str]:
    """Warn about classes with labels from one contributor only: their errors cannot be detected."""
    single = (
        pl.DataFrame({"y": y, "who": contributors})
        .group_by("y")
        .agg(rows=pl.len(), people=pl.col("who").n_unique(), first=pl.col("who").first())
        .filter((pl.col("people") == 1) & (pl.col("rows") >= MIN_CLASS_LABELS))
        .sort("rows", "y", descending=[True, False])
    )
    warnings = [
        f"all {rows:,} labels “{classes[code]}” are given by {first}; wrong ones cannot be detected"
        for code, rows, first in single.select("y", "rows", "first").iter_rows()
    ]
    return _first(warnings, "class", "classes", "with labels from one contributor only")


def _first(warnings: list[str], singular: str, plural: str, rest: str) -> list[str]:
    more = len(warnings) - MAX_SENTENCES
    remaining = f"{pluralise(more, f'more {singular}', f'more {plural}')} {rest}"
    return warnings if more <= 0 else [*warnings[:MAX_SENTENCES], remaining]


def duplicate_accounts(y: Ints, item: npt.NDArray[Any], contributors: Names) -> list[str]:
    """Warn about copy groups: contributors whose labels agree more than their accuracy explains."""
    names, codes = np.unique(contributors, return_inverse=True)
    copy_group = copy_groups_in_memory(np.unique(item, return_inverse=True)[1], codes, y.astype(np.int64))
    groups = [names[copy_group == group].tolist() for group in np.flatnonzero(np.bincount(copy_group) > 1)]
    groups.sort(key=len, reverse=True)
    warnings = [
        f"{join_names(each)} give nearly identical labels and are treated as one copy group: "
        "labels that they share count as one vote"
        for each in groups
    ]
    return _first(warnings, "copy group", "copy groups", "of contributors")


def copied_rows(x: Array, contributors: Names, item: Names | None = None) -> tuple[pl.DataFrame, list[str]]:
    """Detect contributors whose rows mostly duplicate those of another; rows of one item are not compared."""
    if x.shape[1] == 0:
        return NO_DUPLICATES, []
    # Labels of one item have equal features, so one row per item is compared.
    items = np.arange(len(contributors)) if item is None else np.unique(item, return_inverse=True)[1]
    first = np.unique(items, return_index=True)[1]
    group = near_duplicate_groups(
        standardise(np.asarray(x[first], dtype=np.float64)), np.random.default_rng(0)
    )[items]
    table = pl.DataFrame({"group": group, "who": contributors, "thing": items}).unique(maintain_order=True)
    several = [pl.col(name).n_unique().over("group") > 1 for name in ("who", "thing")]
    across = table.filter(*several)
    others = across.select("group", duplicates_of="who").unique()
    pairs = across.join(others, on="group").filter(pl.col("who") != pl.col("duplicates_of"))
    shared = pairs.group_by("who", "duplicates_of").agg(duplicate_rows=pl.col("thing").n_unique())
    # For each contributor the other with the most duplicates.
    best = shared.sort("duplicate_rows", "duplicates_of", descending=[True, False])
    best = best.unique("who", keep="first")
    count = pl.col("duplicate_rows")
    mostly = (count >= MIN_CLASS_LABELS) & (count > COPY_SHARE * pl.col("len"))
    copies = best.join(table.group_by("who").len(), on="who").filter(mostly)
    copies = copies.select(pl.col("who").alias("contributor"), "duplicate_rows", "duplicates_of")
    # Report copied rows in the contributor table, otherwise in one warning.
    if not copies.is_empty() or across.height < max(MIN_CLASS_LABELS, 0.01 * table.height):
        return copies.sort("duplicate_rows", "contributor", descending=[True, False]), []
    return copies, [
        f"{pluralise(across.height, 'row is', 'rows are')} near-duplicates of rows of another contributor"
    ]


def require_item_column(prepared: Prepared) -> None:
    """Raise if most rows equal a row of another contributor and no item column is named."""
    contributors, x = prepared.contributor, prepared.x
    if prepared.item is not None or contributors is None or not x.shape[1]:
        return
    table = pl.DataFrame({"row": pl.DataFrame(np.asarray(x)).hash_rows(), "who": contributors})
    shared = table.select((pl.col("who").n_unique().over("row") > 1).mean()).item()
    once = table.select((pl.len().over("row", "who") == 1).mean()).item()
    if shared > COPY_SHARE and once > MAX_UNIQUE_SHARE:
        raise InputError(
            "most rows are equal to a row of another contributor, so they seem to be labels of the same "
            "items; name the item column with --item, or a column with a different value in each row"
        )
