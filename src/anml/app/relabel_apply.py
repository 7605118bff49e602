"""What came back from relabelling, and what it changes: the same audit with the answers counted as known."""

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from anml.app.audit import audit_table
from anml.app.relabel import Found, of_result, of_run, source_of, where_to_look
from anml.app.relabel_files import NEW_LABEL
from anml.app.request import Request
from anml.app.result import Audited
from anml.app.runs import Run, read_run
from anml.core.canonical import sha256
from anml.core.errors import InputError, UnsupportedError
from anml.core.progress import Progress
from anml.core.verdicts import ACCUSED
from anml.intake.argilla import question_of, responses_to
from anml.intake.contributions import KNOWN, OURS, label_text
from anml.intake.file import File
from anml.intake.label_studio import account, annotation_id, annotation_label
from anml.intake.plain import as_text
from anml.intake.source import Source
from anml.intake.tables import Table, read_table

# Who an answer is by where the file does not say.
NOBODY = "relabelled"
# The column that says which rows are the same thing, where the table has none.
ITEM = "anml_item"


class Answer(NamedTuple):
    """The label that an item has by now, and who gave it."""

    label: str
    by: str


@dataclass(frozen=True)
class Applied:
    """The run before and after, and how many of the labels looked at were changed.

    `expected` is how many were expected to, where all that were looked at were on the list; `unmended` how
    many items are expected to have a wrong label that nobody has settled, before and after.
    """

    before: dict[str, Any]
    after: Audited
    looked: int
    changed: int
    expected: float | None
    accused_before: list[str]
    unmended: tuple[float, float]


def apply_answers(
    folder: Path, file: Path, *, data: Path | None = None, test: Any = None,
    progress: Progress | None = None,
) -> Applied:  # fmt: skip
    """Audit the data of a run again, with the answers of a relabelled file counted as known."""
    run, found = read_run(folder), of_run(folder)
    source = source_of(found, folder, data)
    place = data or Path(folder, str(found.data.get("path")))
    answers = read_answers(file, source, place, found.samples)
    asked = request_of_record(run)
    table, request = with_answers(source.table, asked, answers, found.samples)
    result, _, _ = audit_table(table, request, test=test, progress=progress)
    given = dict(found.samples.select("row", _text_of(found.samples)).iter_rows())
    changed = sum(given[row] != answer.label for row, answer in answers.items())
    people = [name for name, verdict in found.verdicts.items() if verdict in ACCUSED]
    unmended = where_to_look(found).expected, where_to_look(of_result(result)).expected
    return Applied(
        run.info, result, len(answers), changed, _expected(found, answers), sorted(people), unmended
    )


def _expected(found: Found, answers: dict[int, Answer]) -> float | None:
    """How many of the labels looked at were expected to change."""
    listed = where_to_look(found, max(found.samples.height, 1)).rows
    mine = listed.filter(pl.col("row").is_in(list(answers)))
    return float(mine["gain"].sum()) if mine.height == len(answers) else None


def _text_of(samples: pl.DataFrame) -> pl.Series:
    return as_text(samples["label"]).alias("label")


def request_of_record(run: Run) -> Request:
    """The request that a run answered, from its record."""
    info = run.info
    about = info.get("data") or {}
    if info.get("ledger") or "predictions" in about or "embeddings" in about:
        raise UnsupportedError(
            "a run with a ledger, predictions, embeddings or pictures cannot be repeated from its record; "
            "audit the new labels with the options of that run"
        )
    roles = dict(info.get("columns") or {})
    features, decay = roles.pop("features", None) or None, float(info.get("decay_per_year") or 0.0)
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


def with_answers(
    table: Table, asked: Request, answers: dict[int, Answer], samples: pl.DataFrame
) -> tuple[Table, Request]:
    """The table with answers as known, and with a row for each; the request that names their columns.

    A contributor's own labels stay as they were given: it is judged by them.
    """
    assert asked.label is not None
    frame = table.frame
    item = asked.item or ITEM
    if asked.item is None:
        frame = frame.with_columns(pl.int_range(pl.len()).cast(pl.String).alias(ITEM))
    known = asked.known or KNOWN
    if known not in frame.columns:
        frame = frame.with_columns(pl.lit(None, pl.String).alias(known))
    frame = frame.with_columns(as_text(frame[known]).alias(known), as_text(frame[item]).alias(item))
    if asked.contributor is not None:
        frame = frame.with_columns(as_text(frame[asked.contributor]).alias(asked.contributor))
    names = frame[item].to_list()
    by_item = {names[row]: answer for row, answer in answers.items()}
    told = pl.Series([by_item[name].label if name in by_item else None for name in names], dtype=pl.String)
    frame = frame.with_columns(pl.coalesce(told, pl.col(known)).alias(known))
    added = _added(frame, asked, answers, known)
    whole = pl.concat([frame, added], how="vertical_relaxed")
    mark = json.dumps([table.sha256, sorted((row, *answer) for row, answer in answers.items())])
    request = replace(asked, item=item, known=known)
    return Table(whole, table.name, sha256(mark.encode())), request


