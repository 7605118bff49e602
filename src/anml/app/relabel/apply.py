"""What came back from relabelling, and what it changes: the same audit with the answers counted."""

import difflib
import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from anml.app.audit.media import Media, audit_media
from anml.app.audit.request import Request
from anml.app.audit.result import Audited
from anml.app.audit.runs import Run, read_run
from anml.app.relabel.answers import read_answers
from anml.app.relabel.ask import Prices, number_of
from anml.app.relabel.queue import ANSWER, Found, of_run, where_to_look
from anml.app.relabel.rounds import (
    ANSWERED,
    KINDS,
    ROLES,
    TRUTH,
    NewLabel,
    Roles,
    Round,
    read_rounds,
    rounds_file,
    source_of,
    with_answers,
)
from anml.app.shapes.audit import audit_shape
from anml.core.canonical import sha256
from anml.core.checks import one_of
from anml.core.errors import InputError, UnsupportedError
from anml.core.people.words import ACCUSED
from anml.core.progress import Progress
from anml.core.words import listed
from anml.intake.labels import spelled_as
from anml.intake.plain import as_text
from anml.intake.shapes.preference import side_of
from anml.intake.shapes.shape import GRADES, PREFERENCE
from anml.intake.source import Source


@dataclass(frozen=True)
class Applied:
    """The run before and after, the rounds so far, the last one now, and the text of all answers.

    A round has `answers` (how many), `changed` (labels), `expected` (to be changed, of those on the list),
    `before` and `left` (wrong labels that nobody has settled, as expected), and `cost`.
    """

    before: dict[str, Any]
    after: Audited
    accused_before: list[str]
    rounds: list[dict[str, Any]]
    file: str


def apply_answers(
    folder: Path, file: Path, *, data: Path | None = None, test: Any = None, kind: str = TRUTH,
    new_labels: bool = False, prices: Prices | None = None, progress: Progress | None = None,
) -> Applied:  # fmt: skip
    """Audit the data of a run again, with the answers of a relabelled file counted."""
    one_of("as", kind, KINDS)
    run = read_run(folder)
    found = of_run(folder, run)
    source = source_of(found, folder, data)
    shape = None if source.shape is None else source.shape.kind
    exported = (None, GRADES) if source.format != "label-studio" else (None, GRADES, PREFERENCE)
    if shape not in exported and file.suffix.lower() != ".csv":
        why = f"answers to {shape} come back as an export of their own: audit that"
        raise UnsupportedError(f"{why}; a filled-in table (relabel --out FILE.csv) is applied")
    asked = request_of_record(run)
    answers = read_answers(file, source, found.samples, kind)
    if shape == PREFERENCE:
        answers = {row: each._replace(label=side_of(each.label)) for row, each in answers.items()}
    answers = _checked(answers, found, asked.task, new_labels)
    before: Roles = {role: getattr(asked, role) for role in ROLES} | {"numbers": asked.task == "regression"}
    table, roles = with_answers(source.table, before, answers, kind)
    named = {role: roles[role] for role in ROLES if roles[role] is not None}
    if source.shape is not None:
        result = audit_shape(source._replace(table=table), replace(asked, **named), progress)
    else:
        result = audit_media(table, replace(asked, **named), Media(), test=test, progress=progress)
    earlier: list[Round] = read_rounds(folder, found.data["answers"]) if "answers" in found.data else []
    text = rounds_file([*earlier, (kind, answers)])
    this = _round(found, answers, kind, prices or Prices())
    result = _located(_settled(result, table.frame), found, source, text, before)
    this["left"] = result.queue.expected
    rounds = [*found.data.get("rounds", []), this]
    result = replace(result, data={**result.data, "rounds": rounds})
    people = [name for name, verdict in found.verdicts.items() if verdict in ACCUSED]
    return Applied(run.info, result, sorted(people), rounds, text)


def _settled(result: Audited, frame: pl.DataFrame) -> Audited:
    """The result with what was answered as the label to put in place, also where nobody gave it before."""
    if result.task != "classification" or ANSWERED not in frame.columns:
        return result
    answer = frame[ANSWERED][result.samples["row"].to_numpy()]
    samples = result.samples.with_columns(answer.alias("_told"))
    told = pl.col("_told").is_not_null()
    samples = samples.with_columns(
        pl.coalesce("_told", ANSWER).alias(ANSWER),
        suggested=pl.coalesce("_told", "suggested"),
        p_suggested=pl.when(told).then(1.0).otherwise("p_suggested"),
    )
    return replace(result, samples=samples.drop("_told"))


