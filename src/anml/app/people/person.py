"""One contributor of a run, as they may be shown to themselves: nobody else is named."""

from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from anml.app.audit.runs import read_contributors, read_run
from anml.app.relabel.queue import Found, of_run
from anml.app.relabel.rounds import source_of
from anml.core.errors import AnmlError, InputError
from anml.core.people.words import ACCUSED
from anml.core.stats import wilson

MOST_EXAMPLES = 20
DAYS_PER_YEAR, DAYS_PER_WEEK = 365.25, 7
# A column of texts is worth showing beside a label from this mean length on.
TELLING = 12


class Portrait(NamedTuple):
    """What a run says of one contributor: their line, and tables by class, confusion, week and example."""

    about: dict[str, Any]
    classes: pl.DataFrame
    confused: pl.DataFrame
    weeks: pl.DataFrame
    examples: pl.DataFrame


def person_of(folder: Path, who: str) -> Portrait:
    """What the run in a folder says of a contributor."""
    run = read_run(folder)
    table = read_contributors(folder, run)
    if table is None or "quality" not in table.columns:
        raise InputError(f"{folder} says nothing of contributors")
    row = table.filter(pl.col("contributor") == who)
    if row.is_empty():
        names = ", ".join(table["contributor"].head(5))
        raise InputError(f"{folder} has no contributor {who!r}; it has {names}, …")
    samples = run.samples.with_columns(pl.col("contributor").cast(pl.String), pl.col("label").cast(pl.String))
    if "suggested" not in samples.columns:
        samples = samples.with_columns(suggested=pl.lit(None, pl.String))
    theirs = samples.filter(pl.col("contributor") == who)
    other = pl.col("suggested") != pl.col("label")
    wrong = theirs.filter(other | (pl.col("p_correct") < 0.5))
    confused = wrong.filter(other).group_by("suggested", "label").agg(rows=pl.len())
    return Portrait(
        row.to_dicts()[0],
        _classes(_unless_accused(samples, table, who), who),
        confused.sort("rows", "suggested", "label", descending=[True, False, False]),
        _weeks(theirs),
        _examples(of_run(folder), folder, wrong.sort("p_correct", "row").head(MOST_EXAMPLES)),
    )


def _with_interval(frame: pl.DataFrame) -> pl.DataFrame:
    low, high = wilson(frame["right"].to_numpy(), frame["rows"].to_numpy())
    return frame.with_columns(low=pl.Series(low, dtype=pl.Float64), high=pl.Series(high, dtype=pl.Float64))


def _unless_accused(samples: pl.DataFrame, table: pl.DataFrame, who: str) -> pl.DataFrame:
    """Rows of one and of the others to measure by: `others` of their line leaves the accused out, too."""
    accused = table.filter(pl.col("verdict").is_in(ACCUSED) & (pl.col("contributor") != who))
    return samples.filter(~pl.col("contributor").is_in(accused["contributor"].implode()))


def _classes(samples: pl.DataFrame, who: str) -> pl.DataFrame:
    """By the likely label of a row: the share of right labels of one, and of the others together."""
    known, own = samples.drop_nulls("suggested"), pl.col("contributor") == who
    p = pl.col("p_correct")
    figures = {"rows": own.sum(), "right": p.filter(own).mean(), "others": p.filter(~own).mean()}
    found = known.group_by(label="suggested").agg(**figures)
    found = _with_interval(found.filter(pl.col("rows") > 0))
    return found.sort("right", "label", descending=[True, False])


def _weeks(theirs: pl.DataFrame) -> pl.DataFrame:
    """By week, the newest last; empty where times are not known or all labels are of one week."""
    if "age" not in theirs.columns:
        return pl.DataFrame()
    ago = (pl.col("age") * DAYS_PER_YEAR).round().cast(pl.Int64) // DAYS_PER_WEEK
    found = theirs.group_by(weeks_ago=ago).agg(rows=pl.len(), right=pl.col("p_correct").mean())
    return _with_interval(found.sort("weeks_ago", descending=True)) if found.height > 1 else pl.DataFrame()


def _examples(found: Found, folder: Path, wrong: pl.DataFrame) -> pl.DataFrame:
    """Labels with what was labelled, where the data are where they were and have a text."""
    names = [name for name in ("row", "item", "label", "suggested", "p_correct") if name in wrong.columns]
    try:
        frame = source_of(found, folder, None).table.frame
    except AnmlError:
        return wrong.select(names)
    lengths = {name: frame[name].str.len_chars().mean() or 0.0 for name, kind in frame.schema.items()
               if kind == pl.String}  # fmt: skip
    longest = max(lengths, key=lambda name: float(lengths[name]), default=None)  # type: ignore[arg-type]
    if longest is None or float(lengths[longest]) < TELLING:  # type: ignore[arg-type]
        return wrong.select(names)
    return wrong.select(*names, text=frame[longest][wrong["row"].to_numpy()])
