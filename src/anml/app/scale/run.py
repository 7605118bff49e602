"""An audit of more rows than fit in memory: passes over slices, in this process or by an engine.

Predictors learn from a sample. Every other row is predicted by models that did not see it, scored against
references, and judged with its contributor by sums over all slices, one pass a step.
"""

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from anml.app.audit.audit import audit_table
from anml.app.audit.output import RECORD, as_json, check_folder
from anml.app.audit.request import Request
from anml.app.audit.result import Audited, run_record
from anml.app.audit.runs import remember
from anml.app.scale.contributors import contributors_of
from anml.app.scale.engines import Engine
from anml.app.scale.models import REFERENCES, train_models
from anml.app.scale.slices import Slice, fingerprint_of, slices_of
from anml.app.scale.work import (
    Chosen,
    Roles,
    Shared,
    Step,
    Summed,
    Written,
    add_up,
    believe_slice,
    predict_slice,
    state_path,
    survey,
    take,
    write_arrays,
    write_slice,
)
from anml.app.spreadsheets import safe_for_spreadsheets
from anml.core.canonical import sha256
from anml.core.checks import as_codes
from anml.core.errors import InputError
from anml.core.people.collective import collective_error
from anml.core.people.fit import begin_all, fit_classes
from anml.core.people.judge import judge_people, reason_for_doubt, what_would_help, wrong_to_of
from anml.core.people.model import HYPOTHESES, Params, Statistics, m_step
from anml.core.people.rows import Side
from anml.core.progress import Progress
from anml.core.stats import Estimate
from anml.intake.columns import choose_columns
from anml.intake.plain import codes_in

