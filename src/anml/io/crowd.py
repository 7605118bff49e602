"""Crowd platforms by preset: crowd-kit and cleanlab tables, Toloka TSV, MTurk batch results."""

import re
from collections.abc import Callable

import polars as pl

from anml.core.errors import InputError
from anml.core.text import pluralise
from anml.io.contributions import OWN_PREFIX, Chosen, Contributions, assemble, utc_text
from anml.io.file import InputFile
from anml.io.mapped import rows_from_mapping
from anml.io.plain import as_text
from anml.io.roles import require_column

# MTurk writes times such as "Mon Mar 09 22:16:08 PST 2026"; the zone is turned into an offset first.
_MTURK_TIME = ("%a %b %d %H:%M:%S %z %Y",)
# Names of the columns of a long table, the most telling first.
LONG_ALIASES = {
    "item": ("task", "index", "item", "example", "id"),
    "contributor": ("worker", "annotator", "performer", "contributor"),
    "label": ("label", "output", "answer"),
}
NULL_TEXT = pl.lit(None, pl.String)
_ZONES = {"PST": "-0800", "PDT": "-0700", "UTC": "+0000", "GMT": "+0000"}


def long_format(file: InputFile, columns: Chosen) -> Contributions:
    """One row for each label: task or index, worker or annotator, label, and the right label if known."""
    frame = file.table.frame
    there = {role: [name for name in names if name in frame.columns] for role, names in LONG_ALIASES.items()}
    named = {role: columns.get(role) or next(iter(names), None) for role, names in there.items()}
    if (item := named["item"]) is None:
        raise InputError(f"no column for the item; looked for {', '.join(LONG_ALIASES['item'])}")
    if gaps := frame[require_column(frame.columns, item, "the item")].null_count():
        raise InputError(
            f"column {item!r} (item) is empty in {pluralise(gaps, 'row')}; every label needs one"
        )
    return rows_from_mapping(frame, {**columns, **named}, "crowd")


def wide_format(file: InputFile, columns: Chosen) -> Contributions:
    """One row for each example and one column for each annotator, empty where they gave no label."""
    frame, item = file.table.frame, columns.get("item")
    rows = [
        {"item": row[item] if item else str(number), "contributor": name, "label": label}
        for number, row in enumerate(frame.select(map(as_text, frame)).iter_rows(named=True))
        for name, label in row.items()
        if name != item and label is not None
    ]
    return assemble("crowd", rows)


def toloka(file: InputFile, columns: Chosen) -> Contributions:
    """Toloka's TSV: golden answers, and an assignment that was accepted or rejected as a whole."""
    frame = file.table.frame
    field = columns.get("label") or _with_prefix(frame, "OUTPUT:")
    worker, answer = "ASSIGNMENT:worker_id", f"OUTPUT:{field}"
    for name in (worker, answer):
        require_column(frame.columns, name)
    submitted = _coalesce(frame, "ASSIGNMENT:submitted", "ASSIGNMENT:started")
    shown = pl.concat_str(NULL_TEXT, pl.col("^INPUT:.*$").cast(pl.String), separator="|", ignore_nulls=True)
    roles = {
        "item": pl.coalesce(_coalesce(frame, "ASSIGNMENT:task_id"), shown),
        "contributor": pl.col(worker), "label": pl.col(answer), "truth": _coalesce(frame, f"GOLDEN:{field}"),
        "time": _utc(submitted), "review": _coalesce(frame, "ASSIGNMENT:status"),
        "reviewed_at": _utc(pl.coalesce(_coalesce(frame, "ASSIGNMENT:accepted"), submitted)),
    }  # fmt: skip
    answered = frame.filter(pl.col(answer).is_not_null())
    skipped = frame.height - answered.height
    left_out = pluralise(
        skipped, "row without an answer was left out", "rows without an answer were left out"
    )
    return _platform(answered, "toloka", roles, "INPUT:", [left_out] if skipped else [])


def mturk(file: InputFile, columns: Chosen) -> Contributions:
    """MTurk's batch results. An approval by the clock proves nothing, so only earlier ones count."""
    frame = file.table.frame
    answer = f"Answer.{columns.get('label') or _with_prefix(frame, 'Answer.')}"
    for name in ("HITId", "WorkerId", "AssignmentStatus", answer):
        require_column(frame.columns, name)
    names = ("SubmitTime", "ApprovalTime", "AutoApprovalTime", "RejectionTime")
    submitted, approved, limit, rejected = (_utc(_coalesce(frame, name)) for name in names)
    accepted, refused = (pl.col("AssignmentStatus") == word for word in ("Approved", "Rejected"))
    # Without both times an early approval is not shown, and v is not raised.
    early = (approved < limit).fill_null(False)
    roles = {
        "item": pl.col("HITId"), "contributor": pl.col("WorkerId"), "label": pl.col(answer),
        "time": submitted, "review": pl.when(refused | (accepted & early)).then("AssignmentStatus"),
        "reviewed_at": pl.when(refused).then(rejected).otherwise(approved),
    }  # fmt: skip
    answered = frame.filter(pl.col(answer).is_not_null())
    late = answered.filter(accepted & ~early).height
    note = f"{pluralise(late, 'approval was', 'approvals were')} made by the clock, which proves nothing"
    return _platform(answered, "mturk", roles, "Input.", [note] if late else [])


def _platform(
    frame: pl.DataFrame, place: str, roles: dict[str, pl.Expr], inputs: str, notes: list[str]
) -> Contributions:
    """Labels and reviews of a platform as those of a table, with what was shown beside them."""
    roles = {"truth": NULL_TEXT, "reviewer": pl.lit(f"{place} requester"), **roles}
    ours = [expression.alias(f"{OWN_PREFIX}{role}") for role, expression in roles.items()]
    shown = pl.col(f"^{re.escape(inputs)}.*$").name.replace(inputs, "", literal=True)
    contributions = rows_from_mapping(
        frame.select(*ours, shown), {role: f"{OWN_PREFIX}{role}" for role in roles}, place
    )
    return contributions._replace(warnings=[*notes, *contributions.warnings])


def _coalesce(frame: pl.DataFrame, *names: str) -> pl.Expr:
    """The first of these columns that has a value, as text."""
    return pl.coalesce(*(pl.col(name).cast(pl.String) for name in names if name in frame.columns), NULL_TEXT)


def _utc(times: pl.Expr) -> pl.Expr:
    for zone, offset in _ZONES.items():
        times = times.str.replace(f" {zone} ", f" {offset} ", literal=True)
    return times.map_elements(lambda text: utc_text(text, _MTURK_TIME), return_dtype=pl.String)


def _with_prefix(frame: pl.DataFrame, prefix: str) -> str:
    names = [name.removeprefix(prefix) for name in frame.columns if name.startswith(prefix)]
    if len(names) != 1:
        raise InputError(f"name the answer to use; this file has: {', '.join(names) or 'none'}")
    return names[0]


PRESETS: dict[str, Callable[[InputFile, Chosen], Contributions]] = {
    "crowd-long": long_format,
    "crowd-wide": wide_format,
    "toloka": toloka,
    "mturk": mturk,
}
