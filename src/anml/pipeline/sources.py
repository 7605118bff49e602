"""The source of an audit: a table, the export of a labelling tool, or rows of a ledger."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anml.core.errors import InputError

if TYPE_CHECKING:
    from anml.io.source import Source
    from anml.pipeline.request import AuditOptions, Request
    from anml.pipeline.result import AuditResult


def read(data: Any, options: "AuditOptions") -> "Source":
    """Read a file or a frame; input errors are raised before heavy imports."""
    from anml.io.source import read_source, structured_source, table_source
    from anml.io.tables import read_table
    from anml.io.tasks.read import infer_task_type
    from anml.io.tasks.types import TASK_TYPES

    reader_options = options.reader_options()
    if isinstance(data, str | Path):
        return read_source(Path(data).expanduser(), options.format, reader_options)
    if options.format not in ("auto", "table"):
        raise InputError(f"the format of a frame must be auto or table, got {options.format!r}")
    table = read_table(data)
    if reader_options["task"] == "auto":
        reader_options = {**reader_options, "task": infer_task_type(table.frame, reader_options) or "auto"}
    structured = reader_options["task"] in TASK_TYPES
    return structured_source(table, "table", reader_options) if structured else table_source(table)


def apply_source(request: "Request", source: "Source") -> "Request":
    """Add the columns that the source determines to the request."""
    from anml.io.source import LEDGER_ROWS

    roles: dict[str, Any] = dict(source.roles)
    if source.shape is not None:
        # Names of candidates and pairs are not features; a graded item may be a text.
        features = None if source.shape.kind == "ordinal" else ()
        request = replace(request, task="classification", features=features, key=None, evaluate=False)
    if not _is_fixed(source):
        # Columns named by the user override recognised columns.
        named = {role: getattr(request, role) for role in roles}
        roles |= {role: name for role, name in named.items() if name is not None}
    elif request.time is not None:
        columns = source.table.frame.columns
        time = request.time if source.shape is not None and request.time in columns else "time"
        if time not in columns:
            raise InputError(f"{source.table.name} has no time of a label")
        roles["time"] = time
    # Reviews in an export are true labels unless the user names true_label or test_label.
    left_out: set[str] = set()
    if request.true_label is not None:
        roles, left_out = {**roles, "true_label": request.true_label}, {"reviewed"}
    elif request.test_label is not None:
        names = {"true_label": ("truth", roles.get("true_label")), "reviewed": (roles.get("reviewed"),)}
        left_out = {role for role, reader_columns in names.items() if request.test_label in reader_columns}
    roles = {role: name for role, name in roles.items() if role not in left_out}
    used = {*roles.values(), *(request.features or ()), request.test_label}
    used |= {request.verification, request.reputation} if source.shape is not None else set()
    ignored = [name for name in source.others if name not in used]
    request = replace(request, **roles, ignore=tuple(dict.fromkeys((*request.ignore, *ignored))))
    # The ledger applies its own floor for newcomers, which depends on age and flags.
    return request.without_floor() if source.format == LEDGER_ROWS else request


def attach_provenance(
    result: "AuditResult", source: "Source", data: Any, options: "AuditOptions"
) -> "AuditResult":
    """Add the notes of the source and the path of the data to a result, for `anml relabel`."""
    from anml.io.source import EVIDENCE_COLUMNS, LEDGER_ROWS
    from anml.pipeline.request import path_of

    samples, about = result.samples, {**result.data, "format": source.format}
    if source.format == LEDGER_ROWS:
        rows = source.table.frame[samples["row"].to_list()]
        samples = samples.with_columns(rows[name] for name in EVIDENCE_COLUMNS if name in rows.columns)
    if isinstance(data, str | Path):
        named = {name: value for name, value in options.reader_options().items() if value}
        named |= {"assignments": path_of(named["assignments"])} if "assignments" in named else {}
        named.pop("task", None)
        named |= {} if result.structured is None else {"task": result.structured.kind}
        about |= {"path": str(Path(data).expanduser().absolute()), "named": named}
    notes = [*source.notes, *([source.about_v] if source.about_v else []), *result.notes]
    warnings = [*source.warnings, *result.warnings]
    settings = options.to_config()
    return replace(result, samples=samples, notes=notes, warnings=warnings, data=about, config=settings)


def folder_of(data: Any) -> Path:
    """Base folder of relative paths in a table: its own folder; the current one for a frame."""
    if not isinstance(data, str | Path):
        return Path()
    path = Path(data).expanduser()
    return path if path.is_dir() else path.parent


def _is_fixed(source: "Source") -> bool:
    """True if the columns were named by a reader, not by the user."""
    return source.shape is not None or source.format not in ("table", "ledger rows")
