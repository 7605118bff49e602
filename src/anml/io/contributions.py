"""Result type of all export readers: rows (one per label), attestations about them, and warnings."""

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from anml.core.errors import InputError
from anml.io.file import InputFile
from anml.io.plain import as_text

# Columns that are there whatever the source, all of them text.
ROW_COLUMNS = ("item", "contributor", "label", "time", "truth")
EVIDENCE_COLUMNS = ("item", "contributor", "kind", "issuer", "at")
# Issuers that are platforms, or unknown; all others are persons.
UNKNOWN_REVIEWER = "unknown reviewer"
PLATFORMS = (UNKNOWN_REVIEWER, "toloka requester", "mturk requester")
# Columns that a table made of an export may have beside its rows: true labels and reviews.
KNOWN, REVIEWED, IS_TRUTH = "true_label", "reviewed", "is_ground_truth"
# Identifier of a label in the tool, and the prefix of values that `anml relabel` wrote beside the data.
ANNOTATION, OWN_PREFIX = "annotation_id", "anml_"
# Seconds that an annotator spent on a label, as Label Studio names them; shown, and not used.
TIME_SPENT_COLUMN = "lead_time"
MAJORITY = 0.5


class Contributions(NamedTuple):
    """Rows and evidence in the shape described above."""

    source: str
    rows: pl.DataFrame
    evidence: pl.DataFrame
    warnings: list[str]


Found = Sequence[Mapping[str, Any]]
# Columns, or a question, that the user named, by role.
Chosen = dict[str, str | None]


def assemble(source: str, rows: Found, evidence: Found = (), warnings: Iterable[str] = ()) -> Contributions:
    """Return rows with contributors, in order; a message names an account that holds most of the rows."""
    if not rows:
        raise InputError(f"no finished {source} label was found in this file")
    frame = pl.from_dicts(list(rows), infer_schema_length=None)
    missing = [pl.lit(None).alias(name) for name in ROW_COLUMNS if name not in frame.columns]
    frame = frame.with_columns(missing).select(pl.col(ROW_COLUMNS).cast(pl.String), pl.exclude(ROW_COLUMNS))
    messages, every, frame = [*warnings], frame.height, frame.drop_nulls("contributor")
    if frame.is_empty():
        raise InputError("no row says who contributed it")
    if nobody := every - frame.height:
        messages.append(f"{nobody} of {every} rows do not say who contributed them and were left out")
    (name, count), *others = frame["contributor"].value_counts(sort=True).rows()
    if others and count > MAJORITY * frame.height:
        hint = "an importing account is often put in place of the people who did the work"
        share = f"one account, {name!r}, holds {count / frame.height:.0%} of the rows"
        messages.append(f"{share}: {hint}; see `anml-ledger import` of accounts")
    proofs = pl.DataFrame(list(evidence), schema=dict.fromkeys(EVIDENCE_COLUMNS, pl.String), orient="row")
    # Attestations about rows without a contributor are dropped.
    known = pl.col("contributor").is_in(frame["contributor"].unique().to_list())
    return Contributions(source, frame, proofs.filter(known.fill_null(False)), messages)


def last_reviews(evidence: pl.DataFrame, counts: pl.Expr) -> pl.DataFrame:
    """The last word on each label of a reviewer who `counts` and did not give it."""
    kinds = ("review-accepted", "review-rejected", "fixed")
    others = pl.col("issuer") != pl.col("contributor")
    reviews = evidence.filter(pl.col("kind").is_in(kinds) & others & counts)
    reviews = reviews.sort("at", nulls_last=False, maintain_order=True)
    return reviews.unique(["item", "contributor"], keep="last", maintain_order=True)


def export_records(file: InputFile) -> list[dict[str, Any]]:
    """The tasks or records of an export in JSON."""
    records = file.json
    records = records.get("records", [records]) if isinstance(records, dict) else records
    if not isinstance(records, list) or not all(isinstance(entry, dict) for entry in records):
        raise InputError(f"{file.path.name} is not a list of tasks or records")
    return records


def as_object_list(value: Any, what: str) -> list[dict[str, Any]]:
    """A list of objects inside an export, none where there is nothing; `what` names it for the message."""
    objects = value or []
    if not isinstance(objects, list) or not all(isinstance(part, dict) for part in objects):
        raise InputError(f"{what} must be a list of objects, got {str(value)[:40]!r}")
    return objects


def as_object(value: Any, what: str) -> dict[str, Any]:
    """An object inside an export, empty where there is nothing."""
    content = value or {}
    if not isinstance(content, dict):
        raise InputError(f"{what} must be an object, got {str(value)[:40]!r}")
    return content


def utc_text(value: Any, formats: Sequence[str] = ()) -> str | None:
    """A time as UTC text; None where there is none or it cannot be read. Without a zone it is UTC."""
    if value is None or value == "":
        return None
    try:
        if isinstance(value, int | float):
            moment = datetime.fromtimestamp(value, UTC)
        else:
            moment = value if isinstance(value, datetime) else _parsed(str(value).strip(), formats)
        moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (OverflowError, OSError, ValueError):  # no time, or far outside the calendar
        return None
    # Not by strftime, which writes a year before 1000 with three digits, which cannot be read again.
    return moment.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def _parsed(text: str, formats: Sequence[str]) -> datetime:
    for pattern in formats:
        with suppress(ValueError):
            return datetime.strptime(text, pattern)
    return datetime.fromisoformat(text)


def read_typed(path: Path, texts: Sequence[str], needed: Sequence[str] = ()) -> pl.DataFrame:
    """A table with the columns `needed`, whose identifiers and labels (those of `texts` it has) are text."""
    frame = InputFile(path).table.frame
    for name in needed:
        if name not in frame.columns:
            raise InputError(f"{path.name} has no column {name!r}; it needs {', '.join(needed)}")
    return frame.with_columns(as_text(frame[name]) for name in texts if name in frame.columns)


def of_contributors(path: Path, column: str) -> dict[str, str | None]:
    """Return a value of each contributor, as text, from a table that names each contributor once."""
    frame = read_typed(path, ("contributor", column), ("contributor", column))
    if frame["contributor"].null_count():
        raise InputError(f"{path.name} has a {column} that belongs to no contributor")
    if frame["contributor"].n_unique() != frame.height:
        raise InputError(f"{path.name} names a contributor twice")
    return dict(frame.select("contributor", column).iter_rows())


def scalar_fields(values: Mapping[str, Any]) -> dict[str, Any]:
    """The plain values of a record, under names that do not clash with ours."""
    plain = {
        # Whole numbers beyond 64 bits fit no column: they are names.
        key: str(value) if isinstance(value, int) and abs(value) >= 2**63 else value
        for key, value in values.items()
        if isinstance(value, str | int | float | bool) and not key.startswith(OWN_PREFIX)
    }
    ours = (*ROW_COLUMNS, KNOWN, REVIEWED, IS_TRUTH, ANNOTATION, TIME_SPENT_COLUMN)
    return {f"data_{key}" if key in ours else key: value for key, value in plain.items()}


def label_text(value: Any) -> str | None:
    """A label as text: a list of one is that one, other shapes are JSON with sorted keys."""
    if value is None or value == [] or value == "":
        return None
    if isinstance(value, list):
        if len(value) == 1:
            return label_text(value[0])
        if all(isinstance(item, str) for item in value):
            value = sorted(value)
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, ensure_ascii=False)
