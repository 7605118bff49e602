"""An audit of more rows than fit in memory: passes over slices, in this process or by an engine.

Predictors learn from a sample, and every other row is predicted by models that did not see it. Labels and
people are judged by all rows: the model of contributors is that of a table in memory, which is one slice.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from anml.app.audit.audit import columns_asked, confusion_of
from anml.app.audit.output import check_folder, write_run
from anml.app.audit.request import Request
from anml.app.audit.result import Audited, versions
from anml.app.audit.sources import READ_BY
from anml.app.audit.values import as_texts
from anml.app.scale import write
from anml.app.scale.deal import deal, dealt, numbers_of
from anml.app.scale.learn import Learned, learn, sampled, surveyed
from anml.app.scale.read import SliceJob, predict_slice
from anml.app.scale.slices import MOST_ROWS, Engine, Passes, Slice, drafted, slices_of
from anml.app.scale.table import fit_slices, tell_slice
from anml.core.errors import InputError, one_sentence
from anml.core.people.judge import judge, wrong_share
from anml.core.progress import Progress
from anml.core.words import counted
from anml.intake.beside import numbers_hash, read_numbers
from anml.intake.columns import Columns, key_columns
from anml.intake.labels import guess_task
from anml.intake.tables import Table, joint_hash, parquet_files

WriteReport = Callable[[Audited, Path], None]


def audit_slices(
    data: Path, request: Request, out: Path, engine: Engine, *, progress: Progress | None = None,
    write_report: WriteReport = lambda result, draft: None, rows: int = MOST_ROWS,
) -> Audited:  # fmt: skip
    """Audit a Parquet file, or a folder of them, slice by slice; a run that was broken off goes on.

    `rows`: rows of a slice at most.
    """
    check_request(request)
    files = parquet_files(data)
    slices = slices_of(files, rows)
    columns = columns_of(slices[0], request)
    digests = [_digest(path) for path in files]
    work = open_run(out, digests, request, slices)
    passes = dealt_by(Passes(slices, engine, progress, work), columns.item, request)
    job, labelled = surveyed(passes, columns, request)
    learned = learn(job, request, sampled(passes, columns.item, request.seed), progress)
    passes = replace(passes, slices=labelled)
    result = _result(passes, learned, judge_slices(passes, job, learned), request, starts_of(slices))
    named = {role: getattr(request, role) for role in READ_BY}
    about = {
        **result.data, "name": data.name, "sha256": joint_hash(digests), "format": "table",
        "path": str(data.absolute()), "named": {role: name for role, name in named.items() if name},
    }  # fmt: skip
    result = replace(result, data=about)
    write_run(out, result, "audit", partial(write_report, result), samples=work / "samples")
    shutil.rmtree(work, ignore_errors=True)
    return result


def check_request(request: Request) -> None:
    """Refuse what cannot be asked of a table in slices."""
    if request.derived_from is not None:
        raise InputError("derived from cannot be used with an engine: what a row rests on is in other slices")
    if request.key is not None and (request.predictions is not None or request.embeddings is not None):
        raise InputError(
            "with an engine predictions and embeddings are in the order of the rows, without key"
        )
    if request.policy().recipe.combine != "evidence" or request.keep is not None:
        raise InputError("an engine judges by the recipe evidence alone; leave recipe and keep out")


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _digest_beside(source: Any, what: str) -> str | None:
    """A digest of what was given beside the table, if anything was."""
    if source is None:
        return None
    if isinstance(source, str | Path) and (place := Path(source).expanduser()).exists():
        # Of the content, as of the table's own files: all of it is read anyway, more than once.
        with one_sentence(f"{what} file {place.name!r} cannot be read"):
            return joint_hash([_digest(path) for path in parquet_files(place) or [place]])
    read = read_numbers(source, what)
    return read.sha256 if isinstance(read, Table) else numbers_hash(read)


def columns_of(first: Slice, request: Request) -> Columns:
    """Which column is what, by the first rows."""
    piece = first.pieces[0]
    head = replace(first, pieces=(piece._replace(rows=min(piece.rows, 10_000)),)).read().frame
    columns, _ = columns_asked(head, request)
    if columns.contributor is None:
        raise InputError("with an engine every row needs a contributor; name the column")
    if (request.task if request.task != "auto" else guess_task(head[columns.label])) != "classification":
        raise InputError("labels must be classes with an engine; give the task classification where they are")
    return columns


def open_run(out: Path, digests: list[str], request: Request, slices: list[Slice]) -> Path:
    """A folder for the work, beside that of the run; or the one that holds an unfinished run of the same."""
    check_folder(out)
    beside = {what: _digest_beside(getattr(request, what), what) for what in ("predictions", "embeddings")}
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
    with one_sentence(f"{out} cannot be written"):
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)
    with drafted(plan) as draft:
        draft.write_text(json.dumps(about))
    return work


def dealt_by(passes: Passes, item: str | None, request: Request) -> Passes:
    """Slices with all rows of each item, and with what was given beside them."""
    given = {"predictions": request.predictions, "embeddings": request.embeddings}
    total = sum(each.rows for each in passes.slices)
    beside = [
        numbers_of(source, what, total, passes.work) for what, source in given.items() if source is not None
    ]
    if item is None and not beside:
        return passes
    counts = passes.each("dealing rows", deal, passes.work, item, len(passes.slices), beside)
    return replace(passes, slices=dealt(passes.work, list(counts)))


def starts_of(slices: Sequence[Slice]) -> list[tuple[str, int]]:
    """Each file, as seen from the folder of all, and the place of its first row."""
    pieces = [part.pieces[0] for part in slices]
    starts = {Path(piece.path).resolve(): piece.first - piece.start for piece in pieces}
    root = os.path.commonpath([path.parent for path in starts])
    return [(path.relative_to(root).as_posix(), start) for path, start in starts.items()]


def judge_slices(passes: Passes, job: SliceJob, learned: Learned) -> write.Believing:
    """Verdicts, by all slices."""
    list(passes.each("predicting", predict_slice, job, learned.preparation, learned.models))
    fitted, around = fit_slices(passes, job), learned.around
    told = passes.sum("adding up", tell_slice, fitted)
    judged = judge(told, list(fitted.fits.values()), fitted.weights, around=around, owner=fitted.job.owner)
    return write.Believing(fitted, judged, around)


def _result(
    passes: Passes, learned: Learned, how: write.Believing, request: Request, starts: list[tuple[str, int]]
) -> Audited:
    """Samples as partitioned Parquet, and all that is said of them; `starts` are those of `starts_of`."""
    audited, judged, job = learned.audited, how.judged, how.fitted.job
    assert judged.people is not None
    totals = write.Totals.of(passes.each("believing", write.total_slice, how))
    keys = key_columns(passes.slices[0].read().frame, job.columns, request.key)
    place = passes.work / "samples"
    place.mkdir(exist_ok=True)
    wrote = passes.each("writing", write.write_slice, place, how, totals, keys, starts)
    items, kinds = zip(*wrote, strict=True)
    drawn = pl.col("row").is_in(pl.Series(learned.row).implode())
    samples = as_texts(pl.scan_parquet(place / "*.parquet").filter(drawn).collect().sort("row"))
    people = replace(judged.people, changed=job.changed)
    contributors, unlabelled = write.contributors_of(place, job.names, people), len(job.unlabelled)
    counts = {"rows": totals.rows, "kept": int(contributors["kept"].sum()), "slices": len(passes.slices)}
    return replace(
        audited,
        data=audited.data | counts,
        samples=samples,
        contributors=contributors,
        confusion=confusion_of(samples, "classification"),
        gate=write.gate_of(judged.doubtful),
        wrong=wrong_share(totals.right, totals.wrong, judged.contradicted, totals.rows),
        classes=job.classes,
        columns=job.columns,
        gold=write.gold_of(place, kinds[0]),
        items=None if items[0] is None else pl.concat(items).sort("p", "item"),
        doubtful=judged.doubtful,
        false_accusations=people.false_accusations,
        notes=[
            f"{totals.rows:,} rows in {len(passes.slices)} slices were judged; rows and figures on this "
            f"page are of a random sample of {samples.height:,}, contributors are of all rows",
            *([f"left out, without a label: {counted(unlabelled, 'row')}"] if unlabelled else []),
            *audited.notes,
        ],
    )
