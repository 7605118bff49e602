"""Report on one contributor of a run, without names of other contributors."""

from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from anml.annotators.words import FLAGGED
from anml.core.errors import AnmlError, InputError
from anml.core.stats import wilson
from anml.pipeline.read import read_contributors, read_run
from anml.pipeline.review_queue import QueueInput, queue_input_from_run
from anml.pipeline.rounds import source_of

MOST_EXAMPLES = 20
DAYS_PER_YEAR, DAYS_PER_WEEK = 365.25, 7
# Minimum mean length of a text column that is shown with a label.
MIN_MEAN_TEXT_LENGTH = 12


class ContributorReport(NamedTuple):
    """One contributor of a run: the row of contributors.csv, and tables by label, error, week and example."""

    summary: dict[str, Any]
    by_label: pl.DataFrame
    confusions: pl.DataFrame
    by_week: pl.DataFrame
    examples: pl.DataFrame


def contributor_report(folder: Path, name: str) -> ContributorReport:
    """Return the report on a contributor of the run in a folder."""
    run = read_run(folder)
    table = read_contributors(folder, run)
    if table is None or "accuracy" not in table.columns:
        raise InputError(f"the run in {folder} has no estimates of contributors")
    row = table.filter(pl.col("contributor") == name)
    if row.is_empty():
        names = ", ".join(table["contributor"].head(5))
        raise InputError(f"the run in {folder} has no contributor {name!r}; it has {names}, …")
    samples = run.samples.with_columns(pl.col("contributor").cast(pl.String), pl.col("label").cast(pl.String))
    if "suggested_label" not in samples.columns:
        samples = samples.with_columns(suggested_label=pl.lit(None, pl.String))
    rows = samples.filter(pl.col("contributor") == name)
    differs = pl.col("suggested_label") != pl.col("label")
    wrong = rows.filter(differs | (pl.col("p_correct") < 0.5))
    pair = ("suggested_label", "label")
    confusions = wrong.filter(differs).group_by(pair).agg(rows=pl.len())
    return ContributorReport(
        row.to_dicts()[0],
        _classes(_without_flagged(samples, table, name), name),
        confusions.sort("rows", *pair, descending=[True, False, False]),
        _weeks(rows),
        _examples(queue_input_from_run(folder), folder, wrong.sort("p_correct", "row").head(MOST_EXAMPLES)),
    )


def _with_interval(frame: pl.DataFrame) -> pl.DataFrame:
    low, high = wilson(frame["accuracy"].to_numpy(), frame["rows"].to_numpy())
    ends = {"accuracy_low": low, "accuracy_high": high}
    return frame.with_columns(**{name: pl.Series(end, dtype=pl.Float64) for name, end in ends.items()})


def _without_flagged(samples: pl.DataFrame, table: pl.DataFrame, name: str) -> pl.DataFrame:
    """Exclude the rows of other flagged contributors, as `peer_accuracy` does."""
    flagged = table.filter(pl.col("verdict").is_in(FLAGGED) & (pl.col("contributor") != name))
    return samples.filter(~pl.col("contributor").is_in(flagged["contributor"].implode()))


def _classes(samples: pl.DataFrame, name: str) -> pl.DataFrame:
    """By suggested label: the accuracy of a contributor, and of all other contributors."""
    suggested, own = samples.drop_nulls("suggested_label"), pl.col("contributor") == name
    p = pl.col("p_correct")
    figures = {"rows": own.sum(), "accuracy": p.filter(own).mean(), "peer_accuracy": p.filter(~own).mean()}
    by_class = suggested.group_by(label="suggested_label").agg(**figures)
    by_class = _with_interval(by_class.filter(pl.col("rows") > 0))
    return by_class.sort("accuracy", "label", descending=[True, False])


def _weeks(rows: pl.DataFrame) -> pl.DataFrame:
    """Accuracy by week, newest last; empty without times, or if all labels are from one week."""
    if "age_years" not in rows.columns:
        return pl.DataFrame()
    ago = (pl.col("age_years") * DAYS_PER_YEAR).round().cast(pl.Int64) // DAYS_PER_WEEK
    weeks = rows.group_by(weeks_ago=ago).agg(rows=pl.len(), accuracy=pl.col("p_correct").mean())
    return _with_interval(weeks.sort("weeks_ago", descending=True)) if weeks.height > 1 else pl.DataFrame()


def _examples(inputs: QueueInput, folder: Path, wrong: pl.DataFrame) -> pl.DataFrame:
    """Labels with their texts, if the data of the run can be read and have texts."""
    columns = ("row", "item", "label", "suggested_label", "p_correct")
    names = [name for name in columns if name in wrong.columns]
    try:
        frame = source_of(inputs, folder, None).table.frame
    except AnmlError:
        return wrong.select(names)
    lengths = {name: frame[name].str.len_chars().mean() or 0.0 for name, kind in frame.schema.items()
               if kind == pl.String}  # fmt: skip
    longest = max(lengths, key=lambda name: float(lengths[name]), default=None)  # type: ignore[arg-type]
    if longest is None or float(lengths[longest]) < MIN_MEAN_TEXT_LENGTH:  # type: ignore[arg-type]
        return wrong.select(names)
    return wrong.select(*names, text=frame[longest][wrong["row"].to_numpy()])
