"""An audit of more rows than fit in memory: passes over slices, in this process or by an engine.

Predictors learn from a sample. Every other row is predicted by models that did not see it, scored against
references, and judged with its contributor by sums over all slices, one pass a step.
"""

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from anml.app.audit import audit_table
from anml.app.output import RECORD, as_json, check_folder
from anml.app.request import Request
from anml.app.result import Audited, run_record
from anml.app.scale.contributors import contributors_of, opposed
from anml.app.scale.engines import Engine
from anml.app.scale.models import REFERENCES, train_models
from anml.app.scale.slices import Slice, fingerprint_of, slices_of
from anml.app.scale.work import (
    Chosen,
    Roles,
    Shared,
    Step,
    Written,
    believe_slice,
    predict_slice,
    seen_sum,
    state_path,
    survey,
    take,
    tally,
    write_arrays,
    write_slice,
)
from anml.app.spreadsheets import safe_for_spreadsheets
from anml.core.canonical import sha256
from anml.core.checks import Floats, as_codes
from anml.core.errors import InputError
from anml.core.evidence.belief import reason_for_doubt
from anml.core.evidence.classes import NOISES, fit_classes
from anml.core.evidence.side import Side
from anml.core.partition import Beliefs, Sums, accused, learn, start
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

Progress = Callable[[str, int, int], None]


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
    audited, shared, beliefs = _learned(plan, sample, names, classes, given)
    beliefs, squares = _believed(plan, shared, beliefs)
    return _finished(plan, audited, shared, beliefs, squares, unlabelled, write_report)


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
) -> tuple[Audited, Shared, Beliefs]:
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
    # Few labels of each contributor do not show that honest labels may be wrong; thousands do.
    fits, _ = fit_classes(models.log_p(prepared.x, half), y, Side(codes))
    best = fits[list(NOISES).index("classes")]
    classes_count = np.full(len(classes), 1 / len(classes))
    places = codes_in(pl.Series(sampled), names)
    return audited, shared, start(best, given.sum(axis=1), given, classes_count, best.base, places)


def _believed(plan: Plan, shared: Shared, beliefs: Beliefs) -> tuple[Beliefs, Floats]:
    """Passes of the contributor model until types of contributors have settled."""
    for _ in plan.each("predicting", predict_slice, shared):
        pass
    seen = np.zeros(beliefs.classes)
    for part in plan.each("looking", seen_sum, Step(plan.work, beliefs)):
        seen += part
    beliefs = replace(beliefs, usual=(seen / seen.sum() + 1e-6) / (seen / seen.sum() + 1e-6).sum())
    beliefs, squares, done = _resumed(plan, beliefs)
    for step in range(PASSES if done else beliefs.steps, PASSES):
        sums: Sums | None = None
        for part in plan.each(f"pass {step + 1}", believe_slice, Step(plan.work, beliefs)):
            sums = part if sums is None else sums.plus(part)
        assert sums is not None
        before, beliefs, squares = beliefs, learn(beliefs, sums), sums.squares
        _keep(plan, beliefs, before, squares)
        for each in plan.slices:
            state_path(plan.work, each, step).unlink(missing_ok=True)
        if _settled(beliefs, before):
            break
    assert squares is not None
    return beliefs, squares


def _settled(beliefs: Beliefs, before: Beliefs) -> bool:
    return beliefs.steps > FIRST and float(np.abs(beliefs.types - before.types).max()) < SETTLED


# Beliefs that change from pass to pass.
KEPT = ("temperature", "usual", "types", "base", "by_class", "bad_base", "honest", "deviant", "odds", "steps")


def _keep(plan: Plan, beliefs: Beliefs, before: Beliefs, squares: Floats) -> None:
    """Beliefs after a pass, for a run that goes on."""
    arrays = {name: np.asarray(getattr(beliefs, name)) for name in KEPT}
    done = np.asarray(_settled(beliefs, before))
    write_arrays(plan.work / "beliefs.npz", **arrays, squares=squares, done=done)


def _resumed(plan: Plan, beliefs: Beliefs) -> tuple[Beliefs, Floats | None, bool]:
    """Beliefs after the last pass that was finished by a run before this one; as given where none was."""
    path = plan.work / "beliefs.npz"
    if not path.is_file():
        return beliefs, None, False
    with np.load(path) as kept:
        found: dict[str, Any] = {name: kept[name] for name in KEPT}
        squares, done = kept["squares"], bool(kept["done"])
    for name, kind in (("temperature", float), ("base", float), ("bad_base", float), ("steps", int)):
        found[name] = kind(found[name])
    return replace(beliefs, **found), squares, done


def _finished(
    plan: Plan, audited: Audited, shared: Shared, beliefs: Beliefs, squares: Floats, unlabelled: int,
    write_report: Callable[[Audited, Path], None] | None,
) -> Audited:  # fmt: skip
    """Verdicts, samples as partitioned Parquet, contributors, report and, last of all, the record."""
    parts = list(plan.each("adding up", tally, Step(plan.work, beliefs)))
    table, right, kept, agreed, scores = (sum(part[at] for part in parts) for at in range(5))
    low, high = min(part.low for part in parts), max(part.high for part in parts)
    doubtful = reason_for_doubt(opposed(beliefs))
    said = accused(beliefs, table, squares, doubtful is not None)
    how = Written(
        plan.work, shared.out, beliefs, shared.names, shared.classes, float(right.sum()), low, high,
        doubtful is not None,
    )  # fmt: skip
    rows = sum(plan.each("writing", write_slice, how))
    people = contributors_of(
        shared.names, beliefs, said, right, beliefs.size if doubtful else kept, agreed, scores, (low, high)
    )
    wrong = 1 - float(right.sum()) / rows
    result = replace(
        audited,
        contributors=people,
        wrong=Estimate(wrong, np.nan, np.nan),
        doubtful=doubtful,
        false_accusations=said.false_accusations,
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
        "passes": beliefs.steps,
        "files": {"contributors.csv": sha256((plan.out / "contributors.csv").read_bytes())},
    }  # fmt: skip
    draft = plan.out / f".{RECORD}"
    draft.write_text(as_json(record) + "\n", encoding="utf-8")
    draft.replace(plan.out / RECORD)
    shutil.rmtree(plan.work, ignore_errors=True)
    return result
