"""Comparison of two runs: significant changes of contributors, and rows that changed."""

from dataclasses import dataclass
from pathlib import Path

import polars as pl

from anml.core.errors import InputError
from anml.core.stats import significant_differences
from anml.pipeline.read import Run, read_contributors, read_run
from anml.pipeline.review_queue import TRUE_LABEL, build_queue, queue_input_from_run

# False discovery rate of reported changes.
FDR = 0.05
# Columns of contributors that are compared.
CONTRIBUTOR_COLUMNS = ("rows", "verdict", "accuracy", "accuracy_low", "accuracy_high")
# Columns of rows that are compared.
COMPARED_COLUMNS = ("label", "suggested_label", TRUE_LABEL, "p_correct")
# Collective errors widen the interval of accuracy, and are the same in both runs: these columns ignore them.
REPUTATION_COLUMNS = ("learned_reputation", "learned_reputation_low", "learned_reputation_high")


@dataclass(frozen=True)
class RunDiff:
    """Differences of two runs: contributors (`people`), changed `rows`, and `figures` before and after."""

    people: pl.DataFrame
    rows: pl.DataFrame
    shared: int
    mended: int
    figures: dict[str, tuple[float, float]]


def compare_runs(before: Path, after: Path) -> RunDiff:
    """Compare two finished runs."""
    first, second = read_run(before), read_run(after)
    if first.task != second.task:
        raise InputError(f"runs of different tasks cannot be compared, got {first.task} and {second.task}")
    people = _people(_contributors(before, first), _contributors(after, second))
    shared = _matched_rows(first, second)
    rows = _changed_rows(shared)
    was, now = _run_figures(before, first), _run_figures(after, second)
    figures = {name: (was[name], now[name]) for name in was}
    mended = int((rows["change"] == CORRECTED).sum())
    return RunDiff(people, rows, shared.height, mended, figures)


def _run_figures(folder: Path, run: Run) -> dict[str, float]:
    queue = build_queue(queue_input_from_run(folder, run))
    return {
        "rows": run.samples.height,
        "contributors": run.samples["contributor"].n_unique(),
        "label_error_rate": float(run.info["label_error_rate"]["mean"]),
        "items_to_review": queue.candidates,
        "expected_wrong_labels": queue.expected,
    }


def _contributors(folder: Path, run: Run) -> pl.DataFrame:
    table = read_contributors(folder, run)
    missing = [
        name for name in ("contributor", *CONTRIBUTOR_COLUMNS) if table is None or name not in table.columns
    ]
    if table is None or missing:
        raise InputError(f"contributors.csv in {folder} has no column {missing[0]!r}; write the run again")
    return table.select(
        "contributor", *CONTRIBUTOR_COLUMNS, *(name for name in REPUTATION_COLUMNS if name in table.columns)
    )


def _people(first: pl.DataFrame, second: pl.DataFrame) -> pl.DataFrame:
    """Contributors of both runs, largest significant changes first; those of one run last."""
    both = first.join(second, on="contributor", how="full", coalesce=True, suffix="_after")
    here = both.drop_nulls(["accuracy", "accuracy_after"])
    figures = (
        REPUTATION_COLUMNS
        if {*REPUTATION_COLUMNS} <= {*first.columns} & {*second.columns}
        else CONTRIBUTOR_COLUMNS[2:]
    )
    was, now = (here.select(f"{name}{end}" for name in figures).to_numpy().T for end in ("", "_after"))
    names = ("difference", "difference_low", "difference_high", "changed")
    differences = zip(names, significant_differences(was, now, FDR), strict=True)
    compared = here.select("contributor", *(pl.Series(name, values) for name, values in differences))
    joined = both.join(compared, on="contributor", how="left")
    joined = joined.drop(
        [f"{name}{end}" for name in REPUTATION_COLUMNS for end in ("", "_after")], strict=False
    )
    joined = joined.rename({name: f"{name}_before" for name in CONTRIBUTOR_COLUMNS})
    order = pl.when(pl.col("changed")).then(pl.col("difference").abs()).otherwise(-1.0)
    return joined.sort(order, "contributor", descending=[True, False], nulls_last=True)


NOW_WRONG, NOW_CORRECT, CORRECTED = "now probably wrong", "now probably correct", "corrected"


def _matched_rows(first: Run, second: Run) -> pl.DataFrame:
    origins = [run.info.get("data") or {} for run in (first, second)]
    same_file = len({origin.get("source_sha256", origin.get("sha256")) for origin in origins}) == 1
    have_items = all("item" in run.samples.columns for run in (first, second))
    keys = ("row",) if same_file else ("item", "contributor")
    one, two = (
        _comparable_columns(run.samples).unique(keys, keep="first", maintain_order=True)
        for run in (first, second)
    )
    if not same_file and not have_items:
        one = one.clear()
    return one.join(two, on=keys, suffix="_after", maintain_order="left").rename(
        {name: f"{name}_before" for name in COMPARED_COLUMNS}
    )


def _comparable_columns(samples: pl.DataFrame) -> pl.DataFrame:
    """Compared columns as text or numbers; null if a run does not have them."""
    texts = [
        (pl.col(name).cast(pl.String) if name in samples.columns else pl.lit(None, pl.String)).alias(name)
        for name in ("item", "contributor", "label", "suggested_label", TRUE_LABEL)
    ]
    return samples.select("row", "p_correct", *texts)


def _changed_rows(shared: pl.DataFrame) -> pl.DataFrame:
    """Rows whose label was corrected, or whose p_correct crossed 0.5; the largest changes first."""
    was, now = pl.col("p_correct_before"), pl.col("p_correct_after")
    true_label_added = pl.col("true_label_after").is_not_null() & pl.col("true_label_before").is_null()
    corrected = (pl.col("label_before") != pl.col("label_after")) | (true_label_added & (now < 0.5))
    change = (
        pl.when(corrected).then(pl.lit(CORRECTED))
        .when((now < 0.5) & (was >= 0.5)).then(pl.lit(NOW_WRONG))
        .when(~(now < 0.5) & (was < 0.5)).then(pl.lit(NOW_CORRECT))
    )  # fmt: skip
    changed = shared.with_columns(change=change).filter(pl.col("change").is_not_null())
    kept = ("row", "item", "contributor", "label_before", "label_after", "p_correct_before",
            "p_correct_after", "suggested_label_after", "true_label_after", "change")  # fmt: skip
    changed = changed.select(name for name in kept if name in changed.columns)
    return changed.sort((pl.col("p_correct_after") - pl.col("p_correct_before")).abs(), descending=True)
