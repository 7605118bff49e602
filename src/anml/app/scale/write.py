"""Samples, items and contributors of a run in slices, in the frames of any audit."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from anml.app.audit.audit import sample_frame, with_keys
from anml.app.audit.items import item_frame
from anml.app.audit.result import GoldCheck, check_gold
from anml.app.audit.values import as_texts, kinds_of, typed
from anml.app.scale.data import SliceData
from anml.app.scale.slices import Slice, drafted
from anml.app.scale.table import Fitted
from anml.assess.assess import Assessment
from anml.assess.contributors import judged_columns
from anml.core.checks import Bools, Floats, Ints
from anml.core.combine import DOUBT, counted
from anml.core.domain import Gate, Signals, Weighting
from anml.core.people.belief import Around, Belief, Contributor
from anml.core.people.judge import NEVER, Judged, believe_rows
from anml.core.people.words import CONCERN
from anml.core.signals.quality import quality
from anml.gradients.scoring import Scores
from anml.intake.labels import Gold
from anml.intake.plain import codes_in
from anml.intake.prepare import Preparation


@dataclass(frozen=True, eq=False)
class Believing:
    """All that is believed of people, with which the rows of each slice are believed."""

    fitted: Fitted
    judged: Judged
    around: Around

    def at(self, part: Slice) -> tuple[SliceData, Belief, Floats, Bools]:
        """A slice, its belief, scores that q is made of, and which rows are of people whom nobody covers.

        Scores are by networks, or by the belief alone where there are none.
        """
        kept, owner = SliceData(part, self.fitted.job), self.fitted.job.owner
        belief = believe_rows(*self.fitted.at(part), self.fitted.weights, self.judged, {}, owner=owner)
        assert self.around.covered is not None
        covered = self.around.covered[kept.who if owner is None else owner[kept.who]]
        return kept, belief, kept.arrays.get("raw", 1 - belief.p_correct), ~covered


class Totals(NamedTuple):
    """Of all rows: how many, sums of p_correct and of `counted`, those surely wrong, and bounds.

    Bounds are those of raw scores, and the best p_correct of each class.
    """

    rows: int
    right: float
    counted: float
    wrong: int
    low: float
    high: float
    best: Floats

    @classmethod
    def of(cls, slices: Iterable["Totals"]) -> "Totals":
        """Of all slices."""
        rows, right, full, wrong, low, high, best = zip(*slices, strict=True)
        sums = sum(rows), sum(right), sum(full), sum(wrong)
        return cls(*sums, min(low), max(high), np.max(best, axis=0))


def total_slice(part: Slice, how: Believing) -> Totals:
    """What it takes all slices to know before samples are written."""
    kept, belief, raw, apart = how.at(part)
    p, best = belief.p_correct, np.zeros(len(kept.job.classes))
    np.maximum.at(best, kept.y, p)
    sums = len(p), float(p.sum()), float(counted(p, 1.0, apart).sum()), int((p < NEVER).sum())
    return Totals(*sums, float(raw.min()), float(raw.max()), best)


def write_slice(
    part: Slice, out: Path, how: Believing, totals: Totals, keys: list[str], files: list[tuple[str, int]]
) -> tuple[pl.DataFrame | None, str | None]:
    """The samples of a slice as a Parquet file; its items, where some have several labels, and kind of gold.

    `keys` are columns that name rows, and `files` the names of files with the place of their first row.
    """
    believed = kept, *_ = how.at(part)
    prepared, row, frame = kept.job.prepared(part, Preparation(()))
    found = _assessed(*believed, totals, prepared.contributor)
    path = out / f"{part.name}.parquet"
    if not path.is_file():
        samples = with_keys(sample_frame(prepared, found, told="raw" in kept.arrays), frame, keys)
        samples = samples.with_columns(pl.Series("row", row), **_files(row, files))
        with drafted(path) as draft:
            typed(samples, kinds_of(frame, kept.job.columns)).write_parquet(draft)
    shared = any(fit.params.shared for fit in how.fitted.fits.values())
    items = item_frame(prepared, found, shared) if shared else None
    return items, None if prepared.gold is None else prepared.gold.kind


def _files(row: Ints, files: list[tuple[str, int]]) -> dict[str, pl.Series]:
    """Which file each row is of, and where it is there."""
    starts, names = np.array([first for _, first in files]), np.array([name for name, _ in files])
    at = np.searchsorted(starts, row, side="right") - 1
    return {"file": pl.Series(names[at].tolist()), "file_row": pl.Series(row - starts[at])}


def _assessed(
    kept: SliceData, belief: Belief, raw: Floats, apart: Bools, totals: Totals, contributor: Any
) -> Assessment:
    """What was found out about the rows of a slice, weighed among all."""
    given, p = kept.signals(), belief.p_correct
    q = quality(np.r_[raw, totals.low, totals.high])[:-2]
    signals = Signals.of(q, given.get("v"), given.get("r"), given.get("t"), contributor)
    best = float(totals.best.max())
    total = totals.counted if best > 0.5 else totals.right
    limit = min(0.5, best)
    # The likeliest label of a class that would have none left: no class is dropped.
    last = (totals.best <= limit)[kept.y] & (p >= totals.best[kept.y])
    keep = belief.evenly | (p >= limit) | last
    full = float(counted(np.array([best]), best)[0])
    weights = np.where(last, full * p, counted(p, best, apart)) / total
    if belief.evenly:
        weights = np.full(len(p), 1 / totals.rows)
    recipe = kept.job.policy.recipe
    weights = weights * signals.only(recipe.use).t
    weighting = Weighting(weights, keep, gate_of(belief.doubtful), recipe)
    return Assessment(Scores(raw, q, belief.predicted, 0), belief, signals, weighting, None)


def gate_of(doubtful: float | None) -> Gate:
    """Why rows are weighed as they are."""
    if doubtful is not None:
        return Gate("doubtful", DOUBT)
    return Gate("evidence", "each label is weighed by the probability that it is right")


def gold_of(samples: Path, kind: str | None) -> GoldCheck | None:
    """What rows with a known label say about p_correct; None where there are none."""
    if kind is None:
        return None
    lazy = pl.scan_parquet(samples / "*.parquet").select("gold_right", "p_correct", "kept")
    right, p, kept = (column.to_numpy() for column in lazy.drop_nulls().collect())
    return check_gold(Gold(np.ones(len(p), dtype=bool), right, kind), p, kept)


def contributors_of(samples: Path, names: list[str], judged: Contributor) -> pl.DataFrame:
    """One row per contributor: the accused first, then those who cannot be judged, then the reliable."""
    same, kept = pl.col("label") == pl.col("predicted"), pl.col("kept")
    columns = kept, *"qvrt", pl.col("weight") * kept, same.fill_null(False), same.is_not_null().alias("told")
    sums = np.zeros((1 + len(columns), len(names)))
    # One slice after the other: added in another order, sums are others in their last digit.
    for path in sorted(samples.glob("*.parquet")):
        lazy = pl.scan_parquet(path)
        who = codes_in(as_texts(lazy.select("contributor").collect())["contributor"], names)
        values = lazy.select(columns).cast(pl.Float64).collect().to_numpy().T
        sums += [np.bincount(who, each, len(names)) for each in (np.ones(len(who)), *values)]
    rows, used, *signals, weight, agreed, told = sums
    total, means = weight.sum(), {name: each / rows for name, each in zip("qvrt", signals, strict=True)}
    whole = {"rows": rows.astype(np.int64), "kept": used.astype(np.int64)}
    frame = pl.DataFrame(
        {
            "contributor": names, **whole, **means, "row_share": rows / rows.sum(),
            "weight_share": weight / total if total > 0 else np.full(len(names), 1 / len(names)),
            "quality": judged.quality, "quality_low": judged.low, "quality_high": judged.high,
            **judged_columns(judged), "agreement": pl.Series(agreed) / pl.Series(told),
        }
    ).with_columns(pl.col("agreement").fill_nan(None))  # fmt: skip
    return frame.sort(pl.col("verdict").replace_strict(CONCERN), "quality", "contributor")
