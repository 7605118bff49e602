"""Exports of labelling tools: which one a file is, and its reader."""

from collections.abc import Callable
from typing import Any

from anml.core.checks import one_of
from anml.core.errors import InputError, UnsupportedError
from anml.io.argilla import read_argilla
from anml.io.contributions import Chosen, Contributions
from anml.io.crowd import PRESETS
from anml.io.evaluations import READERS as EVALUATIONS
from anml.io.evaluations import evaluation_format
from anml.io.file import JSON, PAIR_KEYS, InputFile
from anml.io.label_studio import read_label_studio
from anml.io.mapped import read_with_mapping
from anml.io.tasks.read import SPAN_FORMATS

AUTO, TABLE = "auto", "table"
CONLL = (".conll", ".iob", ".bio")
# Columns by which the results of a platform are known.
FORMAT_SIGNATURES = {"toloka": {"ASSIGNMENT:worker_id"}, "mturk": {"HITId", "WorkerId", "AssignmentStatus"}}


# Readers by format; each takes the file and the columns that were named.
FORMATS: dict[str, Callable[[InputFile, Chosen], Contributions]] = {
    TABLE: read_with_mapping,
    "label-studio": read_label_studio,
    "argilla": read_argilla,
    **PRESETS,
    **EVALUATIONS,
}


def read_export(file: InputFile, format: str, columns: Chosen) -> tuple[str, Contributions]:
    """Read a file by its format, recognised where that is `auto`; returns the format as well."""
    one_of("format", format, (AUTO, *FORMATS))
    detected = detect_format(file) if format == AUTO else format
    if detected in SPAN_FORMATS:
        raise UnsupportedError(f"{file.path.name} holds spans; `anml audit --task spans` reads them")
    return detected, FORMATS[detected](file, columns)


def detect_format(file: InputFile) -> str:
    """Say which format a file has, by its keys or columns; `table` where it is any other table."""
    if file.path.suffix.lower() in CONLL:
        return "conll"
    if file.path.suffix.lower() in JSON:
        return _of_json(file.json, file.path.name)
    columns = set(file.table.frame.columns)
    platform = next((name for name, marks in FORMAT_SIGNATURES.items() if marks <= columns), None)
    return platform or evaluation_format(columns) or TABLE


def _of_json(value: Any, name: str) -> str:
    records = value.get("records", value.get("data", [value])) if isinstance(value, dict) else value
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
    if keys >= PAIR_KEYS:
        return TABLE
    if (tool := evaluation_format(keys)) is not None:
        return tool
    raise InputError(
        f"{name} is JSON, but neither a Label Studio nor an Argilla export: "
        "none of annotations or responses is in it"
    )
