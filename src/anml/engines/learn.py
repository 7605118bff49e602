"""First pass of an audit in slices: contributors and classes of the table, and predictors from a sample."""

from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

import numpy as np
import polars as pl

from anml.annotators.result import LabelEstimates, Neighbourhood
from anml.core.checks import Ints
from anml.core.errors import InputError
from anml.core.progress import Progress
from anml.engines.models import Models, TrainingSet, train_models
from anml.engines.read import SliceJob
from anml.engines.shuffle import item_partition_hash
from anml.engines.slices import ROW, Slice, SlicePipeline, SliceRows, as_text_keys
from anml.io.columns import Columns
from anml.io.labels import equivalent_sets, sort_classes
from anml.io.plain import as_text, codes_in
from anml.io.prepare import FeatureEncoder, Prepared
from anml.io.roles import ROLES
from anml.io.times import require_times
from anml.pipeline.audit import audit_table
from anml.pipeline.request import Request
from anml.pipeline.result import AuditResult

# Rows that predictors learn from.
SAMPLE = 20_000


def scan_slice(part: Slice, columns: Columns) -> tuple[pl.DataFrame, Ints, datetime | None]:
    """Count labels by contributor and class; return the counts, the unlabelled rows and the newest time."""
    roles = {role: name for role in ("label", "contributor", "time") if (name := getattr(columns, role))}
    frame, row, _ = part.read(list(roles.values()))
    newest = require_times(frame[roles.pop("time")]).max() if columns.time else None
    assert newest is None or isinstance(newest, datetime)
    named = pl.DataFrame({role: as_text_keys(frame[name], part) for role, name in roles.items()})
    labelled = named.drop_nulls("label")
    if gaps := labelled["contributor"].null_count():
        raise InputError(
            f"column {columns.contributor!r} (contributor) is empty in {gaps} rows of {part.file}; every "
            "row needs one"
        )
    counts = labelled.group_by("contributor", "label").agg(rows=pl.len())
    return counts, row[named["label"].is_null().to_numpy()], newest


def scan_table(passes: SlicePipeline, columns: Columns, request: Request) -> tuple[SliceJob, list[Slice]]:
    """Contributors, classes, and which rows have no label; slices that have some."""
    counted, unlabelled, newest = zip(*passes.each("counting contributors", scan_slice, columns), strict=True)
    total = pl.concat(counted)
    given = total["label"].unique().to_list()
    spelled = equivalent_sets(given)
    dtype = passes.slices[0].read([columns.label]).frame.schema[columns.label]
    classes = sort_classes({spelled.get(name, name) for name in given}, dtype)
    if len(classes) < 2 or len(classes) > 100:
        raise InputError(f"labels must be of 2 to 100 classes with an engine, got {len(classes)}")
    latest = max((time for time in newest if time is not None), default=None)
    now = request.reference_time or latest
    label = total["label"].replace(spelled) if spelled else total["label"]
    counts = np.ones(len(classes))
    np.add.at(counts, codes_in(label, classes), total["rows"].to_numpy())
    labelled = [part for part, each in zip(passes.slices, counted, strict=True) if each.height]
    job = SliceJob(
        passes.work, columns, request.policy(), now, total["contributor"].unique().sort().to_list(), classes,
        spelled, int(total["rows"].sum()), np.sort(np.concatenate(unlabelled)), counts / counts.sum(),
        columns.time is not None and request.uses_times,
    )  # fmt: skip
    return job, labelled


def sample_slice(part: Slice, places: Ints, item: str | None, share: float) -> pl.DataFrame:
    """Rows of a slice that are in the sample: those at these places, or of so large a share of the items."""
    frame = part.frame()
    if item is None:
        return frame.filter(pl.Series(np.isin(frame[ROW], places)))
    return frame.filter(pl.Series((item_partition_hash(as_text(frame[item])) >> 32) < share * 2**31))


def draw_sample(passes: SlicePipeline, item: str | None, seed: int) -> SliceRows:
    """Rows drawn from all slices; the same seed draws the same. Items are drawn whole."""
    total = sum(each.rows for each in passes.slices)
    places = np.random.default_rng(seed).choice(total, size=min(SAMPLE, total), replace=False)
    parts = passes.each("drawing a sample", sample_slice, places, item, min(SAMPLE / total, 1.0))
    return SliceRows.of(pl.concat(parts).sort(ROW))


class SampleFit(NamedTuple):
    """The audit of the sample, where its rows are in the table, and what was learned from it."""

    audited: AuditResult
    row: Ints
    preparation: FeatureEncoder
    models: Models | None
    around: Neighbourhood


def fit_sample(job: SliceJob, request: Request, sample: SliceRows, progress: Progress | None) -> SampleFit:
    """Audit the sample as any table, and train predictors on what is believed of it."""
    # An inferred time column is not used.
    roles = {role: getattr(job.columns, role) for role in ROLES} | {"time": request.time}
    features = None if request.embeddings is not None else job.columns.features
    asked = replace(
        request, **roles, features=features, evaluate=False, task="classification",
        recipe=replace(request.resolved_recipe, reference_time=job.now),
        predictions=sample.beside.get("predictions"), embeddings=sample.beside.get("embeddings"),
    )  # fmt: skip
    audited, prepared, found = audit_table(sample.frame, asked, progress=progress)
    y = codes_in(pl.Series(np.array(prepared.classes, dtype=object)[prepared.y].tolist()), job.classes)
    half, items = np.random.default_rng([request.seed, 1]).integers(0, 2, len(y)), None
    if prepared.item is not None:
        half = (item_partition_hash(pl.Series(prepared.item)) >> 16) & 1
        items = np.unique(prepared.item, return_inverse=True)[1]
    models, row = None, sample.row[prepared.rows]
    if prepared.x.shape[1]:
        taken = TrainingSet(row, prepared.x, y, found.belief.p_correct, half, items, prepared.predictions)
        models = train_models(taken, len(job.classes), audited.policy.profile, request.seed)
    return SampleFit(audited, row, prepared.preparation, models, _neighbourhood(job, prepared, found.belief))


def _neighbourhood(job: SliceJob, prepared: Prepared, belief: LabelEstimates) -> Neighbourhood:
    """Return the overlap of contributors, estimated from the sample."""
    covered, nearby = np.ones(len(job.names), dtype=bool), np.ones(len(job.names))
    assert prepared.contributor is not None
    names = codes_in(pl.Series(np.unique(prepared.contributor).tolist(), dtype=pl.String), job.names)
    covered[names] = True if belief.around.covered is None else belief.around.covered
    nearby[names] = 1.0 if belief.around.nearby is None else belief.around.nearby
    return Neighbourhood(covered, nearby)
