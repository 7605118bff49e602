"""Any table whose columns are named: by hand, or by an MLCommons Croissant description."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

from anml.core.errors import InputError
from anml.intake.contributions import UNKNOWN_REVIEWER, Contributions, gather, scalars, utc_text
from anml.intake.file import File, as_file
from anml.intake.plain import as_text
from anml.intake.roles import ALIASES, TRUTHS, is_named, need, shown

# The parts a column can play here; names people use for them are those of `anml audit`, and these.
NAMES: dict[str, tuple[str, ...]] = {
    **{role: ALIASES[role] for role in ("item", "contributor", "label", "time")},
    "truth": TRUTHS,
    "review": ("review", "review_status", "review_result"),
    "reviewer": ("reviewer", "reviewer_id", "reviewed_by"),
    "reviewed_at": ("reviewed_at", "review_time"),
    "doi": ("doi",),
}
REQUIRED = ("contributor", "label")
_REVIEWS = {
    **dict.fromkeys(("accepted", "approved", "accept", "true", "1", "yes"), "review-accepted"),
    **dict.fromkeys(("rejected", "reject", "false", "0", "no"), "review-rejected"),
}


def read_mapped(source: Path | File, columns: dict[str, str | None] | None = None) -> Contributions:
    """Read a table; `columns` maps our names to the file's, the rest is found by common names."""
    return mapped(as_file(source).table.frame, columns or {}, "table")


def mapped(frame: pl.DataFrame, columns: dict[str, str | None], place: str) -> Contributions:
    """Labels of a table whose contributors are accounts of a place."""
    chosen = choose(frame.columns, columns)
    texts = [name for role, name in chosen.items() if role not in ("time", "reviewed_at")]
    frame = frame.with_columns(as_text(frame[name]) for name in texts)
    rows: list[dict[str, Any]] = []
    evidence: list[dict[str, Any]] = []
    for number, line in enumerate(frame.iter_rows(named=True)):
        known = dict.fromkeys(NAMES) | {role: line[name] for role, name in chosen.items()}
        if known["label"] is None:
            continue
        who = {"item": known["item"] or str(number), "contributor": known["contributor"]}
        row = {"label": known["label"], "time": utc_text(known["time"]), "truth": known["truth"]}
        doi = {"doi": known["doi"]} if "doi" in chosen else {}
        rest = {k: v for k, v in line.items() if k not in chosen.values() and v is not None}
        rows.append(who | row | doi | scalars(rest))
        kind = _REVIEWS.get(str(known["review"] or "").lower())
        if kind and known["contributor"]:
            issuer = known["reviewer"] or UNKNOWN_REVIEWER
            evidence.append(who | {"kind": kind, "issuer": issuer, "at": utc_text(known["reviewed_at"])})
    return gather(place, rows, evidence, _unread_times(frame, chosen))


def _unread_times(frame: pl.DataFrame, chosen: dict[str, str]) -> list[str]:
    """Say of which columns of times some values could not be read."""
    columns = {role: chosen[role] for role in ("time", "reviewed_at") if role in chosen}
    unread = {
        role: [value for value in frame[name].drop_nulls() if value != "" and utc_text(value) is None]
        for role, name in columns.items()
    }
    return [
        f"column {columns[role]!r} ({role}) has {len(bad)} values that are not times, the first "
        f"{str(bad[0])!r}; they count as not known"
        for role, bad in unread.items()
        if bad
    ]


def choose(names: list[str], given: dict[str, str | None]) -> dict[str, str]:
    """Which column plays which part."""
    chosen: dict[str, str] = {}
    # What was named for one part is not guessed for another.
    free = [name for name in names if name not in given.values()]
    for role, aliases in NAMES.items():
        wanted = given.get(role) and need(names, str(given[role]), f"the {role}")
        guessed = (name for name in free if is_named(name, aliases) and name not in chosen.values())
        found = wanted or next(guessed, None)
        if found is not None and found not in chosen.values():
            chosen[role] = found
        elif role in REQUIRED:
            raise InputError(f"no column for the {role}; name one of {shown(names)}")
    return chosen


# The end of a property's address, and the part it plays.
_PROPERTIES = {
    "wasAttributedTo": "contributor",
    "wasAssociatedWith": "contributor",
    "endedAtTime": "time",
    "generatedAtTime": "time",
    "dateCreated": "time",
    "identifier": "item",
    "citation": "doi",
}
_TYPES = {"DateTime": "time", "Label": "label"}


def read_croissant(source: Path | File) -> tuple[dict[str, str | None], str | None]:
    """What a Croissant file says: our names to columns, and the file that has them."""
    file = as_file(source)
    about = file.json
    if not isinstance(about, dict) or "recordSet" not in about:
        raise InputError(f"{file.path.name} is not a Croissant description: it has no recordSet")
    columns: dict[str, str | None] = {}
    for field in _fields(about["recordSet"]):
        told = [_PROPERTIES.get(_last(value)) for value in _listed(field.get("equivalentProperty"))]
        told += [_TYPES.get(_last(value)) for value in _listed(field.get("dataType"))]
        role, where = next(filter(None, told), None), field.get("source") or {}
        column = (where.get("extract") or {}).get("column") if isinstance(where, dict) else None
        if role and column:
            columns.setdefault(role, str(column))
    if "contributor" not in columns:
        raise InputError(f"{file.path.name} names no contributor: no field is prov:wasAttributedTo")
    return columns, _file(about)


def _fields(node: Any) -> Iterator[dict[str, Any]]:
    for part in node if isinstance(node, list) else [node]:
        if not isinstance(part, dict):
            continue
        if "source" in part or "equivalentProperty" in part:
            yield part
        for key in ("field", "subField", "annotation"):
            yield from _fields(part.get(key, []))


def _file(about: dict[str, Any]) -> str | None:
    for part in _listed(about.get("distribution")):
        address = part.get("contentUrl") if isinstance(part, dict) else None
        if isinstance(address, str) and address and "://" not in address:
            return address
    return None


def _listed(value: Any) -> list[Any]:
    return [] if value is None else value if isinstance(value, list) else [value]


def _last(value: Any) -> str:
    """The last part of an address such as prov:wasAttributedTo or http://…/prov#wasAttributedTo."""
    return str(value).replace("#", "/").replace(":", "/").rsplit("/", 1)[-1]
