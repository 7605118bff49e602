"""Exports of labelling tools: which one a file is, and its reader."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from anml.core.checks import one_of
from anml.core.errors import InputError
from anml.intake.argilla import read_argilla
from anml.intake.contributions import Contributions, read_json
from anml.intake.croissant import read_croissant
from anml.intake.crowd import PRESETS, read_crowd
from anml.intake.label_studio import read_label_studio
from anml.intake.mapped import read_mapped
from anml.intake.tables import read_table

Chosen = dict[str, str | None]
AUTO, TABLE = "auto", "table"
JSON = (".json", ".jsonl", ".ndjson")
# Columns by which the results of a platform are known.
MARKS = {
    "toloka": {"ASSIGNMENT:worker_id"},
    "mturk": {"HITId", "WorkerId", "AssignmentStatus"},
}


def _croissant(path: Path, columns: Chosen) -> Contributions:
    about = read_croissant(path)
    if about.file is None:
        raise InputError(f"{path.name} does not say which local file holds the data")
    given = {role: name for role, name in columns.items() if name is not None}
    return read_mapped(path.parent / about.file, {**about.columns, **given})


# Readers by format; each takes the file and the columns that were named.
FORMATS: dict[str, Callable[[Path, Chosen], Contributions]] = {
    TABLE: read_mapped,
    "label-studio": lambda path, columns: read_label_studio(path, columns.get("label")),
    "argilla": lambda path, columns: read_argilla(path, columns.get("label"), columns.get("time")),
    "croissant": _croissant,
    **{
        name: lambda path, columns, name=name: read_crowd(path, name, **columns)  # type: ignore[misc]
        for name in PRESETS
    },
}


def read_export(path: Path, format: str, columns: Chosen) -> tuple[str, Contributions]:
    """Read a file by its format, recognised where that is `auto`; returns the format as well."""
    one_of("format", format, (AUTO, *FORMATS))
    try:
        found = recognise(path) if format == AUTO else format
        return found, FORMATS[found](path, columns)
    except RecursionError:
        raise InputError(f"{path.name} is nested too deeply for an export") from None


def recognise(path: Path) -> str:
    """Say which format a file has, by its keys or columns; `table` where it is any other table."""
    if path.suffix.lower() in JSON:
        return _of_json(read_json(path), path.name)
    columns = set(read_table(path).frame.columns)
    return next((name for name, marks in MARKS.items() if marks <= columns), TABLE)


def _of_json(value: Any, name: str) -> str:
    if isinstance(value, dict) and "@context" in value and ("recordSet" in value or "distribution" in value):
        return "croissant"
    records = value.get("records", [value]) if isinstance(value, dict) else value
    first = records[:100] if isinstance(records, list) else []
    keys = {key for record in first if isinstance(record, dict) for key in record}
    if keys & {"annotations", "completions"}:
        return "label-studio"
    if "responses" in keys or any(key.endswith(".responses") for key in keys):
        return "argilla"
    raise InputError(
        f"{name} is JSON, but neither a Label Studio, an Argilla nor a Croissant file: "
        "none of annotations, responses or recordSet is in it"
    )
