"""Argilla's JSON export, nested and flattened.

The nested form loses whether a response was submitted, a draft or discarded; only the flattened form
keeps it. Neither has a time for each response.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from anml.core.errors import InputError
from anml.intake.contributions import Contributions, gather, label_text, read_json, scalars, utc_text

SOURCE = "argilla"
NO_STATUS = (
    "this export does not say which responses are drafts or discarded, so they count as submitted; "
    "export flattened records to keep the status"
)


def read_argilla(path: Path, question: str | None = None, time: str | None = None) -> Contributions:
    """Read an export; `question` names one of several, `time` a metadata field with the time."""
    records = read_json(path)
    records = records.get("records", [records]) if isinstance(records, dict) else records
    if not isinstance(records, list) or not all(isinstance(record, dict) for record in records):
        raise InputError(f"{path.name} is not an Argilla export: a list of records was expected")
    name = _question(records, question)
    rows: list[dict[str, Any]] = []
    statuses: set[bool] = set()
    dropped = 0
    for number, record in enumerate(records):
        item = str(record.get("id") or record.get("_server_id") or number)
        meta = record.get("metadata") or {}
        when = meta.get(time, record.get(f"metadata.{time}", record.get(time))) if time else None
        for value, user, status in _responses(record, name):
            statuses.add(status is not None)
            if status is not None and status != "submitted":
                dropped += 1
                continue
            label = label_text(value)
            if label is not None:
                row = {"item": item, "contributor": user, "label": label, "time": utc_text(when)}
                rows.append(row | _fields(record))
    warnings = [NO_STATUS] if False in statuses else []
    warnings += [f"{dropped} responses that were not submitted were left out"] if dropped else []
    if time is None:
        warnings.append("Argilla keeps no time for each response; name a metadata field that has one")
    return gather(SOURCE, rows, (), warnings)


def _question(records: list[dict[str, Any]], wanted: str | None) -> str:
    nested = {name for record in records for name in (record.get("responses") or {})}
    flat = {
        key.removesuffix(".responses") for record in records for key in record if key.endswith(".responses")
    }
    names = sorted(nested | flat)
    if wanted is not None:
        if wanted not in names:
            raise InputError(f"there is no question {wanted!r}; this export has: {', '.join(names)}")
        return wanted
    if len(names) != 1:
        raise InputError(f"name one question of this export; it has: {', '.join(names) or 'none'}")
    return names[0]


def _responses(record: dict[str, Any], name: str) -> Iterator[tuple[Any, str | None, str | None]]:
    """Value, user and status of each response."""
    for response in (record.get("responses") or {}).get(name) or []:
        user = response.get("user_id")
        yield response.get("value"), None if user is None else str(user), response.get("status")
    values = record.get(f"{name}.responses") or []
    users = record.get(f"{name}.responses.users") or [None] * len(values)
    statuses = record.get(f"{name}.responses.status") or [None] * len(values)
    if not len(values) == len(users) == len(statuses):
        raise InputError(f"{name}.responses, users and status of a record differ in length")
    for value, user, status in zip(values, users, statuses, strict=True):
        yield value, None if user is None else str(user), status


def _fields(record: dict[str, Any]) -> dict[str, Any]:
    nested = record.get("fields")
    if isinstance(nested, dict):
        return scalars(nested)
    return scalars(
        {k: v for k, v in record.items() if "." not in k and k not in ("id", "status", "_server_id")}
    )
