"""What changed between two runs: people beyond chance, and rows of the same file, or item and contributor."""

from dataclasses import dataclass
from pathlib import Path

import polars as pl

from anml.app.audit.runs import Run, read_contributors, read_run
from anml.app.relabel.queue import ANSWER, of_run, where_to_look
from anml.core.errors import InputError
from anml.core.stats import differ

# At most this share of those who are said to have changed are expected not to have.
RATE = 0.05
# What is compared of people.
PEOPLE = ("rows", "verdict", "quality", "quality_low", "quality_high")
# What rows say by themselves: an error that a crowd makes together widens quality, and is the same in both.
ALONE = ("r_learned", "r_learned_low", "r_learned_high")


@dataclass(frozen=True)
class RunChanges:
    """Two runs side by side: `people`, `changed` where beyond chance, `rows` that moved, and `figures`."""

    people: pl.DataFrame
    rows: pl.DataFrame
    shared: int
    mended: int
    figures: dict[str, tuple[float, float]]


def changes(before: Path, after: Path) -> RunChanges:
    """Compare two finished runs."""
    first, second = read_run(before), read_run(after)
    if first.info.get("task") != second.info.get("task"):
        raise InputError("one run is about classes and the other about numbers; they cannot be compared")
    people = _people(_contributors(before, first), _contributors(after, second))
    shared = _shared(first, second)
    rows = _moved(shared)
    was, now = _figures(before, first), _figures(after, second)
    figures = {name: (was[name], now[name]) for name in was}
    mended = int((rows["moved"] == MENDED).sum())
    return RunChanges(people, rows, shared.height, mended, figures)


def _figures(folder: Path, run: Run) -> dict[str, float]:
    queue = where_to_look(of_run(folder, run))
    return {
        "labels": run.samples.height,
        "contributors": run.samples["contributor"].n_unique(),
        "labels that look wrong": float(run.info["wrong"]["mean"]),
        "items to check": queue.candidates,
        "wrong labels nobody has mended": queue.expected,
    }


def _contributors(folder: Path, run: Run) -> pl.DataFrame:
    table = read_contributors(folder, run)
    missing = [name for name in ("contributor", *PEOPLE) if table is None or name not in table.columns]
    if table is None or missing:
        raise InputError(f"{folder} has no {missing[0]} of contributors; without, nobody can be compared")
    return table.select("contributor", *PEOPLE, *(name for name in ALONE if name in table.columns))


def _people(first: pl.DataFrame, second: pl.DataFrame) -> pl.DataFrame:
    """People of both runs, those who changed most first; then who is gone and who is new."""
    both = first.join(second, on="contributor", how="full", coalesce=True, suffix="_after")
    here = both.drop_nulls(["quality", "quality_after"])
    figures = ALONE if {*ALONE} <= {*first.columns} & {*second.columns} else PEOPLE[2:]
    was, now = (here.select(f"{name}{end}" for name in figures).to_numpy().T for end in ("", "_after"))
    found = zip(("difference", "low", "high", "changed"), differ(was, now, RATE), strict=True)
    judged = here.select("contributor", *(pl.Series(name, values) for name, values in found))
    joined = both.join(judged, on="contributor", how="left")
    joined = joined.drop([f"{name}{end}" for name in ALONE for end in ("", "_after")], strict=False)
    joined = joined.rename({name: f"{name}_before" for name in PEOPLE})
    order = pl.when(pl.col("changed")).then(pl.col("difference").abs()).otherwise(-1.0)
    return joined.sort(order, "contributor", descending=[True, False], nulls_last=True)


LOOKS_WRONG, LOOKS_RIGHT, MENDED = "looks wrong now", "looks right now", "mended"


def _shared(first: Run, second: Run) -> pl.DataFrame:
    origins = [run.info.get("data") or {} for run in (first, second)]
    same_file = len({about.get("of", about.get("sha256")) for about in origins}) == 1
    named = all("item" in run.samples.columns for run in (first, second))
    keys = ("row",) if same_file else ("item", "contributor")
    one, two = (_side(run.samples).unique(keys, keep="first", maintain_order=True) for run in (first, second))
    if not same_file and not named:
        one = one.clear()
    return one.join(two, on=keys, suffix="_after", maintain_order="left")


def _side(samples: pl.DataFrame) -> pl.DataFrame:
    """What is compared of rows, as text or numbers; null where a run does not have it."""
    texts = [
        (pl.col(name).cast(pl.String) if name in samples.columns else pl.lit(None, pl.String)).alias(name)
        for name in ("item", "contributor", "label", "suggested", ANSWER)
    ]
    return samples.select("row", "p_correct", *texts)


def _moved(shared: pl.DataFrame) -> pl.DataFrame:
    """Rows whose label crossed even odds, or was set right; those that moved most first."""
    wrong = pl.col("p_correct_after") < 0.5
    told = pl.col(f"{ANSWER}_after").is_not_null() & pl.col(ANSWER).is_null()
    mended = (pl.col("label") != pl.col("label_after")) | (told & wrong)
    moved = (
        pl.when(mended).then(pl.lit(MENDED))
        .when(wrong & (pl.col("p_correct") >= 0.5)).then(pl.lit(LOOKS_WRONG))
        .when(~wrong & (pl.col("p_correct") < 0.5)).then(pl.lit(LOOKS_RIGHT))
    )  # fmt: skip
    found = shared.with_columns(moved=moved).filter(pl.col("moved").is_not_null())
    kept = ("row", "item", "contributor", "label", "label_after", "p_correct", "p_correct_after",
            "suggested_after", f"{ANSWER}_after", "moved")  # fmt: skip
    found = found.select(name for name in kept if name in found.columns)
    return found.sort((pl.col("p_correct_after") - pl.col("p_correct")).abs(), descending=True)
