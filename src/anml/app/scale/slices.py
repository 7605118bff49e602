"""A table in one or many Parquet files, as slices of rows that are read one at a time."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from anml.core.errors import InputError
from anml.intake.plain import plain

# Rows of a slice at most: what a worker holds at a time.
MOST_ROWS = 250_000


@dataclass(frozen=True)
class Slice:
    """Some rows of one file."""

    number: int
    path: str
    start: int
    rows: int

    def read(self, columns: Sequence[str] | None = None) -> pl.DataFrame:
        """These rows, as plain columns."""
        lazy = pl.scan_parquet(self.path, hive_partitioning=False, glob=False).slice(self.start, self.rows)
        frame = (lazy if columns is None else lazy.select(columns)).collect()
        if frame.height != self.rows:
            raise InputError(f"{Path(self.path).name} changed while it was read: {frame.height} rows")
        return plain(frame)

    @property
    def name(self) -> str:
        """What the files made of it are called."""
        return f"part-{self.number:06d}"


def parquet_files(source: Path) -> list[Path]:
    """The Parquet files of a folder, in order, or the one file; empty where it is neither."""
    if source.is_dir():
        return sorted(p for p in source.rglob("*.parquet") if not p.name.startswith((".", "_")))
    return [source] if source.suffix in (".parquet", ".pq") and source.is_file() else []


def slices_of(files: Sequence[Path], most: int = MOST_ROWS) -> list[Slice]:
    """All rows of the files, in order, cut into slices."""
    found: list[Slice] = []
    columns: list[str] | None = None
    for path in files:
        try:
            lazy = pl.scan_parquet(path, hive_partitioning=False, glob=False)
            names = lazy.collect_schema().names()
            rows = int(lazy.select(pl.len()).collect().item())
        except (pl.exceptions.PolarsError, OSError, pl.exceptions.PanicException):
            raise InputError(f"{path.name} is no Parquet file, or is damaged") from None
        if columns is not None and names != columns:
            raise InputError(f"{path.name} has other columns than {files[0].name}")
        columns = names
        for start in range(0, rows, most):
            found.append(Slice(len(found), str(path), start, min(most, rows - start)))
    if not found:
        raise InputError("there are no rows in the Parquet files")
    return found


def fingerprint_of(files: Sequence[Path]) -> str:
    """A hash of which files these are: names, sizes and times; contents are too many to read for it."""
    digest = hashlib.sha256()
    for path in files:
        about = path.stat()
        digest.update(f"{path.name}\0{about.st_size}\0{about.st_mtime_ns}\0".encode())
    return digest.hexdigest()
