"""Rounds of relabelling: the data of a run, read again with the truths and second labels given so far."""

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
from anml.pipeline.queue import QueueInput, queue_input_from_result

if TYPE_CHECKING:
    from anml.pipeline.result import AuditResult

FILE = "answers.json"
# What an answer counts as.
AS_GOLD, AS_LABEL = "truth", "label"
ANSWER_KINDS = (AS_GOLD, AS_LABEL)
# Columns that are added: which rows are the same thing, where the table has none, and what is settled.
ITEM, ANSWERED = "anml_item", "anml_answer"
# The columns of a table that answers are written to, by role; beside them, whether labels are `numbers`.
ROLES = ("label", "contributor", "item", "true_label", "reviewed", "verification", "reputation", "test_label")
Roles = dict[str, Any]


class NewLabel(NamedTuple):
    """The label that an item has by now, and who gave it."""

    label: str
    by: str


# What the answers of a round count as, and each by the row of the table that stands for its item.
Round = tuple[str, dict[int, NewLabel]]


def source_of(found: QueueInput, folder: Path | None, data: Path | None) -> Source:
    """Read the data of a run again, from where they were or from where the user says, with its answers."""
    about = found.data
    if data is None and "path" not in about:
        why = "the run was made from a data frame, so its data cannot be read again"
        raise InputError(f"{why}; audit a file, or pass one with --data")
    place = data or Path(folder or Path(), str(about["path"]))
    if not place.exists():
        raise InputError(f"the data of this run are missing: {place}; pass the file with --data")
    format = str(about.get("format", "auto"))
    format = "table" if format == "ledger rows" else format
    source = read_source(place, format, {"label": None, "time": None, **(about.get("named") or {})})
    if source.table.sha256 != about.get("source_sha256", about.get("sha256")):
        raise IntegrityError(f"{place} is not the data of this run, or was changed since")
    if "answers_sha256" not in about or folder is None:
        return source
    table, roles = source.table, dict.fromkeys(ROLES) | {"numbers": False} | about["roles"]
    for kind, answers in read_rounds(folder, about["answers_sha256"]):
        table, roles = apply_answers_to_table(table, roles, answers, kind)
    return source._replace(table=table, beside=(*source.beside, ITEM, ANSWERED, KNOWN, REVIEWED))


def source_of_audit(result: "AuditResult", table: Table | None) -> Source:
    """The data of an audit in memory: the file that it came from, else the table that was given."""
    if table is not None and "path" not in result.data:
        return table_source(table)
    return source_of(queue_input_from_result(result), None, None)


def apply_answers_to_table(
    table: Table, roles: Roles, answers: dict[int, NewLabel], kind: str
) -> tuple[Table, Roles]:
    """The table with answers as known, or with a row for each; people's own labels stay as given."""
    frame = table.frame
    if roles["item"] is None:
        roles = {**roles, "item": ITEM}
        frame = frame.with_columns(pl.int_range(pl.len()).cast(pl.String).alias(ITEM))
    texts = [roles[role] for role in ("item", "contributor") if roles[role] is not None]
    frame = frame.with_columns(as_text(frame[name]).alias(name) for name in texts)
    if kind == AS_GOLD:
        frame, roles = _as_gold(frame, roles, answers)
    else:
        # A row for each answer, by whoever gave it, of which nothing else is known.
        rows, given = frame[list(answers)], [answer.label for answer in answers.values()]
        label = pl.Series(given, dtype=pl.String).cast(frame.schema[roles["label"]], strict=False)
        if label.null_count():
            bad = next(text for text, read in zip(given, label, strict=True) if read is None)
            raise InputError(f"the answer {bad!r} is no label of this table, whose labels are numbers")
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
    """Answers as right labels of their items; one that nobody gave before makes all that were given wrong."""
    if roles["true_label"] is not None:
        marks = set(as_text(frame[roles["true_label"]]).drop_nulls())
        flags = bool(marks) and {text.lower() for text in marks} <= BOOLEAN_SPELLINGS.keys()
        if flags and not marks <= set(as_text(frame[roles["label"]]).drop_nulls()):
            # True and false stand beside right labels, not among them.
            roles = {**roles, "reviewed": roles["true_label"], "true_label": None}
    known, reviewed = roles["true_label"] or KNOWN, roles["reviewed"] or REVIEWED
    names = frame[roles["item"]].to_list()
    by_item = {names[row]: answer.label for row, answer in answers.items()}
    told = pl.Series([by_item.get(name) for name in names], dtype=pl.String)
    given = as_text(frame[roles["label"]]).unique()
    usual = told.is_in(given.implode()) | roles["numbers"]
    new = {
        known: pl.select(pl.when(usual).then(told)).to_series(),
        reviewed: pl.select(pl.when(~usual & told.is_not_null()).then(pl.lit("false"))).to_series(),
        ANSWERED: told,
    }
    for name, said in new.items():
        frame = frame if name in frame.columns else frame.with_columns(pl.lit(None, pl.String).alias(name))
        frame = frame.with_columns(pl.coalesce(said, as_text(frame[name])).alias(name))
    if frame[reviewed].null_count() == frame.height:
        return frame.drop(reviewed), {**roles, "true_label": known}
    return frame, {**roles, "true_label": known, "reviewed": reviewed}


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
    """Answers of all rounds as the text of a file."""
    made = [
        {"as": kind, "answers": [[row, *answer] for row, answer in answers.items()]}
        for kind, answers in rounds
    ]
    return json.dumps(made, indent=1, ensure_ascii=False) + "\n"
