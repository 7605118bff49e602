"""Engines by name: an audit slice by slice, for tables with more rows than memory."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from anml.core.checks import as_integer
from anml.core.errors import InputError
from anml.core.progress import Progress

if TYPE_CHECKING:
    from anml.pipeline.request import Request
    from anml.pipeline.result import AuditResult

Work = Callable[..., Iterator[Any]]


@dataclass(frozen=True)
class Local:
    """Slices one after the other in this process.

    `out` is the folder of the run; an interrupted run continues there. `rows_per_slice` bounds the memory.
    """

    out: str | Path
    rows_per_slice: int | None = None
    name: ClassVar[str] = "local"

    def __post_init__(self) -> None:
        if not isinstance(self.out, str | Path):
            raise InputError(f"out must be the folder of the run, got {self.out!r}")
        if self.rows_per_slice is not None:
            as_integer("rows_per_slice", self.rows_per_slice, 1)

    def start(self) -> AbstractContextManager[Work]:
        """Return the function that runs work over slices."""
        from anml.engines.slices import local_engine

        return nullcontext(local_engine)


@dataclass(frozen=True)
class Ray(Local):
    """Slices as tasks of a Ray cluster at `address`, or of a cluster on this machine."""

    address: str | None = None
    name: ClassVar[str] = "ray"

    def start(self) -> AbstractContextManager[Work]:
        """Connect to the cluster, and return the function that runs work over slices."""
        from anml.engines.ray import on_ray

        return on_ray(self.address)


ENGINES: dict[str, type[Local]] = {engine.name: engine for engine in (Local, Ray)}


def holds_parquet(data: Any) -> bool:
    """Return True for a folder that contains Parquet files."""
    return isinstance(data, str | Path) and Path(data).is_dir() and any(Path(data).rglob("*.parquet"))


def audit_in_slices(
    data: Any, request: "Request", engine: Local, progress: Progress | None,
    write_report: Callable[["AuditResult", Path], None],
) -> "AuditResult":  # fmt: skip
    """Audit a Parquet file or a folder of them; `write_report` writes the report into a folder."""
    from anml.engines.run import audit_slices
    from anml.engines.slices import MAX_SLICE_ROWS
    from anml.io.tables import parquet_files

    if not isinstance(data, str | Path):
        raise InputError(f"an engine reads Parquet files; give their path, got {type(data).__name__}")
    place = Path(data).expanduser()
    if not parquet_files(place):
        raise InputError(f"an engine reads a Parquet file or a folder of them, got {Path(data).name!r}")
    with engine.start() as runs:
        return audit_slices(
            place, request, Path(engine.out), runs, progress=progress, write_report=write_report,
            rows=engine.rows_per_slice or MAX_SLICE_ROWS,
        )  # fmt: skip