def _added(frame: pl.DataFrame, asked: Request, answers: dict[int, Answer], known: str) -> pl.DataFrame:
    """A row for each answer, by whoever gave it; nobody vouches for it but that it is known."""
    assert asked.label is not None
    rows = frame[list(answers)]
    given = [answer.label for answer in answers.values()]
    label = pl.Series(given, dtype=pl.String).cast(frame.schema[asked.label], strict=False)
    if label.null_count():
        bad = next(text for text, read in zip(given, label, strict=True) if read is None)
        raise InputError(f"the answer {bad!r} is no label of this table, whose labels are numbers")
    rows = rows.with_columns(label.alias(asked.label), pl.Series(known, given))
    if asked.contributor is not None:
        by = pl.Series(asked.contributor, [answer.by for answer in answers.values()])
        rows = rows.with_columns(by)
    nothing = [name for name in (asked.verification, asked.reputation, asked.gold) if name is not None]
    return rows.with_columns(pl.lit(None, frame.schema[name]).alias(name) for name in nothing)


def read_answers(file: Path, source: Source, place: Path, samples: pl.DataFrame) -> dict[int, Answer]:
    """Answers by the row of the table that stands for their item."""
    is_json = file.suffix.lower() in (".json", ".jsonl", ".ndjson")
    if is_json and source.format not in _READERS:
        raise InputError(f"{file.name} is JSON, and the data of this run are no export; fill in the CSV file")
    if is_json:
        found = _READERS[source.format](_records(file), _records(place), source.question)
        rows = dict(samples.sort("p_correct", "row", descending=True).select("item", "row").iter_rows())
        answers = {rows[item]: answer for item, answer in found.items() if item in rows}
    else:
        answers = _of_table(file, samples)
    if not answers:
        raise InputError(f"{file.name} has no answer to an item of this run")
    return dict(sorted(answers.items()))


def _of_table(file: Path, samples: pl.DataFrame) -> dict[int, Answer]:
    frame = read_table(file, name="answers").frame
    for name in ("row", NEW_LABEL):
        if name not in frame.columns:
            raise InputError(f"{file.name} has no column {name!r}: it is not a list of `anml relabel`")
    labels = as_text(frame[NEW_LABEL])
    known = set(samples["row"].to_list())
    answers = {}
    for row, label in zip(frame["row"], labels, strict=True):
        if label is None or not label.strip():
            continue
        if row not in known:
            raise InputError(f"{file.name} answers row {row}, which this run does not have")
        answers[int(row)] = Answer(label.strip(), NOBODY)
    return answers


def _records(file: Path) -> list[dict[str, Any]]:
    found = File(file).json
    found = found.get("records", [found]) if isinstance(found, dict) else found
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise InputError(f"{file.name} must be a list of tasks or records")
    return found


def _of_label_studio(
    tasks: list[dict[str, Any]], before: list[dict[str, Any]], question: str | None
) -> dict[str, Answer]:
    """The last annotation of each task that is new: all of a task made by `anml relabel`, else by its id."""
    old = {
        annotation_id(str(task.get("id", number)), place, annotation)
        for number, task in enumerate(before)
        for place, annotation in enumerate(task.get("annotations") or [])
    }
    answers = {}
    for number, task in enumerate(tasks):
        data = task.get("data") if isinstance(task.get("data"), dict) else {}
        ours = (data or {}).get(f"{OURS}task")
        item = str(task.get("id", number) if ours is None else ours)
        for place, annotation in enumerate(task.get("annotations") or []):
            new = ours is not None or annotation_id(item, place, annotation) not in old
            label = annotation_label(annotation, question)
            if new and label is not None and not annotation.get("was_cancelled"):
                answers[item] = Answer(label, account(annotation.get("completed_by")) or NOBODY)
    return answers


def _of_argilla(
    entries: list[dict[str, Any]], before: list[dict[str, Any]], question: str | None
) -> dict[str, Answer]:
    """Responses that were not there before, by record."""

    def named(found: list[dict[str, Any]]) -> list[tuple[str, dict[str, Any]]]:
        return [(str(e.get("id") or e.get("_server_id") or at), e) for at, e in enumerate(found)]

    name = question_of([*before, *entries], question)
    old = {
        (item, str(value), user)
        for item, entry in named(before)
        for value, user, _ in responses_to(entry, name)
    }
    answers = {}
    for item, entry in named(entries):
        for value, user, status in responses_to(entry, name):
            label = label_text(value)
            if label is not None and status in (None, "submitted") and (item, str(value), user) not in old:
                answers[item] = Answer(label, user or NOBODY)
    return answers


_READERS: dict[str, Callable[[list[dict[str, Any]], list[dict[str, Any]], str | None], dict[str, Answer]]] = {
    "label-studio": _of_label_studio,
    "argilla": _of_argilla,
}