def _located(result: Audited, found: Found, source: Source, text: str, roles: Roles) -> Audited:
    """The result with where its data lie and what was answered: the next round begins here."""
    about = found.data
    kept = {name: about[name] for name in ("named", "format") if name in about}
    assert source.path is not None
    kept |= {"path": str(source.path.absolute()), "roles": about.get("roles") or roles}
    digests = {"of": about.get("of", about.get("sha256")), "answers": sha256(text.encode())}
    return replace(result, data={**result.data, **kept, **digests})


def _round(found: Found, answers: dict[int, NewLabel], kind: str, prices: Prices) -> dict[str, Any]:
    queue = where_to_look(found)
    listed = queue.rows.filter(pl.col("row").is_in(list(answers)))
    given = dict(found.samples.select("row", as_text(found.samples["label"]).alias("label")).iter_rows())
    now = dict(queue.rows.select("row", "consensus").drop_nulls().iter_rows())
    changed = sum(now.get(row, given[row]) != answer.label for row, answer in answers.items())
    costs = [prices.of(answer.by) for answer in answers.values()]
    return {
        "as": kind,
        "answers": len(answers),
        "changed": changed,
        "expected": float(listed["gain"].sum()) if listed.height == len(answers) else None,
        "before": queue.expected,
        "cost": None if None in costs else sum(cost or 0.0 for cost in costs),
    }


def _checked(answers: dict[int, NewLabel], found: Found, task: str, new_labels: bool) -> dict[int, NewLabel]:
    """Answers that are labels of the table, tags in the order it has them; others are listed and refused."""
    if task == "regression":
        for answer in answers.values():
            if (number := number_of(answer.label)) is None or not math.isfinite(number):
                said = f"the answer {answer.label!r} is no label of this table"
                raise InputError(f"{said}, whose labels are numbers")
        return answers
    known = set(as_text(found.samples["label"]).unique())
    if ANSWER in found.samples.columns:
        known |= set(found.samples[ANSWER].drop_nulls().unique())
    spelled = spelled_as({answer.label for answer in answers.values()}, known)
    answers = {row: each._replace(label=spelled.get(each.label, each.label)) for row, each in answers.items()}
    new = sorted({answer.label for answer in answers.values()} - known)
    if not new or new_labels:
        return answers
    names = {name.lower(): name for name in known}
    close = {label: difflib.get_close_matches(label.lower(), names, n=1) for label in new}
    hints = {label: f" (did you mean {names[near[0]]!r}?)" for label, near in close.items() if near}
    shown = listed([f"{label!r}{hints.get(label, '')}" for label in new])
    why = f"answers that are no label of this table: {shown}"
    raise InputError(f"{why}; correct them, or allow them with --new-labels")


def request_of_record(run: Run) -> Request:
    """The request that a run answered, from its record."""
    info = run.info
    about = info.get("data") or {}
    beside = {"predictions", "embeddings"} & about.keys() if info.get("shape") is None else set()
    if info.get("ledger") or beside or "candidates" in about:
        why = "a run with a ledger, predictions, embeddings or pictures cannot be repeated from its record"
        raise UnsupportedError(f"{why}; audit the new labels with the options of that run")
    roles = dict(info.get("columns") or {})
    features, decay = roles.pop("features", None), float(info.get("decay_per_year") or 0.0)
    if not decay:
        # A named column of times would ask for freshness, which did not count.
        roles.pop("time", None)
    cold = info.get("cold_start") or {}
    recipe = {name: value for name, value in (info.get("recipe") or {}).items() if name != "name"}
    try:
        return Request(
            **roles, features=features, task=info["task"], recipe=recipe, profile=info["profile"],
            half_life=math.log(2) / decay if decay else None, seed=info["seed"],
            r_min=cold.get("r_min", 0.4), newcomer=cold.get("contributions", 10),
            compare=info.get("comparison") is not None,
        )  # fmt: skip
    except (KeyError, TypeError):
        raise InputError("run.json does not say how the run was made; write the run again") from None
