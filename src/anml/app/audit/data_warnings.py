"""Warnings about the data itself: what goes together with contributors, so that no weighing puts it right.

Everything here is a count; nobody is accused by it.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from anml.core.checks import Floats, Ints
from anml.core.errors import InputError
from anml.core.people.copies import copy_groups
from anml.core.words import counted, listed
from anml.gradients.crossfit import standardise
from anml.intake.columns import Columns
from anml.intake.prepare import Prepared
from anml.intake.roles import TIMES_SPENT, is_named
from anml.predictors.duplicates import near_copies

# A class with fewer labels says nothing of who supplies it, nor do fewer rows of a column's values.
SOME = 10
# Sentences of one kind; the rest is counted.
MOST_SAID = 3
# A value as common as this elsewhere is no news at one site; columns are compared at the largest of these.
COMMON, MOST_COLUMNS, MOST_SITES = 0.9, 300, 200
# A column with fewer values than this leaves out is as good as empty at a site.
EMPTY = 0.95
# How often chance alone may say so, over all columns and contributors of a table.
BY_CHANCE = 1e-3
# More than this share of rows shared with one other contributor, and a contributor's rows are copies.
MOSTLY = 0.5

Names = npt.NDArray[np.str_]


class Copies(NamedTuple):
    """Rows of a contributor that are nearly the same as rows of others, and whose most of them are."""

    contributor: str
    rows: int
    copies: int
    copies_of: str


class Found(NamedTuple):
    """Warnings, one sentence each, and whose rows are mostly copies."""

    warnings: list[str]
    copies: list[Copies]


def look_at_data(prepared: Prepared, columns: Columns, frame: pl.DataFrame) -> Found:
    """What is to be said of the rows used, `frame`, before anybody is judged by them."""
    who = prepared.contributor
    said = [] if columns.time is None else _times_missing(frame[columns.time], who)
    if who is None or len(np.unique(who)) < 2:
        return Found(said, [])
    if prepared.task == "classification":
        said += supplied_by_one(prepared.y, prepared.classes, who)
        if prepared.item is not None:
            said += one_voice(prepared.y, prepared.item, who)
    said += one_value_at_one_site(frame.select(columns.features), who)
    copies, about = copied(prepared.x, who, prepared.item)
    return Found([*said, *about], copies)


def with_copies(contributors: pl.DataFrame, copies: Sequence[Copies]) -> pl.DataFrame:
    """The table of contributors with `copies` and `copies_of`, where anybody has any."""
    if not copies:
        return contributors
    known = pl.DataFrame(
        {
            "contributor": [each.contributor for each in copies],
            "copies": [each.copies for each in copies],
            "copies_of": [each.copies_of for each in copies],
        }
    )
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
    """Classes that all come from one contributor: label and contributor cannot be told apart there.

    Examples
    --------
    >>> who = np.array(["ann"] * 20 + ["bob"] * 20)
    >>> supplied_by_one(np.arange(40) // 20, ["cat", "dog"], who)[0]
    'all 20 labels “cat” are given by ann: a wrong one looks like any other'
    """
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
    more = len(said) - MOST_SAID
    if more > 0:
        said = [*said[:MOST_SAID], f"{counted(more, 'more class', 'more classes')} come from one contributor"]
    return said


def one_voice(y: Ints, item: npt.NDArray[Any], who: Names) -> list[str]:
    """Contributors who give the same labels to items far beyond what they know, and are counted as one."""
    names, codes = np.unique(who, return_inverse=True)
    camp = copy_groups(np.unique(item, return_inverse=True)[1], codes, y.astype(np.int64))
    groups = [names[camp == which].tolist() for which in np.flatnonzero(np.bincount(camp) > 1)]
    groups.sort(key=len, reverse=True)
    said = [
        f"{listed(group)} give the same labels to the items they share, far more often than they are right: "
        "on each of these items they count as one"
        for group in groups[:MOST_SAID]
    ]
    if len(groups) > MOST_SAID:
        said.append(f"{counted(len(groups) - MOST_SAID, 'more group', 'more groups')} like that")
    return said


def one_value_at_one_site(features: pl.DataFrame, who: Names) -> list[str]:
    """Columns with one value, or none, in all rows of a contributor, beyond what chance would give."""
    sizes = pl.Series(who).value_counts(sort=True).filter(pl.col("count") >= SOME).head(MOST_SITES)
    sites, names = sizes[:, 0].to_list(), features.columns[:MOST_COLUMNS]
    if len(sites) < 2 or not names:
        return []
    bound = -np.log(BY_CHANCE / (len(sites) * len(names)))
    found: dict[tuple[str, str], list[str]] = {}
    for name in names:
        for site, how in _constant_sites(features[name], who, sites, float(bound)):
            found.setdefault((site, how), []).append(name)
    most = sorted(found.items(), key=lambda each: -len(each[1]))
    said = [_about_site(site, how, columns) for (site, how), columns in most[:MOST_SAID]]
    if len(most) > MOST_SAID:
        more = counted(len(most) - MOST_SAID, "more contributor has", "more contributors have")
        said.append(f"{more} columns like that")
    return said


def _constant_sites(values: pl.Series, who: Names, sites: list[str], bound: float) -> list[tuple[str, str]]:
    """Whose rows all have one value of a column, or hardly any, that is otherwise elsewhere; and how."""
    value, rows = pl.col("value"), pl.col("rows")
    table = pl.DataFrame({"value": values, "who": who})
    by_site = table.group_by("who").agg(
        rows=pl.len(), kinds=value.n_unique(), empty=value.null_count(), value=value.first()
    )
    hollow = pl.col("empty") >= EMPTY * rows
    constant = by_site.filter(((pl.col("kinds") == 1) | hollow) & pl.col("who").is_in(sites)).sort("who")
    if constant.is_empty():
        return []
    constant = constant.with_columns(
        value=pl.when(hollow).then(None).otherwise(value), same=pl.when(hollow).then("empty").otherwise(rows)
    )
    counts = table.group_by("value").agg(all=pl.len())
    joined = constant.join(counts, on="value", how="left", nulls_equal=True).with_columns(
        elsewhere=(pl.col("all") - pl.col("same") + 1) / (table.height - rows + 2)
    )
    rare = joined.filter((pl.col("elsewhere") <= COMMON) & (-pl.col("elsewhere").log() * rows > bound))
    return [
        (
            site,
            "the same in all" if empty < EMPTY * n else f"empty in {'all' if empty == n else 'nearly all'}",
        )
        for site, n, empty in rare.select("who", "rows", "empty").iter_rows()
    ]


def _about_site(site: str, how: str, columns: list[str]) -> str:
    named = listed([repr(name) for name in columns], most=3)
    are, vary = ("are", "vary") if len(columns) > 1 else ("is", "varies")
    return (
        f"column{'s' if len(columns) > 1 else ''} {named} {are} {how} rows of {site}, and "
        f"{'more often filled in' if how.startswith('empty') else vary} elsewhere: a model may learn the "
        "contributor instead"
    )


def _times_missing(times: pl.Series, who: Names | None) -> list[str]:
    """Whose rows have no time, where most of the missing ones are one contributor's."""
    missing = times.is_null().to_numpy()
    if who is None or missing.sum() < SOME:
        return []
    names, counts = np.unique(who[missing], return_counts=True)
    most = int(counts.argmax())
    if counts[most] < COMMON * missing.sum() or (who == names[most]).mean() > COMMON:
        return []
    return [f"{counts[most]:,} of the {missing.sum():,} rows without a time are {names[most]}’s"]


def copied(
    x: Floats | npt.NDArray[np.float32], who: Names, item: Names | None = None
) -> tuple[list[Copies], list[str]]:
    """Whose rows are mostly copies of another contributor's, and what to say of copies.

    Labels of the same item are no copies.
    """
    if x.shape[1] == 0:
        return [], []
    # Labels of one item have one row of features: of each item one is compared.
    thing = np.arange(len(who)) if item is None else np.unique(item, return_inverse=True)[1]
    first = np.unique(thing, return_index=True)[1]
    group = near_copies(standardise(np.asarray(x[first], dtype=np.float64)), np.random.default_rng(0))[thing]
    table = pl.DataFrame({"group": group, "who": who, "thing": thing}).unique(maintain_order=True)
    across = table.filter(
        (pl.col("who").n_unique().over("group") > 1) & (pl.col("thing").n_unique().over("group") > 1)
    )
    if across.is_empty():
        return [], []
    sizes = dict(table.group_by("who").len().iter_rows())
    found = [
        Copies(name, sizes[name], shared, other)
        for name, other, shared in _pairs(across).iter_rows()
        if shared >= SOME and shared > MOSTLY * sizes[name]
    ]
    if found:
        return found, _about_copies(found)
    if across.height < max(SOME, 0.01 * table.height):
        return [], []
    return [], [f"{counted(across.height, 'row')} nearly equal a row of another contributor"]


def _about_copies(found: list[Copies]) -> list[str]:
    """Each pair once: which of two contributors copied the other is not known."""
    pairs = {frozenset((each.contributor, each.copies_of)): each for each in reversed(found)}
    said = [
        f"{each.copies:,} of {each.rows:,} rows of {each.contributor} nearly equal rows of {each.copies_of}"
        for each in reversed(pairs.values())
    ]
    more = len(said) - MOST_SAID
    return said if more <= 0 else [*said[:MOST_SAID], f"{counted(more, 'more pair')} share rows like that"]


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


def _look_like_items(x: Floats | npt.NDArray[np.float32], who: Names) -> bool:
    """Whether most rows have an equal by somebody else, and hardly anybody has the same row twice."""
    table = pl.DataFrame({"row": pl.DataFrame(np.asarray(x)).hash_rows(), "who": who})
    people = table.select(pl.col("who").n_unique().over("row")).to_series().to_numpy()
    once = table.select(pl.len().over("row", "who")).to_series().to_numpy() == 1
    return bool((people > 1).mean() > MOSTLY and once.mean() > COMMON)
