"""Judgements of another shape by an engine: read and made labels of items at once, judged slice by slice."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from shutil import rmtree
from typing import Any

import numpy as np

from anml.app.audit.request import Request
from anml.app.audit.result import Audited
from anml.app.scale.engines import Engine
from anml.app.scale.learn import RunPlan, surveyed
from anml.app.scale.run import (
    WORK,
    WriteReport,
    check_request,
    columns_of,
    dealt_by,
    judge_slices,
    open_run,
    record,
)
from anml.app.scale.slices import MOST_ROWS, Piece, Slice, drafted
from anml.app.scale.table import Passes
from anml.app.shapes.audit import audit_shape, check_asked
from anml.app.shapes.judged import JudgedLabels
from anml.core.people.belief import joined
from anml.core.progress import Progress
from anml.intake.prepare import Fixed, Preparation, prepare
from anml.intake.shapes.shape import BOXES, SPANS, TAGS
from anml.intake.source import Source

# What is read together, by shape, in the order of the table; of the others items are dealt into slices.
TOGETHER = {SPANS: "document", BOXES: "document", TAGS: "thing"}


def audit_shape_slices(
    source: Source, request: Request, out: Path, engine: Engine, *, finish: Callable[[Audited], Audited],
    progress: Progress | None = None, write_report: WriteReport | None = None,
    rows: int | None = None,
) -> Audited:  # fmt: skip
    """Audit judgements of another shape slice by slice into a folder; a run that was broken off goes on.

    `finish` adds what the source said. The rows are those of `anml.app.shapes.audit.audit_shape` in memory.
    """
    check_asked(source, request)
    check_request(request)
    table, place = source.table, out / WORK / "table.arrow"
    slices = _cut(source, place, rows or MOST_ROWS)
    open_run(out, [table.sha256], request, slices)
    if not place.is_file():
        with drafted(place) as draft:
            table.frame.write_ipc(draft)
    passes = Passes(slices, engine, progress, out / WORK)
    judged = 0

    def judge(asked: Request, **how: Any) -> JudgedLabels:
        nonlocal judged
        judged += 1
        return _judged(source, asked, out, replace(passes, work=passes.work / f"{judged}"), **how)

    result = audit_shape(source, request, judge=judge)
    about = {**result.data, "name": table.name, "sha256": table.sha256}
    return record(out, finish(replace(result, data=about)), len(slices), write_report)


def _cut(source: Source, place: Path, rows: int) -> list[Slice]:
    """Slices of about so many rows, none of which ends within a document."""
    assert source.shape is not None
    frame, together = source.table.frame, TOGETHER.get(source.shape.kind)
    ends = np.arange(frame.height) + 1
    if together is not None:
        ends = ends[(frame[together] != frame[together].shift(-1)).fill_null(True).to_numpy()]
    ends = ends[np.r_[np.diff((ends - 1) // rows) > 0, True]]
    starts = np.r_[0, ends[:-1]]
    return [
        Slice(number, (Piece(str(place), int(start), int(end - start)),), int(start))
        for number, (start, end) in enumerate(zip(starts, ends, strict=True))
    ]


def _judged(
    source: Source, request: Request, out: Path, passes: Passes, believe: Any = None, prior: Any = None
) -> JudgedLabels:
    """What `audit_table` finds in memory."""
    assert source.shape is not None
    if not passes.work.is_dir():
        rmtree(out / "samples")
        (out / "samples").mkdir()
        passes.work.mkdir()
    columns = columns_of(passes.slices[0], request)
    request = request if prior is None else replace(request, predictions=prior)
    item = None if source.shape.kind in TOGETHER else columns.item
    passes = dealt_by(passes, item, request)
    plan = RunPlan([], request, columns, out, passes, prior is not None)
    job = surveyed(plan)
    fixed = Fixed(job.classes, Preparation(()))
    prepared = prepare(source.table, columns, task="classification", now=job.now, fixed=fixed)
    belief = None if believe is None else believe(prepared)
    result, wrote = judge_slices(plan, job, belief, whole=True)
    if belief is None:
        place = np.concatenate([part.place for part in wrote])
        belief = joined([part.belief for part in wrote if part.belief is not None], place)
    return JudgedLabels(result, prepared, belief)
