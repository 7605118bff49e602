"""Answers from a review: a filled-in table, or the export of a labelling tool."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl

from anml.core.errors import InputError
from anml.core.files import read_bytes
from anml.io.argilla import SUBMITTED, answers_to, question_of
from anml.io.contributions import OWN_PREFIX, label_text
from anml.io.file import JSON
from anml.io.label_studio import annotation_label, annotations_of, annotator_id
from anml.io.plain import as_text
from anml.io.source import Source
from anml.io.tables import read_table
from anml.pipeline.rounds import AS_GOLD, AS_LABEL, NewLabel
from anml.pipeline.write import REVIEW_FILE
from anml.review.files import NEW_LABEL
from anml.review.spans import Records, records

# Annotator of an answer without annotator, and the columns of a table with the annotator.
NO_ANSWER, ANSWERED_BY_COLUMN, ASSIGNED_COLUMN = "", "answered_by", "assigned_to"
Entry = dict[str, Any]


def read_log(file: Path) -> Iterator[Entry]:
    """Yield the lines of the file of a review: `row`, `label`, `by`, `seconds`, `comment`.

    A null label is a skipped item. A process that was killed while it wrote may leave a part of a line.
    """
    for line in read_bytes(file, "answers of the review").split(b"\n") if file.exists() else ():
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        if isinstance(entry, dict) and isinstance(entry.get("row"), int):
            yield entry


def read_answers(
    file: Path, source: Source, samples: pl.DataFrame, kind: str = AS_GOLD
) -> dict[int, NewLabel]:
    """Read answers by a row of their item."""
    if file.name == REVIEW_FILE:
        return _checked(_of_review(file), file, samples, kind)
    is_json = file.suffix.lower() in JSON
    if is_json and source.format not in _READERS:
        raise InputError(
            f"{file.name} is JSON, but the data of this run are not an export; fill in the CSV file"
        )
    if is_json:
        by_item = _READERS[source.format](records(file), records(source.path), source.question)
        rows = dict(samples.sort("p_correct", "row", descending=True).select("item", "row").iter_rows())
        answers = {rows[item]: answer for item, answer in by_item.items() if item in rows}
    else:
        frame = read_table(file, name="answers").frame
        for name in ("row", NEW_LABEL):
            if name not in frame.columns:
                raise InputError(f"{file.name} has no column {name!r}; pass a list written by `anml relabel`")
        annotators = next(
            (
                as_text(frame[name]).to_list()
                for name in (ANSWERED_BY_COLUMN, ASSIGNED_COLUMN)
                if name in frame.columns
            ),
            None,
        )
        given = zip(frame["row"], as_text(frame[NEW_LABEL]), annotators or [None] * frame.height, strict=True)
        filled: dict[int, NewLabel] = {}
        for row, label, by in ((row, label.strip(), by) for row, label, by in given if label):
            if label and filled.setdefault(row, NewLabel(label, by or NO_ANSWER)).label != label:
                both = f"{filled[row].label!r} and {label!r}"
                raise InputError(f"{file.name} has two answers to row {row}, {both}; delete one of them")
        answers = {int(row): answer for row, answer in filled.items()}
    return _checked(answers, file, samples, kind)


def _of_review(file: Path) -> dict[int, NewLabel]:
    if not file.exists():
        raise InputError(f"{file.parent} has no answers of `anml review`; pass a file with the answers")
    last = {entry["row"]: entry for entry in read_log(file)}
    answered = {row: entry for row, entry in last.items() if entry["label"] is not None}
    return {row: NewLabel(entry["label"], entry["by"]) for row, entry in answered.items()}


def _checked(
    answers: dict[int, NewLabel], file: Path, samples: pl.DataFrame, kind: str
) -> dict[int, NewLabel]:
    """Answers in the order of the rows, all of which are in the run."""
    if other := answers.keys() - set(samples["row"]):
        first = next(row for row in answers if row in other)
        raise InputError(f"{file.name} answers row {first}, which is not in this run")
    if not answers:
        raise InputError(f"{file.name} has no answer to an item of this run")
    if kind == AS_LABEL and any(answer.by == NO_ANSWER for answer in answers.values()):
        raise InputError(
            f"{file.name} has no annotators; additional labels need a column {ANSWERED_BY_COLUMN!r}"
        )
    return dict(sorted(answers.items()))


def _of_label_studio(tasks: Records, before: Records, question: str | None) -> dict[str, NewLabel]:
    """Last new annotation of each task; in tasks written by `anml relabel` all annotations are new."""
    old = {name for _, _, name, _ in annotations_of(before)}
    answers = {}
    for item, task, name, annotation in annotations_of(tasks):
        data = task.get("data")
        ours = data.get(f"{OWN_PREFIX}task") if isinstance(data, dict) else None
        label = annotation_label(annotation, question)
        if (ours is None and name in old) or label is None or annotation.get("was_cancelled"):
            continue
        annotator = annotator_id(annotation.get("completed_by")) or NO_ANSWER
        answers[item if ours is None else str(ours)] = NewLabel(label, annotator)
    return answers


def _of_argilla(entries: Records, before: Records, question: str | None) -> dict[str, NewLabel]:
    """New responses by record."""
    name = question_of([*before, *entries], question)
    old = {(item, str(value), user) for item, _, value, user, _ in answers_to(before, name)}
    answers = {}
    for item, _, value, user, status in answers_to(entries, name):
        label = label_text(value)
        if label is not None and status in SUBMITTED and (item, str(value), user) not in old:
            answers[item] = NewLabel(label, user or NO_ANSWER)
    return answers


_READERS: dict[str, Callable[[Records, Records, str | None], dict[str, NewLabel]]] = {
    "label-studio": _of_label_studio,
    "argilla": _of_argilla,
}
