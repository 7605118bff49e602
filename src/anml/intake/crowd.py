"""Crowd platforms by preset: crowd-kit and cleanlab tables, Toloka TSV, MTurk batch results."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

from anml.core.checks import one_of
from anml.core.errors import InputError
from anml.core.words import counted
from anml.intake.contributions import Contributions, gather, read_typed, scalars, utc_text
from anml.intake.file import File, as_file
from anml.intake.mapped import mapped
from anml.intake.roles import need

# MTurk writes times such as "Mon Mar 09 22:16:08 PST 2026"; the zone is turned into an offset first.
_MTURK_TIME = ("%a %b %d %H:%M:%S %z %Y",)
_IDENTIFIERS = (
    "task", "worker", "annotator", "index", "WorkerId", "HITId", "ASSIGNMENT:worker_id", "ASSIGNMENT:task_id",
)  # fmt: skip
# Names of the columns of a long table, the most telling first.
LONG = {
    "item": ("task", "index", "item", "example", "id"),
    "contributor": ("worker", "annotator", "performer", "contributor"),
    "label": ("label", "output", "answer"),
}
_ZONES = {"PST": "-0800", "PDT": "-0700", "UTC": "+0000", "GMT": "+0000"}


def read_crowd(source: Path | File, preset: str, **columns: str | None) -> Contributions:
    """Read a table by one of `PRESETS`."""
    file = as_file(source)
    frame = read_typed(file, file.table.frame.columns if preset == "crowd-wide" else _IDENTIFIERS)
    return PRESETS[one_of("preset", preset, PRESETS)](frame, columns)


def long_format(frame: pl.DataFrame, columns: dict[str, str | None]) -> Contributions:
    """One row for each label: task or index, worker or annotator, label, and the right label if known."""
    there = {role: [name for name in names if name in frame.columns] for role, names in LONG.items()}
    named = {role: columns.get(role) or next(iter(names), None) for role, names in there.items()}
    item = named["item"]
    if item is None:
        raise InputError(f"no column for the item; looked for {', '.join(LONG['item'])}")
    if gaps := frame[need(frame.columns, item, "the item")].null_count():
        raise InputError(f"column {item!r} (item) is empty in {counted(gaps, 'row')}; every label needs one")
    return mapped(frame, {**columns, **named}, "crowd")


def wide_format(frame: pl.DataFrame, columns: dict[str, str | None]) -> Contributions:
    """One row for each example and one column for each annotator, empty where they gave no label."""
    item = columns.get("item")
    rows = [
        {"item": row[item] if item else str(number), "contributor": name, "label": label}
        for number, row in enumerate(frame.iter_rows(named=True))
        for name, label in row.items()
        if name != item and label is not None
    ]
    return gather("crowd", rows)


def toloka(frame: pl.DataFrame, columns: dict[str, str | None]) -> Contributions:
    """Toloka's TSV: golden answers, and an assignment that was accepted or rejected as a whole."""
    kinds = {"APPROVED": "review-accepted", "REJECTED": "review-rejected"}
    field = columns.get("label") or _only(frame, "OUTPUT:")
    for name in ("ASSIGNMENT:worker_id", f"OUTPUT:{field}"):
        need(frame.columns, name)
    rows: list[dict[str, Any]] = []
    evidence: list[dict[str, Any]] = []
    answered = frame.filter(pl.col(f"OUTPUT:{field}").is_not_null())
    for number, row in enumerate(answered.iter_rows(named=True)):
        inputs = _under(row, "INPUT:")
        item = row.get("ASSIGNMENT:task_id") or "|".join(str(v) for v in inputs.values()) or str(number)
        when = utc_text(row.get("ASSIGNMENT:submitted") or row.get("ASSIGNMENT:started"))
        who = {"item": item, "contributor": row["ASSIGNMENT:worker_id"]}
        given = {"label": str(row[f"OUTPUT:{field}"]), "time": when, "truth": row.get(f"GOLDEN:{field}")}
        rows.append(who | given | scalars(inputs))
        if kind := kinds.get(row.get("ASSIGNMENT:status") or ""):
            at = utc_text(row.get("ASSIGNMENT:accepted") or row.get("ASSIGNMENT:submitted")) or when
            evidence.append(who | {"kind": kind, "issuer": "toloka requester", "at": at})
    skipped = frame.height - answered.height
    left_out = counted(skipped, "row without an answer was left out", "rows without an answer were left out")
    return gather("toloka", rows, evidence, [left_out] if skipped else [])


def mturk(frame: pl.DataFrame, columns: dict[str, str | None]) -> Contributions:
    """MTurk's batch results. An approval by the clock proves nothing, so only earlier ones count."""
    answer = f"Answer.{columns.get('label') or _only(frame, 'Answer.')}"
    for name in ("HITId", "WorkerId", "AssignmentStatus", answer):
        need(frame.columns, name)
    rows: list[dict[str, Any]] = []
    evidence: list[dict[str, Any]] = []
    by_clock = 0
    for row in frame.filter(pl.col(answer).is_not_null()).iter_rows(named=True):
        who = {"item": row["HITId"], "contributor": row["WorkerId"]}
        given = {"label": str(row[answer]), "time": _mturk_time(row.get("SubmitTime"))}
        rows.append(who | given | scalars(_under(row, "Input.")))
        kind, at = _mturk_review(row)
        by_clock += kind == "by clock"
        if kind.startswith("review"):
            evidence.append(who | {"kind": kind, "issuer": "mturk requester", "at": at})
    said = f"{counted(by_clock, 'approval was', 'approvals were')} made by the clock, which proves nothing"
    return gather("mturk", rows, evidence, [said] if by_clock else [])


def _mturk_review(row: dict[str, Any]) -> tuple[str, str | None]:
    if row["AssignmentStatus"] == "Rejected":
        return "review-rejected", _mturk_time(row.get("RejectionTime"))
    if row["AssignmentStatus"] != "Approved":
        return "", None
    approved, limit = _mturk_time(row.get("ApprovalTime")), _mturk_time(row.get("AutoApprovalTime"))
    # Without both times nobody can tell, and doubt does not raise v.
    if approved is None or limit is None or approved >= limit:
        return "by clock", None
    return "review-accepted", approved


def _mturk_time(text: Any) -> str | None:
    if not isinstance(text, str):
        return utc_text(text)
    for zone, offset in _ZONES.items():
        text = text.replace(f" {zone} ", f" {offset} ")
    return utc_text(text, _MTURK_TIME)


def _under(row: dict[str, Any], prefix: str) -> dict[str, Any]:
    return {key.removeprefix(prefix): value for key, value in row.items() if key.startswith(prefix)}


def _only(frame: pl.DataFrame, prefix: str) -> str:
    found = [name.removeprefix(prefix) for name in frame.columns if name.startswith(prefix)]
    if len(found) != 1:
        raise InputError(f"name the answer to use; this file has: {', '.join(found) or 'none'}")
    return found[0]


PRESETS: dict[str, Callable[[pl.DataFrame, dict[str, str | None]], Contributions]] = {
    "crowd-long": long_format,
    "crowd-wide": wide_format,
    "toloka": toloka,
    "mturk": mturk,
}