# Rows that predictors learn from, and passes of the contributor model at most.
SAMPLE, PASSES = 20_000, 30
# Types of contributors that change less than this have settled, not before these many passes.
SETTLED, FIRST = 1e-3, 16
WORK = ".work"
# What cannot be asked of a table in slices.
NOT_YET = (
    "item", "verification", "reputation", "time", "derived_from", "gold", "known", "predictions",
    "embeddings",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Plan:
    """A run: its slices, columns and folders, and who does the work."""

    slices: list[Slice]
    roles: Roles
    request: Request
    out: Path
    engine: Engine
    progress: Progress | None

    @property
    def work(self) -> Path:
        """Where unfinished work lies."""
        return self.out / WORK

    def each(self, what: str, work: Any, shared: Any, slices: Sequence[Slice] | None = None) -> Any:
        """Results of one pass, in order, with progress."""
        chosen = self.slices if slices is None else slices
        for at, result in enumerate(self.engine.map(work, chosen, shared)):
            if self.progress is not None:
                self.progress(what, at + 1, len(chosen))
            yield result


def audit_slices(
    files: Sequence[Path], request: Request, out: Path, engine: Engine, *, progress: Progress | None = None,
    write_report: Callable[[Audited, Path], None] | None = None, rows: int | None = None,
) -> Audited:  # fmt: skip
    """Audit Parquet files slice by slice into a folder; a run that was broken off goes on.

    Parameters
    ----------
    rows
        Rows of a slice at most; None takes the default.
    """
    for name in NOT_YET:
        if getattr(request, name) is not None:
            raise InputError(f"{name.replace('_', ' ')} cannot be used with an engine yet; leave it out")
    if request.policy().recipe.combine != "evidence" or request.keep is not None:
        raise InputError("an engine judges by the recipe evidence alone; leave recipe and keep out")
    slices = slices_of(files) if rows is None else slices_of(files, rows)
    roles = _roles(slices[0], request)
    _open(out, files, request, slices)
    plan = Plan(slices, roles, request, out, engine, progress)
    names, classes, given, unlabelled = _surveyed(plan)
    sample = _sampled(plan, given)
    audited, shared, params = _learned(plan, sample, names, classes, given)
    return _finished(plan, audited, shared, _fitted(plan, shared, params), unlabelled, write_report)


def _roles(first: Slice, request: Request) -> Roles:
    head = replace(first, rows=min(first.rows, 10_000)).read()
    columns, _ = choose_columns(
        head, label=request.label, contributor=request.contributor, features=request.features,
        ignore=request.ignore,
    )  # fmt: skip
    if columns.contributor is None:
        raise InputError("with an engine every row needs a contributor; name the column")
    return Roles(columns.label, columns.contributor)


def _open(out: Path, files: Sequence[Path], request: Request, slices: list[Slice]) -> None:
    """Make the folder, or go on in one that holds an unfinished run of the same."""
    about = {
        "files": fingerprint_of(files), "slices": len(slices), "seed": request.seed, "label": request.label,
        "contributor": request.contributor, "features": list(request.features or ()),
        "ignore": list(request.ignore), "rows": sum(each.rows for each in slices),
    }  # fmt: skip
    plan = out / WORK / "plan.json"
    if plan.is_file():
        if json.loads(plan.read_text()) != about:
            raise InputError(f"{out} holds an unfinished run of other data or settings; choose a new folder")
        return
    check_folder(out)
    for name in ("samples", WORK):
        shutil.rmtree(out / name, ignore_errors=True)
        (out / name).mkdir(parents=True)
    (out / RECORD).unlink(missing_ok=True)
    draft = plan.with_suffix(".part")
    draft.write_text(json.dumps(about))
    draft.replace(plan)


def _surveyed(plan: Plan) -> tuple[list[str], list[str], Any, int]:
    """Contributors, classes, how often who gave which, and rows without a label."""
    total: pl.DataFrame | None = None
    unlabelled = 0
    for found in plan.each("counting contributors", survey, plan.roles):
        total = found.counts if total is None else _added(total, found.counts)
        unlabelled += found.unlabelled
    assert total is not None
    names, classes = total["contributor"].unique().sort().to_list(), total["label"].unique().sort().to_list()
    if len(classes) < 2 or len(classes) > 100:
        raise InputError(f"labels must be of 2 to 100 classes with an engine, got {len(classes)}")
    given = np.zeros((len(names), len(classes)))
    who, what = codes_in(total["contributor"], names), codes_in(total["label"], classes)
    given[who, what] = total["rows"].to_numpy()
    return names, classes, given, unlabelled


def _added(first: pl.DataFrame, second: pl.DataFrame) -> pl.DataFrame:
    both = pl.concat([first, second]).group_by("contributor", "label").agg(pl.col("rows").sum())
    return both.sort("contributor", "label")


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows that predictors learn from, with the slice and the place of each."""

    frame: pl.DataFrame
    slice: Any
    row: Any


def _sampled(plan: Plan, given: Any) -> Sample:
    """Rows drawn from all slices in proportion; the same seed draws the same."""
    total = sum(each.rows for each in plan.slices)
    rng = np.random.default_rng(plan.request.seed)
    places = np.sort(rng.choice(total, size=min(SAMPLE, total), replace=False))
    starts = np.concatenate([[0], np.cumsum([each.rows for each in plan.slices])])
    number = np.searchsorted(starts, places, side="right") - 1
    chosen = {int(at): places[number == at] - starts[at] for at in np.unique(number)}
    wanted = [plan.slices[at] for at in chosen]
    frames = list(plan.each("drawing a sample", take, Chosen(chosen), wanted))
    frame, row = pl.concat(frames), places - starts[number]
    labelled = frame[plan.roles.label].is_not_null().to_numpy()
    return Sample(frame.filter(pl.Series(labelled)), number[labelled], row[labelled])


def _learned(
    plan: Plan, sample: Sample, names: list[str], classes: list[str], given: Any
) -> tuple[Audited, Shared, Params]:
    """Predictors from the sample, and how sharp they are by a fit to it."""
    request = replace(plan.request, label=plan.roles.label, contributor=plan.roles.contributor, compare=False)
    audited, prepared, found = audit_table(sample.frame, request, progress=plan.progress)
    if prepared.classes != classes:
        lacking = sorted(set(classes) - set(prepared.classes))
        raise InputError(
            f"a sample of {len(sample.frame):,} rows has no label {lacking[0]!r}, which is too rare to judge"
        )
    if prepared.task != "classification":
        raise InputError("labels must be classes with an engine; give the task classification where they are")
    y = prepared.y.astype(np.int64)
    half = np.random.default_rng([plan.request.seed, 1]).integers(0, 2, len(y))
    models = train_models(
        prepared.x, y, len(classes), found.belief.p_correct, half, audited.policy.profile.training(),
        plan.request.seed,
    )  # fmt: skip
    reference = np.where(np.arange(len(y)) < REFERENCES, np.arange(len(y)), -1)
    where = {
        int(at): (sample.row[sample.slice == at], half[sample.slice == at], reference[sample.slice == at])
        for at in np.unique(sample.slice)
    }
    shared = Shared(
        plan.work, plan.out / "samples", plan.roles, names, classes, prepared.preparation, models, where
    )
    codes, sampled = as_codes("contributor", prepared.contributor, len(y))
    # Few labels of each contributor do not show that ordinary labels may be wrong; thousands do.
    _, fits, _ = fit_classes(models.log_p(prepared.x, half), y, Side(codes))
    best = fits[list(HYPOTHESES).index("classes")].params
    return audited, shared, begin_all(best, given, codes_in(pl.Series(sampled), names))


def _fitted(plan: Plan, shared: Shared, params: Params) -> Params:
    """Passes of the contributor model until types of contributors have settled."""
    for _ in plan.each("predicting", predict_slice, shared):
        pass
    params, done = _resumed(plan, params)
    for step in range(PASSES if done else params.steps, PASSES):
        sums: Statistics | None = None
        for part in plan.each(f"pass {step + 1}", believe_slice, Step(plan.work, params)):
            sums = part if sums is None else sums.plus(part)
        assert sums is not None
        before, params = params, m_step(params, sums)
        done = params.steps > FIRST and float(np.abs(params.types - before.types).max()) < SETTLED
        _keep(plan, params, done)
        for each in plan.slices:
            state_path(plan.work, each, step).unlink(missing_ok=True)
        if done:
            break
    return params


def _keep(plan: Plan, params: Params, done: bool) -> None:
    """Parameters after a pass, for a run that goes on."""
    known = {one.name: getattr(params, one.name) for one in fields(Params)}
    arrays = {name: np.asarray(value) for name, value in known.items() if value is not None}
    write_arrays(plan.work / "params.npz", **arrays, done=np.asarray(done))


def _resumed(plan: Plan, params: Params) -> tuple[Params, bool]:
    """Parameters after the last pass that was finished by a run before this one; as given where none was."""
    path = plan.work / "params.npz"
    if not path.is_file():
        return params, False
    with np.load(path) as kept:
        found = {name: kept[name] if kept[name].ndim else kept[name].item() for name in kept.files}
    done = bool(found.pop("done"))
    return Params(**found), done


def _finished(
    plan: Plan, audited: Audited, shared: Shared, params: Params, unlabelled: int,
    write_report: Callable[[Audited, Path], None] | None,
) -> Audited:  # fmt: skip
    """Verdicts, samples as partitioned Parquet, contributors, report and, last of all, the record."""
    sums = _added_up(plan, Step(plan.work, params, wrong_to_of(params)))
    size, right = sums.people.rows.sum(axis=1), sums.people.right.sum(axis=1)
    single = 1 - float(params.types[:, 0] @ right) / max(float(params.types[:, 0] @ size), 1e-9)
    nothing = np.zeros((0, params.classes)), np.zeros(0, dtype=np.int64)
    error = collective_error(single, *nothing)
    judged, mirror, against = judge_people(sums.people, params.types, np.zeros(len(size)), error)
    doubtful = reason_for_doubt(mirror, against, size)
    how = Written(
        plan.work, shared.out, params, error, shared.names, shared.classes, float(right.sum()), sums.low,
        sums.high, doubtful is not None,
    )  # fmt: skip
    rows = sum(plan.each("writing", write_slice, how))
    kept = size if doubtful else sums.kept
    people = contributors_of(shared.names, judged, sums, kept)
    wrong = 1 - float(right.sum()) / rows
    result = replace(
        audited,
        contributors=people,
        wrong=Estimate(wrong, np.nan, np.nan),
        doubtful=doubtful,
        help=what_would_help(judged),
        false_accusations=judged.false_accusations,
        data={**audited.data, "name": plan.out.name, "rows": rows, "kept": int(kept.sum())},
        notes=[
            f"{rows:,} rows in {len(plan.slices)} slices were judged; rows and figures on this page are of a "
            f"random sample of {audited.samples.height:,}, contributors are of all rows",
            *([f"{unlabelled:,} rows without a label were left out"] if unlabelled else []),
            *audited.notes,
        ],
    )
    safe_for_spreadsheets(people).write_csv(plan.out / "contributors.csv")
    if write_report is not None:
        write_report(result, plan.out)
    record = {
        **run_record(result, "audit"), "rows": rows, "kept": int(kept.sum()), "slices": len(plan.slices),
        "passes": params.steps,
        "files": {"contributors.csv": sha256((plan.out / "contributors.csv").read_bytes())},
    }  # fmt: skip
    draft = plan.out / f".{RECORD}"
    draft.write_text(as_json(record) + "\n", encoding="utf-8")
    draft.replace(plan.out / RECORD)
    remember(plan.out, (plan.out / RECORD).read_bytes())
    shutil.rmtree(plan.work, ignore_errors=True)
    return result


def _added_up(plan: Plan, step: Step) -> Summed:
    parts = list(plan.each("adding up", add_up, step))
    people = parts[0].people
    for part in parts[1:]:
        people = people.plus(part.people)
    kept, agreed, scores = (
        sum(getattr(part, name) for part in parts) for name in ("kept", "agreed", "scores")
    )
    low, high = min(part.low for part in parts), max(part.high for part in parts)
    return Summed(people, kept, agreed, scores, low, high)
