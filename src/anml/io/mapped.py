"""Tables of labels whose columns are named by hand, or by the names people use for them."""

from typing import Any

import polars as pl

from anml.core.errors import InputError
from anml.io.contributions import UNKNOWN_REVIEWER, Chosen, Contributions, assemble, scalar_fields, utc_text
from anml.io.file import InputFile
from anml.io.plain import as_text
from anml.io.roles import ALIASES, GOLD_ALIASES, find_column, format_names

# The parts a column can play here; names people use for them are those of `anml audit`, and these.
NAMES: dict[str, tuple[str, ...]] = {
    **{role: ALIASES[role] for role in ("item", "contributor", "label", "time")},
    "truth": GOLD_ALIASES,
    "review": ("review", "review_status", "review_result"),
    "reviewer": ("reviewer", "reviewer_id", "reviewed_by"),
    "reviewed_at": ("reviewed_at", "review_time"),
}
REQUIRED = ("contributor", "label")
_REVIEWS = {
    **dict.fromkeys(("accepted", "approved", "accept", "true", "1", "yes"), "review-accepted"),
    **dict.fromkeys(("rejected", "reject", "false", "0", "no"), "review-rejected"),
}


def read_with_mapping(file: InputFile, columns: Chosen) -> Contributions:
    """Read a table; `columns` maps our names to the file's, the rest is found by common names."""
    return rows_from_mapping(file.table.frame, columns, "table")


def rows_from_mapping(frame: pl.DataFrame, columns: Chosen, place: str) -> Contributions:
    """Labels of a table whose contributors are accounts of a place."""
    chosen = map_columns(frame.columns, columns)
    texts = [name for role, name in chosen.items() if role not in ("time", "reviewed_at")]
    frame = frame.with_columns(as_text(frame[name]) for name in texts)
    rows: list[dict[str, Any]] = []
    evidence: list[dict[str, Any]] = []
    for number, line in enumerate(frame.iter_rows(named=True)):
        known = dict.fromkeys(NAMES) | {role: line[name] for role, name in chosen.items()}
        if known["label"] is None:
            continue
        pair = {"item": known["item"] or str(number), "contributor": known["contributor"]}
        row = {"label": known["label"], "time": utc_text(known["time"]), "truth": known["truth"]}
        rest = {k: v for k, v in line.items() if k not in chosen.values() and v is not None}
        rows.append(pair | row | scalar_fields(rest))
        if (kind := _REVIEWS.get(str(known["review"] or "").lower())) and known["contributor"]:
            issuer = known["reviewer"] or UNKNOWN_REVIEWER
            evidence.append(pair | {"kind": kind, "issuer": issuer, "at": utc_text(known["reviewed_at"])})
    messages = []
    for role in ("time", "reviewed_at"):
        times = frame[chosen[role]].drop_nulls() if role in chosen else ()
        if bad := [value for value in times if value != "" and utc_text(value) is None]:
            problem = f"column {chosen[role]!r} ({role}) has {len(bad)} values that are not times"
            messages.append(f"{problem}, the first {str(bad[0])!r}; they count as not known")
    return assemble(place, rows, evidence, messages)


def map_columns(names: list[str], given: Chosen) -> dict[str, str]:
    """Assign a column to each role."""
    chosen: dict[str, str] = {}
    for role, aliases in NAMES.items():
        if (name := find_column(names, {**given, **chosen}, role, aliases)) is not None:
            chosen[role] = name
        elif role in REQUIRED:
            raise InputError(f"no column for the {role}; name one of {format_names(names)}")
    return chosen
