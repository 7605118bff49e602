"""An audit of more rows than fit in memory: passes over slices, in this process or by an engine.

Predictors learn from a sample, and every other row is predicted by models that did not see it. Labels and
people are judged by all rows: the model of contributors is that of a table in memory, which is one slice.
"""

import hashlib
import json
import math
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from anml.annotators.judge import estimate_contributors, noise_rate_bounds
from anml.core.errors import InputError, os_error_message
from anml.core.progress import Progress
from anml.core.text import pluralise
from anml.engines import write
from anml.engines.learn import SampleFit, draw_sample, fit_sample, scan_table
from anml.engines.read import SliceJob, predict_slice
from anml.engines.shuffle import matrix_to_parquet, partition_slice, shuffled_slices
from anml.engines.slices import MAX_SLICE_ROWS, Engine, Slice, SlicePipeline, slices_of, temporary_path
from anml.engines.table import fit_slices, slice_sufficient_stats
from anml.io.columns import Columns, key_columns
from anml.io.labels import guess_task
from anml.io.side_inputs import array_hash, read_numbers
from anml.io.tables import Table, joint_hash, parquet_files
from anml.pipeline.audit import confusion_counts, resolve_columns
from anml.pipeline.dtypes import to_text
from anml.pipeline.request import AuditOptions, Request
from anml.pipeline.result import AuditResult, versions
from anml.pipeline.write import check_folder, write_run

WriteReport = Callable[[AuditResult, Path], None]


def audit_slices(
    data: Path, request: Request, out: Path, engine: Engine, *, progress: Progress | None = None,
    write_report: WriteReport = lambda result, draft: None, rows: int = MAX_SLICE_ROWS,
) -> AuditResult:  # fmt: skip
    """Audit a Parquet file, or a folder of them, slice by slice; a run that was broken off goes on.

    `rows`: rows of a slice at most.
    """
    check_request(request)
    files = parquet_files(data)
    slices = slices_of(files, rows)
    columns = columns_of(slices[0], request)
    digests = [_digest(path) for path in files]
    work = open_run(out, digests, request, slices)
    passes = shuffle_by_item(SlicePipeline(slices, engine, progress, work), columns.item, request)
    job, labelled = scan_table(passes, columns, request)
    learned = fit_sample(job, request, draw_sample(passes, columns.item, request.seed), progress)
    passes = replace(passes, slices=labelled)
    result = _result(
        passes, learned, estimate_contributors_sliced(passes, job, learned), request, file_offsets(slices)
    )
    options = AuditOptions(request=request)
    named = options.reader_options() | {"task": None}
    about = {
        **result.data, "name": data.name, "sha256": joint_hash(digests), "format": "table",
        "path": str(data.absolute()), "named": {role: name for role, name in named.items() if name},
    }  # fmt: skip
    result = replace(result, data=about, config=options.to_config())
    write_run(out, result, "audit", partial(write_report, result), samples=work / "samples")
    shutil.rmtree(work, ignore_errors=True)
    return result


def check_request(request: Request) -> None:
    """Refuse what cannot be asked of a table in slices."""
    if request.derived_from is not None:
        raise InputError(
            "derived_from cannot be used with an engine: the sources of a row are in other slices"
        )
    if request.key is not None and (request.predictions is not None or request.embeddings is not None):
        raise InputError(
            "with an engine predictions and embeddings are in the order of the rows, without key"
        )
    if request.resolved_recipe.combine != "evidence":
        raise InputError(f"an engine supports the recipe evidence alone, got {request.recipe_label!r}")
    if request.resolved_recipe.profile.annotators == "population":
        raise InputError("an engine supports the annotator model types alone, got 'population'")
    if request.resolved_recipe.keep is not None:
        raise InputError(f"an engine does not support recipe.keep, got {request.resolved_recipe.keep:g}")


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _side_input_digest(source: Any, what: str) -> str | None:
    """A digest of what was given beside the table, if anything was."""
    if source is None:
        return None
    if isinstance(source, str | Path) and (place := Path(source).expanduser()).exists():
        # Of the content, as of the table's own files: all of it is read anyway, more than once.
        with os_error_message(f"{what} file {place.name!r} cannot be read"):
            return joint_hash([_digest(path) for path in parquet_files(place) or [place]])
    read = read_numbers(source, what)
    return read.sha256 if isinstance(read, Table) else array_hash(read)


def columns_of(first: Slice, request: Request) -> Columns:
    """Assign column roles from the first rows."""
    piece = first.pieces[0]
    head = replace(first, pieces=(piece._replace(rows=min(piece.rows, 10_000)),)).read().frame
    columns, _ = resolve_columns(head, request)
    if columns.contributor is None:
        raise InputError("with an engine every row needs a contributor; name the column")
    asked = request.label_type
    if (guess_task(head[columns.label]) if asked == "auto" else asked) != "classification":
        raise InputError("labels must be classes with an engine; give the task classification where they are")
    return columns


