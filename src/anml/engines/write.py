"""Samples, items and contributors of a run in slices, in the frames of any audit."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from anml.annotators.judge import SURELY_WRONG, GlobalEstimates, estimate_rows
from anml.annotators.result import ContributorEstimates, LabelEstimates, Neighbourhood
from anml.annotators.words import SEVERITY_ORDER
from anml.assessment.assess import Assessment
from anml.assessment.contributors import estimate_columns, order_columns
from anml.core.checks import Bools, Floats, Ints
from anml.core.types import Gate, Signals, Weighting
from anml.engines.data import SliceData
from anml.engines.slices import Slice, temporary_path
from anml.engines.table import Fitted
from anml.io.labels import EvalGold
from anml.io.plain import codes_in
from anml.io.prepare import FeatureEncoder
from anml.networks.scoring import Scores
from anml.pipeline.audit import sample_frame, with_keys
from anml.pipeline.consensus_table import item_frame
from anml.pipeline.dtypes import column_types, restore_types, to_text
from anml.pipeline.result import GoldEvaluation, evaluate_on_gold
from anml.signals.quality import scale_scores
from anml.weighting.combine import DISPUTE_REASON, P_CORRECT_REASON, training_weight


@dataclass(frozen=True, eq=False)
class SliceEstimator:
    """All that is believed of people, with which the rows of each slice are believed."""

    fitted: Fitted
    judged: GlobalEstimates
    around: Neighbourhood

    def at(self, part: Slice) -> tuple[SliceData, LabelEstimates, Floats, Bools]:
        """A slice, its belief, scores that q is made of, and which rows are of people whom nobody covers.

        Scores are by networks, or by the belief alone where there are none.
        """
        kept, owner = SliceData(part, self.fitted.job), self.fitted.job.owner
        belief = estimate_rows(*self.fitted.at(part), self.fitted.weights, self.judged, {}, owner=owner)
        assert self.around.covered is not None
        covered = self.around.covered[kept.who if owner is None else owner[kept.who]]
        return kept, belief, kept.arrays.get("raw", 1 - belief.p_correct), ~covered


class GlobalTotals(NamedTuple):
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
    def of(cls, slices: Iterable["GlobalTotals"]) -> "GlobalTotals":
        """Of all slices."""
        rows, right, full, wrong, low, high, best = zip(*slices, strict=True)
        sums = sum(rows), sum(right), sum(full), sum(wrong)
        return cls(*sums, min(low), max(high), np.max(best, axis=0))


class SliceOutput(NamedTuple):
    """Of a slice: consensus labels, the kind of its test labels, number of kept rows and their weight."""

    consensus: pl.DataFrame | None
    gold_kind: str | None
    kept: int
    weight: float


def slice_totals(part: Slice, how: SliceEstimator) -> GlobalTotals:
    """Compute the totals of a slice that are required before samples are written."""
    kept, belief, raw, apart = how.at(part)
    p, best = belief.p_correct, np.zeros(len(kept.job.classes))
    np.maximum.at(best, kept.y, p)
    sums = len(p), float(p.sum()), float(training_weight(p, 1.0, apart).sum()), int((p < SURELY_WRONG).sum())
    return GlobalTotals(*sums, float(raw.min()), float(raw.max()), best)


def write_slice(
    part: Slice,
    out: Path,
    how: SliceEstimator,
    totals: GlobalTotals,
    keys: list[str],
    files: list[tuple[str, int]],
) -> SliceOutput:
    """Write the samples of a slice as a Parquet file.

    `keys` are columns that name rows, and `files` the names of files with the place of their first row.
    """
    believed = kept, *_ = how.at(part)
    prepared, row, frame = kept.job.prepared(part, FeatureEncoder(()))
    found = _assessed(*believed, totals, prepared.contributor)
    path = out / f"{part.name}.parquet"
    if not path.is_file():
        samples = with_keys(sample_frame(prepared, found, external="raw" in kept.arrays), frame, keys)
        samples = samples.with_columns(pl.Series("row", row), **_files(row, files))
        with temporary_path(path) as draft:
            restore_types(samples, column_types(frame, kept.job.columns)).write_parquet(draft)
    shared = any(fit.params.shared for fit in how.fitted.fits.values())
    items = item_frame(prepared, found, shared) if shared else None
    w, kept_rows = found.weighting.w, found.weighting.kept
    gold = None if prepared.gold is None else prepared.gold.kind
    return SliceOutput(items, gold, int(kept_rows.sum()), float(w[kept_rows].sum()))


def scale_sample_weights(part: Slice, out: Path, rows: int, total: float) -> None:
    """Scale the sample weights of a slice to mean 1 over all kept rows, whose weights add up to `total`."""
    path = out / f"{part.name}.parquet"
    weight = pl.col("weight") * (rows / total) if total > 0 else pl.lit(1.0)
    scaled = pl.when("kept").then(weight).otherwise(0.0).alias("sample_weight")
    frame = pl.read_parquet(path).with_columns(scaled)
    with temporary_path(path) as draft:
        frame.write_parquet(draft)


def _files(row: Ints, files: list[tuple[str, int]]) -> dict[str, pl.Series]:
    """Return the source file of each row and its position in that file."""
    starts, names = np.array([first for _, first in files]), np.array([name for name, _ in files])
    at = np.searchsorted(starts, row, side="right") - 1
    return {"source_file": pl.Series(names[at].tolist()), "source_row": pl.Series(row - starts[at])}


def _assessed(
    kept: SliceData, belief: LabelEstimates, raw: Floats, apart: Bools, totals: GlobalTotals, contributor: Any
) -> Assessment:
    """Assess the rows of a slice; weights are normalised over all slices."""
    given, p = kept.signals(), belief.p_correct
    q = scale_scores(np.r_[raw, totals.low, totals.high])[:-2]
    signals = Signals.of(q, given.get("v"), given.get("r"), given.get("t"), contributor)
    best = float(totals.best.max())
    total = totals.counted if best > 0.5 else totals.right
    limit = min(0.5, best)
    # The most probable label of a class that would otherwise have none is kept.
    last = (totals.best <= limit)[kept.y] & (p >= totals.best[kept.y])
    keep = belief.evenly | (p >= limit) | last
    full = float(training_weight(np.array([best]), best)[0])
    weights = np.where(last, full * p, training_weight(p, best, apart)) / total
    if belief.evenly:
        weights = np.full(len(p), 1 / totals.rows)
    recipe = kept.job.policy.recipe
    weights = weights * signals.only(recipe.use).t
    weighting = Weighting(weights, keep, gate(belief.doubtful), recipe)
    return Assessment(Scores(raw, q, belief.predicted, 0), belief, signals, weighting, None)


def gate(doubtful: float | None) -> Gate:
    """Return the weighting rule that was applied."""
    if doubtful is not None:
        return Gate("disputed", DISPUTE_REASON)
    return Gate("p_correct", P_CORRECT_REASON)


def gold_check(samples: Path, kind: str | None) -> GoldEvaluation | None:
    """Evaluate p_correct on rows with a test label; None if there are none."""
    if kind is None:
        return None
    lazy = pl.scan_parquet(samples / "*.parquet").select("test_label_matches", "p_correct", "kept")
    right, p, kept = (column.to_numpy() for column in lazy.drop_nulls().collect())
    return evaluate_on_gold(EvalGold(np.ones(len(p), dtype=bool), right, kind), p, kept)


def contributors_of(samples: Path, names: list[str], judged: ContributorEstimates) -> pl.DataFrame:
    """One row per contributor, sorted by severity of the verdict and accuracy."""
    same, kept = pl.col("label") == pl.col("predicted_label"), pl.col("kept")
    columns = kept, *"qvrt", pl.col("weight") * kept, same.fill_null(False), same.is_not_null().alias("told")
    sums = np.zeros((1 + len(columns), len(names)))
    # One slice after the other: added in another order, sums are others in their last digit.
    for path in sorted(samples.glob("*.parquet")):
        lazy = pl.scan_parquet(path)
        who = codes_in(to_text(lazy.select("contributor").collect())["contributor"], names)
        values = lazy.select(columns).cast(pl.Float64).collect().to_numpy().T
        sums += [np.bincount(who, each, len(names)) for each in (np.ones(len(who)), *values)]
    rows, used, *signals, weight, agreed, told = sums
    total = weight.sum()
    means = {f"mean_{name}": each / rows for name, each in zip("qvrt", signals, strict=True)}
    whole = {"rows": rows.astype(np.int64), "kept": used.astype(np.int64)}
    frame = pl.DataFrame(
        {
            "contributor": names, **whole, **means, "kept_share": used / rows, "row_share": rows / rows.sum(),
            "weight_share": weight / total if total > 0 else np.full(len(names), 1 / len(names)),
            "accuracy": judged.quality, "accuracy_low": judged.low, "accuracy_high": judged.high,
            **estimate_columns(judged), "model_agreement": pl.Series(agreed) / pl.Series(told),
        }
    ).with_columns(pl.col("model_agreement").fill_nan(None))  # fmt: skip
    by = pl.col("verdict").replace_strict(SEVERITY_ORDER), "accuracy", "contributor"
    return order_columns(frame).sort(*by)
