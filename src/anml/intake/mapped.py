"""Any table whose columns are named: by hand, or by a Croissant description."""

from pathlib import Path
from typing import Any

import polars as pl

from anml.core.errors import InputError
from anml.intake.contributions import Contributions, gather, scalars, utc_text
from anml.intake.crowd import read_text_table

# Other names under which people keep these columns.
ALIASES: dict[str, tuple[str, ...]] = {
    "item": ("item", "item_id", "task", "example_id", "id"),
    "contributor": (
        "contributor", "annotator", "annotator_id", "worker", "worker_id", "user_id", "labeler", "completed_by",
        "source", "site", "vendor",
    ),
    "label": ("label", "labels", "target", "class", "answer", "y"),
    "time": ("time", "labeled_at", "created_at", "submitted_at", "timestamp"),
    "gold": ("gold", "golden", "ground_truth"),
    "review": ("review", "review_status", "review_result"),
    "reviewer": ("reviewer", "reviewed_by"),
    "reviewed_at": ("reviewed_at", "review_time"),
    "doi": ("doi",),
}  # fmt: skip
REQUIRED = ("contributor", "label")
_REVIEWS = {
    **dict.fromkeys(("accepted", "approved", "accept", "true", "1", "yes"), "review-accepted"),
    **dict.fromkeys(("rejected", "reject", "false", "0", "no"), "review-rejected"),
}


def read_mapped(path: Path, columns: dict[str, str | None] | None = None) -> Contributions:
    """Read a table; `columns` maps our names to the file's, the rest is found by common names."""
    frame = read_text_table(path)
    chosen = choose(frame.columns, columns or {})
    rows: list[dict[str, Any]] = []
    evidence: list[dict[str, Any]] = []
    for number, line in enumerate(frame.iter_rows(named=True)):
        known = {role: line[name] for role, name in chosen.items()}
        if known["label"] is None:
            continue
        item = known.get("item") or str(number)
        row = {"item": item, "contributor": known["contributor"], "label": known["label"]}
        rest = {name: value for name, value in line.items() if name not in chosen.values()}
        doi = {"doi": known["doi"]} if "doi" in chosen else {}
        row |= {"time": utc_text(known.get("time")), "gold": known.get("gold")}
        rows.append(row | doi | scalars({k: v for k, v in rest.items() if v is not None}))
        kind = _REVIEWS.get(str(known.get("review") or "").lower())
        if kind and known["contributor"]:
            issuer = known.get("reviewer") or "unknown reviewer"
            at = utc_text(known.get("reviewed_at"))
            who = {"item": item, "contributor": known["contributor"]}
            evidence.append(who | {"kind": kind, "issuer": issuer, "at": at})
    return gather("table", _aligned(rows), evidence)


def choose(names: list[str], given: dict[str, str | None]) -> dict[str, str]:
    """Which column plays which part."""
    chosen: dict[str, str] = {}
    for role, aliases in ALIASES.items():
        wanted = given.get(role)
        if wanted is not None and wanted not in names:
            raise InputError(f"there is no column {wanted!r} for the {role}; the file has {', '.join(names)}")
        found = wanted or next((name for name in names if name.lower() in aliases), None)
        if found is not None and found not in chosen.values():
            chosen[role] = found
        elif role in REQUIRED:
            raise InputError(f"no column for the {role}; name one of {', '.join(names)}")
    return chosen


def _aligned(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Every row with the same keys, so that an empty cell stays a missing value."""
    keys = list(dict.fromkeys(key for row in rows for key in row))
    return [{key: row.get(key) for key in keys} for row in rows]


def column_types(rows: pl.DataFrame, ours: tuple[str, ...]) -> pl.DataFrame:
    """Give the data columns their types back: text that is all numbers becomes numbers."""
    for name in rows.columns:
        if name in ours or rows[name].dtype != pl.String:
            continue
        numbers = rows[name].cast(pl.Float64, strict=False)
        if numbers.null_count() == rows[name].null_count():
            rows = rows.with_columns(numbers.alias(name))
    return rows
