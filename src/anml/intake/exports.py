"""Exports of labelling tools: which one a file is, and its reader."""

from collections.abc import Callable
from typing import Any

from anml.core.checks import one_of
from anml.core.errors import InputError, UnsupportedError
from anml.intake.argilla import read_argilla
from anml.intake.contributions import Chosen, Contributions
from anml.intake.croissant import read_croissant
from anml.intake.crowd import PRESETS
from anml.intake.file import JSON, PAIR, File
from anml.intake.label_studio import read_label_studio
from anml.intake.mapped import read_mapped
from anml.intake.shapes.read import SPAN_FORMATS

AUTO, TABLE = "auto", "table"
CONLL = (".conll", ".iob", ".bio")
# Columns by which the results of a platform are known.
MARKS = {"toloka": {"ASSIGNMENT:worker_id"}, "mturk": {"HITId", "WorkerId", "AssignmentStatus"}}


def _croissant(file: File, columns: Chosen) -> Contributions:
    known, data = read_croissant(file)
    if data is None:
        raise InputError(f"{file.path.name} does not say which local file holds the data")
    given = {role: name for role, name in columns.items() if name is not None}
    return read_mapped(File(file.path.parent / data), {**known, **given})


# Readers by format; each takes the file and the columns that were named.
FORMATS: dict[str, Callable[[File, Chosen], Contributions]] = {
    TABLE: read_mapped,
    "label-studio": read_label_studio,
    "argilla": read_argilla,
    "croissant": _croissant,
    **PRESETS,
}


def read_export(file: File, format: str, columns: Chosen) -> tuple[str, Contributions]:
    """Read a file by its format, recognised where that is `auto`; returns the format as well."""
    one_of("format", format, (AUTO, *FORMATS))
    found = recognise(file) if format == AUTO else format
    if found in SPAN_FORMATS:
        raise UnsupportedError(f"{file.path.name} holds spans; `anml audit --task spans` reads them")
    return found, FORMATS[found](file, columns)


def recognise(file: File) -> str:
    """Say which format a file has, by its keys or columns; `table` where it is any other table."""
    if file.path.suffix.lower() in CONLL:
        return "conll"
    if file.path.suffix.lower() in JSON:
        return _of_json(file.json, file.path.name)
    columns = set(file.table.frame.columns)
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
    if "text" in keys and keys & {"spans", "_annotator_id", "_session_id"}:
        return "prodigy"
    if "text" in keys and keys & {"label", "labels", "entities"}:
        return "doccano"
    if keys >= PAIR:
        return TABLE
    why = f"{name} is JSON, but neither a Label Studio, an Argilla nor a Croissant file"
    raise InputError(f"{why}: none of annotations, responses or recordSet is in it")
