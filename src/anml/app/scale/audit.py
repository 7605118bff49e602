"""Audits slice by slice: which engine, and which files."""

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anml.core.checks import one_of
from anml.core.errors import InputError
from anml.core.progress import Progress

if TYPE_CHECKING:
    from anml.app.audit.request import Request
    from anml.app.audit.result import Audited

ENGINES = ("local", "ray")


def holds_parquet(data: Any) -> bool:
    """Whether data is a folder of Parquet files."""
    return isinstance(data, str | Path) and Path(data).is_dir() and any(Path(data).rglob("*.parquet"))


def audit_in_slices(
    data: Any, request: "Request", engine: str, address: str | None, out: Path,
    progress: Progress | None, write_report: Callable[["Audited", Path], None],
) -> "Audited":  # fmt: skip
    """Audit a Parquet file or a folder of them by an engine; `write_report` puts the report into a folder."""
    one_of("engine", engine, ENGINES)
    if address is not None and engine != "ray":
        raise InputError(f"an address is for the engine ray, got engine {engine!r}")
    from anml.adapters.ray import on_ray
    from anml.app.scale.run import audit_slices
    from anml.app.scale.slices import local
    from anml.intake.tables import parquet_files

    if not isinstance(data, str | Path):
        raise InputError(f"an engine reads Parquet files; give their path, got {type(data).__name__}")
    place = Path(data).expanduser()
    if not parquet_files(place):
        raise InputError(f"an engine reads a Parquet file or a folder of them, got {Path(data).name!r}")
    with on_ray(address) if engine == "ray" else nullcontext(local) as runs:
        return audit_slices(place, request, out, runs, progress=progress, write_report=write_report)
