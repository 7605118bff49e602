"""Crowd platforms by preset: crowd-kit and cleanlab tables, Toloka TSV, MTurk batch results."""

import re
from collections.abc import Callable

import polars as pl

from anml.core.errors import InputError
from anml.core.words import counted
from anml.intake.contributions import OURS, Chosen, Contributions, gather, utc_text
from anml.intake.file import File
from anml.intake.mapped import mapped
from anml.intake.plain import as_text
from anml.intake.roles import need

# MTurk writes times such as "Mon Mar 09 22:16:08 PST 2026"; the zone is turned into an offset first.
_MTURK_TIME = ("%a %b %d %H:%M:%S %z %Y",)
# Names of the columns of a long table, the most telling first.
LONG = {
    "item": ("task", "index", "item", "example", "id"),
    "contributor": ("worker", "annotator", "performer", "contributor"),
    "label": ("label", "output", "answer"),
}
NOTHING = pl.lit(None, pl.String)
_ZONES = {"PST": "-0800", "PDT": "-0700", "UTC": "+0000", "GMT": "+0000"}


def long_format(file: File, columns: Chosen) -> Contributions:
    """One row for each label: task or index, worker or annotator, label, and the right label if known."""
    frame = file.table.frame
    there = {role: [name for name in names if name in frame.columns] for role, names in LONG.items()}
    named = {role: columns.get(role) or next(iter(names), None) for role, names in there.items()}
    if (item := named["item"]) is None:
        raise InputError(f"no column for the item; looked for {', '.join(LONG['item'])}")
    if gaps := frame[need(frame.columns, item, "the item")].null_count():
        raise InputError(f"column {item!r} (item) is empty in {counted(gaps, 'row')}; every label needs one")
    return mapped(frame, {**columns, **named}, "crowd")


def wide_format(file: File, columns: Chosen) -> Contributions:
    """One row for each example and one column for each annotator, empty where they gave no label."""
    frame, item = file.table.frame, columns.get("item")
    rows = [
        {"item": row[item] if item else str(number), "contributor": name, "label": label}
        for number, row in enumerate(frame.select(map(as_text, frame)).iter_rows(named=True))
        for name, label in row.items()
        if name != item and label is not None
    ]
    return gather("crowd", rows)


def toloka(file: File, columns: Chosen) -> Contributions:
    """Toloka's TSV: golden answers, and an assignment that was accepted or rejected as a whole."""
    frame = file.table.frame
    field = columns.get("label") or _only(frame, "OUTPUT:")
    who, answer = "ASSIGNMENT:worker_id", f"OUTPUT:{field}"
    for name in (who, answer):
        need(frame.columns, name)
    submitted = _first(frame, "ASSIGNMENT:submitted", "ASSIGNMENT:started")
    shown = pl.concat_str(NOTHING, pl.col("^INPUT:.*$").cast(pl.String), separator="|", ignore_nulls=True)
    roles = {
        "item": pl.coalesce(_first(frame, "ASSIGNMENT:task_id"), shown),
        "contributor": pl.col(who), "label": pl.col(answer), "truth": _first(frame, f"GOLDEN:{field}"),
        "time": _utc(submitted), "review": _first(frame, "ASSIGNMENT:status"),
        "reviewed_at": _utc(pl.coalesce(_first(frame, "ASSIGNMENT:accepted"), submitted)),
    }  # fmt: skip
    answered = frame.filter(pl.col(answer).is_not_null())
    skipped = frame.height - answered.height
    left_out = counted(skipped, "row without an answer was left out", "rows without an answer were left out")
    return _platform(answered, "toloka", roles, "INPUT:", [left_out] if skipped else [])


def mturk(file: File, columns: Chosen) -> Contributions:
    """MTurk's batch results. An approval by the clock proves nothing, so only earlier ones count."""
    frame = file.table.frame
    answer = f"Answer.{columns.get('label') or _only(frame, 'Answer.')}"
    for name in ("HITId", "WorkerId", "AssignmentStatus", answer):
        need(frame.columns, name)
    names = ("SubmitTime", "ApprovalTime", "AutoApprovalTime", "RejectionTime")
    submitted, approved, limit, rejected = (_utc(_first(frame, name)) for name in names)
    accepted, refused = (pl.col("AssignmentStatus") == word for word in ("Approved", "Rejected"))
    # Without both times nobody can tell, and doubt does not raise v.
    early = (approved < limit).fill_null(False)
    roles = {
        "item": pl.col("HITId"), "contributor": pl.col("WorkerId"), "label": pl.col(answer),
        "time": submitted, "review": pl.when(refused | (accepted & early)).then("AssignmentStatus"),
        "reviewed_at": pl.when(refused).then(rejected).otherwise(approved),
    }  # fmt: skip
    answered = frame.filter(pl.col(answer).is_not_null())
    late = answered.filter(accepted & ~early).height
    said = f"{counted(late, 'approval was', 'approvals were')} made by the clock, which proves nothing"
    return _platform(answered, "mturk", roles, "Input.", [said] if late else [])


def _platform(
    frame: pl.DataFrame, place: str, roles: dict[str, pl.Expr], inputs: str, said: list[str]
) -> Contributions:
    """Labels and reviews of a platform as those of a table, with what was shown beside them."""
    roles = {"truth": NOTHING, "reviewer": pl.lit(f"{place} requester"), **roles}
    ours = [of.alias(f"{OURS}{role}") for role, of in roles.items()]
    shown = pl.col(f"^{re.escape(inputs)}.*$").name.replace(inputs, "", literal=True)
    found = mapped(frame.select(*ours, shown), {role: f"{OURS}{role}" for role in roles}, place)
    return found._replace(warnings=[*said, *found.warnings])


def _first(frame: pl.DataFrame, *names: str) -> pl.Expr:
    """The first of these columns that has a value, as text."""
    return pl.coalesce(*(pl.col(name).cast(pl.String) for name in names if name in frame.columns), NOTHING)


def _utc(times: pl.Expr) -> pl.Expr:
    for zone, offset in _ZONES.items():
        times = times.str.replace(f" {zone} ", f" {offset} ", literal=True)
    return times.map_elements(lambda text: utc_text(text, _MTURK_TIME), return_dtype=pl.String)


def _only(frame: pl.DataFrame, prefix: str) -> str:
    found = [name.removeprefix(prefix) for name in frame.columns if name.startswith(prefix)]
    if len(found) != 1:
        raise InputError(f"name the answer to use; this file has: {', '.join(found) or 'none'}")
    return found[0]


PRESETS: dict[str, Callable[[File, Chosen], Contributions]] = {
    "crowd-long": long_format,
    "crowd-wide": wide_format,
    "toloka": toloka,
    "mturk": mturk,
}
