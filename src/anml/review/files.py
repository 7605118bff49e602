"""The review queue as a file: tasks for Label Studio, records for Argilla, or a table to fill in."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

from anml.core.canonical import sha256
from anml.core.checks import one_of
from anml.core.errors import UnsupportedError
from anml.core.files import write_file
from anml.io.argilla import answers_to, question_of
from anml.io.contributions import ANNOTATION
from anml.io.file import JSON
from anml.io.label_studio import annotations_of
from anml.io.plain import as_text
from anml.io.source import Source
from anml.io.spreadsheets import check_text, safe_for_spreadsheets
from anml.io.tasks.regions import REGIONS as MARKED
from anml.io.tasks.types import PREFERENCE, TAGS
from anml.pipeline.review_queue import ReviewQueue
from anml.review.spans import WRITERS, Records, argilla_records, format_span_queue, predicted_task, records

NEW_LABEL = "new_label"
# Columns that identify a row of the queue, and columns with review information.
NAMES = ("row", "item", ANNOTATION, "contributor")
TASK_FIELDS = (
    "label",
    "suggested_label",
    "p_suggested_label",
    "consensus_label",
    "p_correct",
    "p_label_wrong",
    "reason",
    "assigned_to",
    "price",
)


def format_queue(queue: ReviewQueue, source: Source, format: str = "auto") -> str:
    """Format the queue; `auto` is the format of the data."""
    kind = None if source.shape is None else source.shape.kind
    drawn = [*WRITERS] if kind in (*MARKED, TAGS) else ["argilla"] if kind == PREFERENCE else []
    if format == "auto":
        format = source.format if source.format in (*drawn, *FORMATS) else "csv"
    one_of("format", format, ("auto", *FORMATS, *drawn))
    if format != "csv" and format != source.format:
        read = f"{source.table.name} was read as {source.format}"
        raise UnsupportedError(f"format {format} needs data that came from it, but {read}; use --format csv")
    if format in drawn:
        return _text(format_span_queue(queue, source, format))
    frame, rows = source.table.frame, queue.rows
    if ANNOTATION in frame.columns:
        ids = frame[ANNOTATION].cast(pl.String)[rows["row"].to_numpy()]
        rows = rows.with_columns(ids.alias(ANNOTATION))
    shown = shown_columns(source)
    data = frame[rows["row"].to_numpy()].select(shown)
    # Columns with the name of a column of the queue are dropped if equal, else renamed.
    data = data.drop(name for name in shown if name in rows.columns and _are_equal(data[name], rows[name]))
    clashing = (name for name in data.columns if name in (*rows.columns, NEW_LABEL))
    data = data.rename({name: f"data_{name}" for name in clashing})
    return _text(FORMATS[format](rows.hstack(data), source))


def shown_columns(source: Source) -> list[str]:
    """Columns with the data of the items; of other tasks also those made from their annotations."""
    ignored = source.others if source.shape is None else (ANNOTATION,)
    return [name for name in source.table.frame.columns if name not in (*source.roles.values(), *ignored)]


def _are_equal(one: pl.Series, other: pl.Series) -> bool:
    if one.dtype.is_nested() or one.dtype in (pl.Binary, pl.Object):
        return False
    return as_text(one).equals(as_text(other))


def _text(made: str | Records) -> str:
    return made if isinstance(made, str) else json.dumps(made, indent=1, ensure_ascii=False) + "\n"


def write_queue(queue: ReviewQueue, source: Source, format: str, out: Path | None) -> str:
    """The list as text, and in a file where one is named; never a table under the name of another format."""
    # A file whose name ends in .csv is a table, whatever the data came in.
    as_table = format == "auto" and out is not None and out.suffix == ".csv"
    text = format_queue(queue, source, "csv" if as_table else format)
    if out is not None:
        check_text(out)
        if out.suffix.lower() in JSON and text[:1] not in "[{":
            name = source.table.name
            raise UnsupportedError(f"the list of {name} is a table; the output must end in .csv")
        write_file(out, text)
    return text


def _csv(rows: pl.DataFrame, source: Source) -> str:
    first, task_columns = ([name for name in names if name in rows.columns] for names in (NAMES, TASK_FIELDS))
    data = [name for name in rows.columns if name not in (*first, *task_columns)]
    figures = [pl.col(name).round(4) for name in ("p_suggested_label", "p_correct", "p_label_wrong")]
    rows = rows.with_columns(figures)
    cells = [rows[name] for name in (*first, *data, *task_columns)]
    # Lists and records are written as text.
    cells = [pl.Series(c.name, [*map(str, c.to_list())]) if c.dtype.is_nested() else c for c in cells]
    # Empty columns of the queue are dropped.
    frame = pl.DataFrame([each for each in cells if each.null_count() < len(each) or each.name in data])
    return safe_for_spreadsheets(frame.with_columns(pl.lit("").alias(NEW_LABEL))).write_csv()


def _item_fields(row: dict[str, Any]) -> dict[str, Any]:
    """Review information about an item, without missing values; probabilities to four places."""
    names = {"item": "task", ANNOTATION: "annotation"}
    about = {names.get(name, name): row[name] for name in (*NAMES, *TASK_FIELDS) if row.get(name) is not None}
    return {name: round(value, 4) if isinstance(value, float) else value for name, value in about.items()}


def _label_studio(rows: pl.DataFrame, source: Source) -> Records:
    """The imported tasks, with the suggestion as a prediction and review information in their data."""
    annotations = annotations_of(records(source.path))
    imported, tasks = {name: (task, annotation) for _, task, name, annotation in annotations}, []
    for row in rows.iter_rows(named=True):
        task, annotation = imported[row[ANNOTATION]]
        result = _prediction(annotation, row, source.question)
        tasks.append(
            predicted_task(task, _item_fields(row), row["p_suggested_label"], [result] if result else [])
        )
    return tasks


def _prediction(
    annotation: dict[str, Any], row: dict[str, Any], question: str | None
) -> list[dict[str, Any]]:
    """Result of an annotation with the suggested label; empty if it cannot be replaced."""
    results = [each for each in annotation.get("result") or [] if isinstance(each.get("value"), dict)]
    results = [each for each in results if question in (None, each.get("from_name"))]
    if row["suggested_label"] is None or len(results) != 1:
        return []
    (result,) = results
    value = result["value"]
    name = result["type"] if result.get("type") in value else next(iter(value)) if len(value) == 1 else None
    if name is None:
        return []
    own = ("id", "value", "origin", "meta", "score")
    kept = {key: each for key, each in result.items() if key not in own}
    label = _match_shape(row["suggested_label"], value[name])
    if result.get("type") == "pairwise":
        label = {"first": "left", "second": "right"}.get(row["suggested_label"], label)
    mark = sha256(f"{row['item']}/{row['suggested_label']}".encode())[:10]
    return [{"id": mark, **kept, "value": {**value, name: label}}]


def _match_shape(label: Any, like: Any) -> Any:
    """Convert a label to the type of an answer of the tool: a list, a number, or text."""
    if isinstance(like, list):
        parsed = _parsed(label)
        return parsed if isinstance(parsed, list) else [label]
    if isinstance(like, dict) or (isinstance(like, int | float) and not isinstance(like, bool)):
        return _parsed(label)
    return label


def _parsed(label: Any) -> Any:
    try:
        return json.loads(label) if isinstance(label, str) else label
    except ValueError:
        return label


def _argilla(rows: pl.DataFrame, source: Source) -> Records:
    """Records with the suggested label as suggestion, in the type of the answers."""
    entries = records(source.path)
    answers = answers_to(entries, question_of(entries, source.question))
    like = next((value for _, _, value, _, _ in answers if value is not None), None)
    suggested = []
    for row in rows.iter_rows(named=True):
        parsed = _parsed(row["suggested_label"])
        value = parsed if isinstance(parsed, list) else _match_shape(row["suggested_label"], like)
        suggested.append((row["item"], value, row["p_suggested_label"], _item_fields(row)))
    return argilla_records(entries, source.question, suggested)


FORMATS: dict[str, Callable[[pl.DataFrame, Source], str | Records]] = {
    "label-studio": _label_studio,
    "argilla": _argilla,
    "csv": _csv,
}
