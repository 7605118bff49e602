"""Argilla's JSON export, nested or flattened: only the latter says which responses were drafts."""

from collections.abc import Iterator
from typing import Any

from anml.core.errors import InputError
from anml.core.text import pluralise
from anml.io.contributions import (
    Chosen,
    Contributions,
    as_object,
    as_object_list,
    assemble,
    export_records,
    label_text,
    scalar_fields,
    utc_text,
)
from anml.io.file import InputFile
from anml.io.unsupported import reject_span_answers

# Statuses of responses that are used; an export without statuses does not mark drafts.
SUBMITTED = (None, "submitted")
NO_STATUS = (
    "this export does not say which responses are drafts or discarded, so they count as submitted; "
    "export flattened records to keep the status"
)


def read_argilla(file: InputFile, columns: Chosen) -> Contributions:
    """Read an export; the label names one of several questions, the time a metadata field that has it."""
    records, time = export_records(file), columns.get("time")
    name = question_of(records, columns.get("label"))
    rows: list[dict[str, Any]] = []
    statuses: list[str | None] = []
    for item, entry, value, user, status in answers_to(records, name):
        meta = as_object(entry.get("metadata"), f"metadata of record {item} in {file.path.name}")
        when = meta.get(time, entry.get(f"metadata.{time}", entry.get(time))) if time else None
        statuses.append(status)
        if status not in SUBMITTED:
            continue
        reject_span_answers(value, f" to {name!r}")
        if (label := label_text(value)) is not None:
            row = {"item": item, "contributor": user, "label": label, "time": utc_text(when)}
            rows.append(row | fields_of(entry))
    dropped = sum(status not in SUBMITTED for status in statuses)
    warnings = [NO_STATUS] if None in statuses else []
    left = pluralise(dropped, "response that was not submitted was", "responses that were not submitted were")
    warnings += [f"{left} left out"] if dropped else []
    if time is None:
        warnings.append("Argilla keeps no time for each response; name a metadata field that has one")
    return assemble("argilla", rows, (), warnings)


def answers_to(
    records: list[dict[str, Any]], name: str
) -> Iterator[tuple[str, dict[str, Any], Any, str | None, str | None]]:
    """Every response to a question: its record's name, the record, value, user and status."""
    for number, entry in enumerate(records):
        for value, user, status in responses_to(entry, name):
            yield record_name(entry, number), entry, value, user, status


def record_name(entry: dict[str, Any], number: int) -> str:
    """Return the identifier of a record: its id, its server id, or its position."""
    return str(entry.get("id") or entry.get("_server_id") or number)


def question_of(records: list[dict[str, Any]], wanted: str | None) -> str:
    """The question that is asked, by name; the one there is where none is wanted."""
    nested = {
        name for entry in records for name in as_object(entry.get("responses"), "responses of a record")
    }
    flat = {
        key.removesuffix(".responses") for entry in records for key in entry if key.endswith(".responses")
    }
    names = sorted(nested | flat)
    if wanted is not None:
        if wanted not in names:
            raise InputError(f"there is no question {wanted!r}; this export has: {', '.join(names)}")
        return wanted
    if len(names) != 1:
        raise InputError(f"name one question of this export; it has: {', '.join(names) or 'none'}")
    return names[0]


def responses_to(entry: dict[str, Any], name: str) -> Iterator[tuple[Any, str | None, str | None]]:
    """Value, user and status of each response to a question."""
    for response in as_object_list(
        as_object(entry.get("responses"), "responses").get(name), f"responses to {name}"
    ):
        user = response.get("user_id")
        yield response.get("value"), None if user is None else str(user), response.get("status")
    columns = [_listed(entry, f"{name}.responses{part}") for part in ("", ".users", ".status")]
    values, users, statuses = (column or [None] * len(columns[0]) for column in columns)
    if not len(values) == len(users) == len(statuses):
        raise InputError(f"{name}.responses, users and status of a record differ in length")
    for value, user, status in zip(values, users, statuses, strict=True):
        yield value, None if user is None else str(user), status


def _listed(entry: dict[str, Any], key: str) -> list[Any]:
    value = entry.get(key)
    if value is not None and not isinstance(value, list):
        raise InputError(f"{key} must be a list, got {str(value)[:40]!r}")
    return value or []


def fields_of(entry: dict[str, Any]) -> dict[str, Any]:
    """Return the scalar values of a record's fields."""
    if isinstance(nested := entry.get("fields"), dict):
        return scalar_fields(nested)
    own = ("id", "status", "_server_id")
    return scalar_fields(
        {name: value for name, value in entry.items() if "." not in name and name not in own}
    )
