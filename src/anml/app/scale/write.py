"""Samples, items and contributors of a run in slices, in the frames of any audit."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from anml.app.audit.audit import sample_frame, with_keys
from anml.app.audit.items import item_frame
from anml.app.audit.result import check_gold
from anml.app.audit.values import as_texts, kinds_of, typed
from anml.app.scale.slices import Slice, drafted
from anml.app.scale.work import Fitted, SliceData
from anml.assess.assess import Assessment
from anml.assess.contributors import judged_columns
from anml.core.checks import Bools, Floats, Ints
from anml.core.combine import DOUBT, counted
from anml.core.domain import Gate, Signals, Weighting
from anml.core.people.belief import Around, Belief, Contributor
from anml.core.people.judge import NEVER, Judged, believe_rows
from anml.core.people.words import CONCERN
from anml.gradients.scoring import Scores
from anml.intake.labels import Gold
from anml.intake.prepare import Preparation


@dataclass(frozen=True, eq=False)
class Believing:
    """All that is believed of people, with which the rows of each slice are believed."""

    fitted: Fitted
    judged: Judged
    scored: bool
    around: Around

    def belief(self, part: Slice) -> Belief:
        """What is believed of the rows of a slice."""
        rows, fits = self.fitted.at(part)
        owner = self.fitted.job.owner
        return believe_rows(rows, fits, self.fitted.weights, self.judged, {}, owner=owner)

    def apart(self, who: Ints) -> Bools:
        """Rows of contributors whom nobody else covers."""
        covered, owner = self.around.covered, self.fitted.job.owner
        assert covered is not None
        return np.asarray(~covered[who if owner is None else owner[who]])

    def raw(self, kept: SliceData, belief: Belief) -> Floats:
        """Scores that q is made of: by networks, or by the belief alone where there are none."""
        return np.asarray(kept.arrays["raw"] if self.scored else 1 - belief.p_correct)


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

    def plus(self, other: "Totals") -> "Totals":
        """Of both slices."""
        return Totals(
            self.rows + other.rows, self.right + other.right, self.counted + other.counted,
            self.wrong + other.wrong, min(self.low, other.low), max(self.high, other.high),
            np.maximum(self.best, other.best),
        )  # fmt: skip


def total_slice(part: Slice, how: Believing) -> Totals:
    """What it takes all slices to know before samples are written."""
    kept = SliceData(part, how.fitted.job)
    belief = how.belief(part)
    raw, p, n = how.raw(kept, belief), belief.p_correct, len(kept.y)
    best = np.zeros(len(how.fitted.job.classes))
    np.maximum.at(best, kept.y, p)
    sums = float(p.sum()), float(counted(p, 1.0, how.apart(kept.who)).sum())
    return Totals(n, *sums, int((p < NEVER).sum()), float(raw.min()), float(raw.max()), best)


class Writing(NamedTuple):
    """How samples are written: where, what is believed, totals, names of keys, and where files begin."""

    out: Path
    how: Believing
    totals: Totals
    keys: list[str]
    files: list[tuple[str, int]]
    shared: bool


class Wrote(NamedTuple):
    """Of a slice: items with several labels, and gold with p_correct and what was kept of it."""

    items: pl.DataFrame | None
    gold: tuple[Gold, Floats, Bools] | None


def write_slice(part: Slice, asked: Writing) -> Wrote:
    """The samples of a slice as a Parquet file."""
    how, totals = asked.how, asked.totals
    job = how.fitted.job
    kept, belief = SliceData(part, how.fitted.job), how.belief(part)
    prepared, row, frame = job.prepared(part, Preparation(()))
    raw = how.raw(kept, belief)
    apart = how.apart(kept.who)
    found = _assessed(kept, belief, raw, totals, apart, prepared.contributor)
    samples = with_keys(sample_frame(prepared, found, how.scored), frame, asked.keys)
    samples = samples.with_columns(pl.Series("row", row), **_files(row, asked.files))
    path = asked.out / f"{part.name}.parquet"
    if not path.is_file():
        with drafted(path) as draft:
            typed(samples, kinds_of(frame, job.columns)).write_parquet(draft)
    gold = None
    if prepared.gold is not None:
        gold = (prepared.gold, belief.p_correct, found.weighting.kept)
    items = item_frame(prepared, found, asked.shared) if asked.shared else None
    return Wrote(items, gold)


def _files(row: Ints, files: list[tuple[str, int]]) -> dict[str, pl.Series]:
    """Which file each row is of, and where it is there."""
    starts, names = np.array([first for _, first in files]), np.array([name for name, _ in files])
    at = np.searchsorted(starts, row, side="right") - 1
    return {"file": pl.Series(names[at].tolist()), "file_row": pl.Series(row - starts[at])}


def _assessed(
    kept: SliceData, belief: Belief, raw: Floats, totals: Totals, apart: Bools, contributor: Any
) -> Assessment:
    """What was found out about the rows of a slice, weighed among all."""
    given, p = kept.signals(), belief.p_correct
    half = totals.high / 2 - totals.low / 2
    q = np.ones(len(raw)) if half <= 0 else np.clip(1 - (raw / 2 - totals.low / 2) / half, 0.0, 1.0)
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
    weighting = Weighting(
        weights * (signals.t if "t" in recipe.use else 1.0), keep, gate_of(belief.doubtful), recipe
    )
    return Assessment(Scores(raw, q, belief.predicted, 0), belief, signals, weighting, None)


def gate_of(doubtful: float | None) -> Gate:
    """Why rows are weighed as they are."""
    if doubtful is not None:
        return Gate("doubtful", DOUBT)
    return Gate("evidence", "each label is weighed by the probability that it is right")


def gold_of(parts: list[Wrote]) -> Any:
    """What rows with a known label say about p_correct; None where there are none."""
    found = [part.gold for part in parts if part.gold is not None]
    if not found:
        return None
    golds, p, kept = zip(*found, strict=True)
    joint = Gold(
        np.concatenate([gold.known for gold in golds]), np.concatenate([gold.right for gold in golds]),
        golds[0].kind,
    )  # fmt: skip
    return check_gold(joint, np.concatenate(p), np.concatenate(kept))


def contributors_of(samples: Path, names: list[str], judged: Contributor) -> pl.DataFrame:
    """One row per contributor: the accused first, then those who cannot be judged, then the reliable."""
    means = [pl.col(name).mean() for name in ("q", "v", "r", "t")]
    sums = (
        pl.scan_parquet(samples / "*.parquet")
        .group_by("contributor")
        .agg(
            pl.col("kept").sum().cast(pl.Int64),
            *means,
            rows=pl.len().cast(pl.Int64),
            weight_share=pl.col("weight").filter(pl.col("kept")).sum(),
            agreement=(pl.col("label") == pl.col("predicted")).mean(),
        )
        .collect(engine="streaming")
    )
    quality = {"quality": judged.quality, "quality_low": judged.low, "quality_high": judged.high}
    frame = pl.DataFrame({"contributor": names, **quality}).with_columns(**judged_columns(judged))
    frame = frame.join(as_texts(sums), on="contributor", how="left", maintain_order="left")
    total = pl.col("weight_share").sum()
    frame = frame.with_columns(
        row_share=pl.col("rows") / pl.col("rows").sum(),
        weight_share=pl.when(total > 0).then(pl.col("weight_share") / total).otherwise(1 / pl.len()),
    )  # fmt: skip
    first = ["contributor", "rows", "kept", "q", "v", "r", "t", "row_share", "weight_share"]
    frame = frame.select(*first, pl.exclude(*first, "agreement"), "agreement")
    return frame.sort(pl.col("verdict").replace_strict(CONCERN), "quality", "contributor")