def open_run(out: Path, digests: list[str], request: Request, slices: list[Slice]) -> Path:
    """A folder for the work, beside that of the run; or the one that holds an unfinished run of the same."""
    check_folder(out)
    beside = {
        what: _side_input_digest(getattr(request, what), what) for what in ("predictions", "embeddings")
    }
    about = {"files": digests, "slices": len(slices), "request": repr(request), "beside": beside}
    about["versions"] = versions()
    work = out.resolve().with_name(f".{out.resolve().name}-work")
    plan = work / "plan.json"
    if plan.is_file():
        if json.loads(plan.read_text()) != about:
            raise InputError(
                f"{work} holds an unfinished run of other data or settings; remove it, or choose a new folder"
            )
        return work
    with os_error_message(f"{out} cannot be written"):
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)
    with temporary_path(plan) as draft:
        draft.write_text(json.dumps(about))
    return work


def shuffle_by_item(passes: SlicePipeline, item: str | None, request: Request) -> SlicePipeline:
    """Slices with all rows of each item, and with what was given beside them."""
    given = {"predictions": request.predictions, "embeddings": request.embeddings}
    total = sum(each.rows for each in passes.slices)
    beside = [
        matrix_to_parquet(source, what, total, passes.work)
        for what, source in given.items()
        if source is not None
    ]
    if item is None and not beside:
        return passes
    counts = passes.each("shuffling rows", partition_slice, passes.work, item, len(passes.slices), beside)
    return replace(passes, slices=shuffled_slices(passes.work, list(counts)))


def file_offsets(slices: Sequence[Slice]) -> list[tuple[str, int]]:
    """Each file, as seen from the folder of all, and the place of its first row."""
    pieces = [part.pieces[0] for part in slices]
    starts = {Path(piece.path).resolve(): piece.first - piece.start for piece in pieces}
    root = os.path.commonpath([path.parent for path in starts])
    return [(path.relative_to(root).as_posix(), start) for path, start in starts.items()]


def estimate_contributors_sliced(
    passes: SlicePipeline, job: SliceJob, learned: SampleFit
) -> write.SliceEstimator:
    """Verdicts, by all slices."""
    list(passes.each("predicting", predict_slice, job, learned.preparation, learned.models))
    fitted, around = fit_slices(passes, job), learned.around
    told = passes.sum("summing statistics", slice_sufficient_stats, fitted)
    judged = estimate_contributors(
        told, list(fitted.fits.values()), fitted.weights, around=around, owner=fitted.job.owner
    )
    return write.SliceEstimator(fitted, judged, around)


def _result(
    passes: SlicePipeline,
    learned: SampleFit,
    how: write.SliceEstimator,
    request: Request,
    starts: list[tuple[str, int]],
) -> AuditResult:
    """Samples as partitioned Parquet, and all that is said of them; `starts` are those of `starts_of`."""
    audited, judged, job = learned.audited, how.judged, how.fitted.job
    assert judged.people is not None
    totals = write.GlobalTotals.of(passes.each("estimating p_correct", write.slice_totals, how))
    keys = key_columns(passes.slices[0].read().frame, job.columns, request.key)
    place = passes.work / "samples"
    place.mkdir(exist_ok=True)
    wrote = list(passes.each("writing", write.write_slice, place, how, totals, keys, starts))
    kept = sum(each.kept for each in wrote), math.fsum(each.weight for each in wrote)
    list(passes.each("scaling sample weights", write.scale_sample_weights, place, *kept))
    items = [each.consensus for each in wrote if each.consensus is not None]
    drawn = pl.col("row").is_in(pl.Series(learned.row).implode())
    samples = to_text(pl.scan_parquet(place / "*.parquet").filter(drawn).collect().sort("row"))
    people = replace(judged.people, changed=job.changed)
    contributors, unlabelled = write.contributors_of(place, job.names, people), len(job.unlabelled)
    counts = {"rows": totals.rows, "kept": int(contributors["kept"].sum()), "slices": len(passes.slices)}
    return replace(
        audited,
        data=audited.data | counts,
        samples=samples,
        contributors=contributors,
        confusion=confusion_counts(samples, "classification"),
        gate=write.gate(judged.doubtful),
        label_error_rate=noise_rate_bounds(totals.right, totals.wrong, judged.contradicted, totals.rows),
        classes=job.classes,
        columns=job.columns,
        gold=write.gold_check(place, wrote[0].gold_kind),
        consensus=pl.concat(items).sort("p_consensus", "item") if items else None,
        disputed_share=judged.doubtful,
        expected_false_flags=people.false_accusations,
        notes=[
            f"{totals.rows:,} rows in {len(passes.slices)} slices were audited; contributors are estimated "
            f"from all rows, other figures of this report from a random sample of {samples.height:,} rows",
            *([f"dropped without a label: {pluralise(unlabelled, 'row')}"] if unlabelled else []),
            *audited.notes,
        ],
    )
