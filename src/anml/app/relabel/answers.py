"""Answers that came back: a filled table, or the export of a labelling tool; by the row of their item."""

from collections.abc import Callable
from pathlib import Path

import polars as pl

from anml.app.relabel.files import NEW_LABEL
from anml.app.relabel.places import Records, records
from anml.app.relabel.rounds import LABEL, TRUTH, NewLabel
from anml.core.errors import InputError
from anml.intake.argilla import SUBMITTED, answers_to, question_of
from anml.intake.contributions import OURS, label_text
from anml.intake.file import JSON
from anml.intake.label_studio import account, annotation_label, annotations_of
from anml.intake.plain import as_text
from anml.intake.source import Source
from anml.intake.tables import read_table

# Who an answer is by where the file does not say, and the columns of a list that do.
NOBODY, BY, ASKED = "", "answered_by", "ask"


def read_answers(file: Path, source: Source, samples: pl.DataFrame, kind: str = TRUTH) -> dict[int, NewLabel]:
    """Answers by the row of the table that stands for their item."""
    is_json = file.suffix.lower() in JSON
    if is_json and source.format not in _READERS:
        raise InputError(f"{file.name} is JSON, and the data of this run are no export; fill in the CSV file")
    if is_json:
        found = _READERS[source.format](records(file), records(source.path), source.question)
        rows = dict(samples.sort("p_correct", "row", descending=True).select("item", "row").iter_rows())
        answers = {rows[item]: answer for item, answer in found.items() if item in rows}
    else:
        frame = read_table(file, name="answers").frame
        for name in ("row", NEW_LABEL):
            if name not in frame.columns:
                raise InputError(f"{file.name} has no column {name!r}: it is not a list of `anml relabel`")
        who = next((as_text(frame[name]).to_list() for name in (BY, ASKED) if name in frame.columns), None)
        given = zip(frame["row"], as_text(frame[NEW_LABEL]), who or [None] * frame.height, strict=True)
        filled: dict[int, NewLabel] = {}
        for row, label, by in ((row, label.strip(), by) for row, label, by in given if label):
            if label and filled.setdefault(row, NewLabel(label, by or NOBODY)).label != label:
                both = f"{filled[row].label!r} and {label!r}"
                raise InputError(f"{file.name} answers row {row} twice, {both}; leave one of them")
        if other := filled.keys() - set(samples["row"]):
            first = next(row for row in filled if row in other)
            raise InputError(f"{file.name} answers row {first}, which this run does not have")
        answers = {int(row): answer for row, answer in filled.items()}
    if not answers:
        raise InputError(f"{file.name} has no answer to an item of this run")
    if kind == LABEL and any(answer.by == NOBODY for answer in answers.values()):
        raise InputError(f"{file.name} does not say who answered; second labels need a column {BY!r}")
    return dict(sorted(answers.items()))


def _of_label_studio(tasks: Records, before: Records, question: str | None) -> dict[str, NewLabel]:
    """The last annotation of each task that is new: all of a task made by `anml relabel`, else by its id."""
    old = {name for _, _, name, _ in annotations_of(before)}
    answers = {}
    for item, task, name, annotation in annotations_of(tasks):
        data = task.get("data")
        ours = data.get(f"{OURS}task") if isinstance(data, dict) else None
        label = annotation_label(annotation, question)
        if (ours is None and name in old) or label is None or annotation.get("was_cancelled"):
            continue
        who = account(annotation.get("completed_by")) or NOBODY
        answers[item if ours is None else str(ours)] = NewLabel(label, who)
    return answers


def _of_argilla(entries: Records, before: Records, question: str | None) -> dict[str, NewLabel]:
    """Responses that were not there before, by record."""
    name = question_of([*before, *entries], question)
    old = {(item, str(value), user) for item, _, value, user, _ in answers_to(before, name)}
    answers = {}
    for item, _, value, user, status in answers_to(entries, name):
        label = label_text(value)
        if label is not None and status in SUBMITTED and (item, str(value), user) not in old:
            answers[item] = NewLabel(label, user or NOBODY)
    return answers


_READERS: dict[str, Callable[[Records, Records, str | None], dict[str, NewLabel]]] = {
    "label-studio": _of_label_studio,
    "argilla": _of_argilla,
}
