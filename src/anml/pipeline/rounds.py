"""Review rounds: the data of a run with the true labels and further labels of all rounds."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from anml.core.canonical import sha256
from anml.core.errors import InputError, IntegrityError
from anml.core.files import read_bytes
from anml.io.contributions import KNOWN, REVIEWED
from anml.io.plain import as_text
from anml.io.roles import BOOLEAN_SPELLINGS
from anml.io.source import Source, read_source, table_source
from anml.io.tables import Table
from anml.pipeline.review_queue import QueueInput, queue_input_from_result

if TYPE_CHECKING:
    from anml.pipeline.result import AuditResult

FILE = "answers.json"
# An answer is a true label or a further label.
AS_GOLD, AS_LABEL = "true-label", "label"
ANSWER_KINDS = (AS_GOLD, AS_LABEL)
# Added columns: the item, if the table has none, and the answer.
ITEM, ANSWERED = "anml_item", "anml_answer"
# Columns that answers are written to, by role; the mapping also has `numbers`: labels are numbers.
ROLES = ("label", "contributor", "item", "true_label", "reviewed", "verification", "reputation", "test_label")
Roles = dict[str, Any]


class NewLabel(NamedTuple):
    """The answer for an item, and its annotator."""

    label: str
    by: str


# The kind of the answers of a round, and the answers by a row of their item.
Round = tuple[str, dict[int, NewLabel]]


def source_of(inputs: QueueInput, folder: Path | None, data: Path | None) -> Source:
    """Read the data of a run again, from the stored path or from `data`, and apply its answers."""
    about = inputs.data
    if data is None and "path" not in about:
        why = "the run was made from a data frame, so its data cannot be read again"
        raise InputError(f"{why}; audit a file, or pass one with --data")
    path = data or Path(folder or Path(), str(about["path"]))
    if not path.exists():
        raise InputError(f"the data of this run are missing: {path}; pass the file with --data")
    format = str(about.get("format", "auto"))
    format = "table" if format == "ledger rows" else format
    source = read_source(path, format, {"label": None, "time": None, **(about.get("named") or {})})
    if source.table.sha256 != about.get("source_sha256", about.get("sha256")):
        raise IntegrityError(f"{path} is not the data of this run, or was changed since")
    if "answers_sha256" not in about or folder is None:
        return source
    table, roles = source.table, dict.fromkeys(ROLES) | {"numbers": False} | about["roles"]
    for kind, answers in read_rounds(folder, about["answers_sha256"]):
        table, roles = apply_answers_to_table(table, roles, answers, kind)
    return source._replace(table=table, others=(*source.others, ITEM, ANSWERED, KNOWN, REVIEWED))


def source_of_audit(result: "AuditResult", table: Table | None) -> Source:
    """The data of an audit in memory: its file, else its table."""
    if table is not None and "path" not in result.data:
        return table_source(table)
    return source_of(queue_input_from_result(result), None, None)


def apply_answers_to_table(
    table: Table, roles: Roles, answers: dict[int, NewLabel], kind: str
) -> tuple[Table, Roles]:
    """Add answers as true labels, or as further rows; the given labels are not changed."""
    frame = table.frame
    if roles["item"] is None:
        roles = {**roles, "item": ITEM}
        frame = frame.with_columns(pl.int_range(pl.len()).cast(pl.String).alias(ITEM))
    texts = [roles[role] for role in ("item", "contributor") if roles[role] is not None]
    frame = frame.with_columns(as_text(frame[name]).alias(name) for name in texts)
    if kind == AS_GOLD:
        frame, roles = _as_gold(frame, roles, answers)
    else:
        # One row per answer, with its annotator; other columns of the label are null.
        rows, labels = frame[list(answers)], [answer.label for answer in answers.values()]
        label = pl.Series(labels, dtype=pl.String).cast(frame.schema[roles["label"]], strict=False)
        if label.null_count():
            bad = next(text for text, read in zip(labels, label, strict=True) if read is None)
            raise InputError(f"the answer {bad!r} is not a label of this table: its labels are numbers")
        rows = rows.with_columns(label.alias(roles["label"]))
        if roles["contributor"] is not None:
            by = [answer.by for answer in answers.values()]
            rows = rows.with_columns(pl.Series(roles["contributor"], by))
        unknown = [
            roles[role] for role in ("verification", "reputation", "test_label", "reviewed") if roles[role]
        ]
        rows = rows.with_columns(pl.lit(None, frame.schema[name]).alias(name) for name in unknown)
        frame = pl.concat([frame, rows], how="vertical_relaxed")
    mark = json.dumps([table.sha256, kind, sorted((row, *answer) for row, answer in answers.items())])
    return Table(frame, table.name, sha256(mark.encode())), roles


def _as_gold(frame: pl.DataFrame, roles: Roles, answers: dict[int, NewLabel]) -> tuple[pl.DataFrame, Roles]:
    """Store answers as true labels; a new label marks all given labels of the item as wrong."""
    if roles["true_label"] is not None:
        marks = set(as_text(frame[roles["true_label"]]).drop_nulls())
        flags = bool(marks) and {text.lower() for text in marks} <= BOOLEAN_SPELLINGS.keys()
        if flags and not marks <= set(as_text(frame[roles["label"]]).drop_nulls()):
            # If true_label holds true/false, it is `reviewed`.
            roles = {**roles, "reviewed": roles["true_label"], "true_label": None}
    true_label, reviewed = roles["true_label"] or KNOWN, roles["reviewed"] or REVIEWED
    names = frame[roles["item"]].to_list()
    by_item = {names[row]: answer.label for row, answer in answers.items()}
    labels = pl.Series([by_item.get(name) for name in names], dtype=pl.String)
    classes = as_text(frame[roles["label"]]).unique()
    is_class = labels.is_in(classes.implode()) | roles["numbers"]
    new = {
        true_label: pl.select(pl.when(is_class).then(labels)).to_series(),
        reviewed: pl.select(pl.when(~is_class & labels.is_not_null()).then(pl.lit("false"))).to_series(),
        ANSWERED: labels,
    }
    for name, values in new.items():
        frame = frame if name in frame.columns else frame.with_columns(pl.lit(None, pl.String).alias(name))
        frame = frame.with_columns(pl.coalesce(values, as_text(frame[name])).alias(name))
    if frame[reviewed].null_count() == frame.height:
        return frame.drop(reviewed), {**roles, "true_label": true_label}
    return frame, {**roles, "true_label": true_label, "reviewed": reviewed}


def read_rounds(folder: Path, digest: str) -> list[Round]:
    """Read the answers of all review rounds from the folder of a run."""
    data = read_bytes(folder / FILE, "list of answers")
    if sha256(data) != digest:
        raise IntegrityError(f"{folder / FILE} was changed after the run was written")
    return [
        (each["as"], {row: NewLabel(label, by) for row, label, by in each["answers"]})
        for each in json.loads(data)
    ]


def rounds_file(rounds: list[Round]) -> str:
    """Return the answers of all rounds as JSON text."""
    content = [
        {"as": kind, "answers": [[row, *answer] for row, answer in answers.items()]}
        for kind, answers in rounds
    ]
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"
