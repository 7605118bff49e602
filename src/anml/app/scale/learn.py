"""What an audit in slices learns first: who and what there is, and predictors from a sample."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from anml.app.audit.audit import audit_table
from anml.app.audit.request import Request
from anml.app.audit.result import Audited
from anml.app.scale.deal import scattered
from anml.app.scale.models import TrainingSet, train_models
from anml.app.scale.read import Chosen, Predicting, Sampled, SliceJob, Survey, survey, take
from anml.app.scale.slices import SliceRows
from anml.app.scale.table import Passes
from anml.core.errors import InputError
from anml.core.people.belief import Around, Belief
from anml.core.progress import Progress
from anml.intake.columns import Columns
from anml.intake.labels import in_order, same_sets
from anml.intake.plain import codes_in
from anml.intake.prepare import Prepared
from anml.intake.roles import ROLES
from anml.intake.times import as_moment

# Rows that predictors learn from.
SAMPLE = 20_000


def surveyed(passes: Passes, columns: Columns, request: Request) -> SliceJob:
    """Contributors, classes, and which rows have no label."""
    parts: list[Survey] = list(passes.each("counting contributors", survey, columns))
    total = (
        pl.concat([part.counts for part in parts]).group_by("contributor", "label").agg(pl.col("rows").sum())
    )
    given = total["label"].unique().to_list()
    spelled = same_sets(given)
    dtype = passes.slices[0].read([columns.label]).frame.schema[columns.label]
    classes = in_order({spelled.get(name, name) for name in given}, dtype)
    if len(classes) < 2 or len(classes) > 100:
        raise InputError(f"labels must be of 2 to 100 classes with an engine, got {len(classes)}")
    times = [part.newest for part in parts if part.newest is not None]
    now = as_moment(request.now) or max(times, default=None)
    unlabelled = np.sort(np.concatenate([part.unlabelled for part in parts]))
    label = total["label"].replace(spelled) if spelled else total["label"]
    counts = np.ones(len(classes))
    np.add.at(counts, codes_in(label, classes), total["rows"].to_numpy())
    return SliceJob(
        passes.work, columns, request.policy(), now, total["contributor"].unique().sort().to_list(), classes,
        spelled, int(total["rows"].sum()), unlabelled, counts / counts.sum(),
    )  # fmt: skip


def sampled(passes: Passes, item: str | None, seed: int) -> SliceRows:
    """Rows drawn from all slices; the same seed draws the same. Items are drawn whole."""
    total = sum(each.rows for each in passes.slices)
    rng = np.random.default_rng(seed)
    places = np.sort(rng.choice(total, size=min(SAMPLE, total), replace=False))
    chosen = Chosen(places, item, min(SAMPLE / total, 1.0))
    parts: list[SliceRows] = list(passes.each("drawing a sample", take, chosen))
    row = np.concatenate([part.row for part in parts])
    order = np.argsort(row, kind="stable")
    frame = pl.concat([part.frame for part in parts])[order.tolist()]
    beside: dict[str, Any] = {}
    for what in parts[0].beside:
        each = [part.beside[what] for part in parts]
        joint = np.concatenate(each) if isinstance(each[0], np.ndarray) else pl.concat(each)
        beside[what] = joint[order.tolist()]
    return SliceRows(frame, row[order], beside)


@dataclass(frozen=True, eq=False)
class Learned:
    """The audit of the sample, and what was learned from it."""

    audited: Audited
    how: Predicting
    around: Around


def learn(job: SliceJob, request: Request, sample: SliceRows, progress: Progress | None) -> Learned:
    """Audit the sample as any table, and train predictors on what is believed of it."""
    # A named column of times asks for freshness; one that was guessed does not.
    roles = {role: getattr(job.columns, role) for role in ROLES} | {"time": request.time}
    features = None if request.embeddings is not None else job.columns.features
    asked = replace(
        request, **roles, features=features, compare=False, task="classification", now=job.now,
        predictions=sample.beside.get("predictions"), embeddings=sample.beside.get("embeddings"),
    )  # fmt: skip
    audited, prepared, found = audit_table(sample.frame, asked, progress=progress)
    y = codes_in(pl.Series(np.array(prepared.classes, dtype=object)[prepared.y].tolist()), job.classes)
    row = sample.row[prepared.rows]
    rng = np.random.default_rng([request.seed, 1])
    half, items = rng.integers(0, 2, len(y)), None
    if prepared.item is not None:
        half = (scattered(pl.Series(prepared.item)) >> 16) & 1
        items = np.unique(prepared.item, return_inverse=True)[1]
    models, counts = None, np.bincount(y, minlength=len(job.classes)).astype(np.float64)
    if prepared.x.shape[1]:
        taken = TrainingSet(prepared.x, y, found.belief.p_correct, half, items, prepared.predictions)
        models = train_models(taken, counts / counts.sum(), audited.policy.profile, request.seed)
    how = Predicting(job, prepared.preparation, models, Sampled(row, half))
    return Learned(audited, how, _around(job, prepared, found.belief))


def _around(job: SliceJob, prepared: Prepared, belief: Belief) -> Around:
    """Who others are near contributors, as far as the sample tells."""
    covered, nearby = np.ones(len(job.names), dtype=bool), np.ones(len(job.names))
    if prepared.contributor is not None:
        names = codes_in(pl.Series(np.unique(prepared.contributor).tolist(), dtype=pl.String), job.names)
        covered[names] = True if belief.around.covered is None else belief.around.covered
        nearby[names] = 1.0 if belief.around.nearby is None else belief.around.nearby
    return Around(covered, nearby)
