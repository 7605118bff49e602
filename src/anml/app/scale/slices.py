"""A table in one or many Parquet files, as slices of rows that are read one at a time."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from anml.core.checks import Ints
from anml.core.errors import InputError
from anml.intake.plain import as_text, plain
from anml.intake.tables import DAMAGED

# Rows of a slice at most: what a worker holds at a time.
MOST_ROWS = 250_000
# In files of unfinished work: the place of each row in the table, and before the names of numbers beside it.
ROW, BESIDE = "__row", "__"


class Piece(NamedTuple):
    """Some rows of one file."""

    path: str
    start: int
    rows: int


class SliceRows(NamedTuple):
    """A slice as read: its columns, where its rows are in the table, and what was given beside them."""

    frame: pl.DataFrame
    row: Ints
    beside: dict[str, Any]


@dataclass(frozen=True)
class Slice:
    """Some rows of the table; `first` is the place of the first, where they are in order.

    `kinds` are the columns of all files with their types: a file may have them in another order, or empty.
    """

    number: int
    pieces: tuple[Piece, ...]
    first: int = 0
    kinds: tuple[tuple[str, Any], ...] = ()

    @property
    def rows(self) -> int:
        """How many."""
        return sum(piece.rows for piece in self.pieces)

    @property
    def name(self) -> str:
        """What the files made of it are called."""
        return f"part-{self.number:06d}"

    @property
    def file(self) -> str:
        """The name of the first file that it is of."""
        return Path(self.pieces[0].path).name

    def read(self, columns: Sequence[str] | None = None) -> SliceRows:
        """These rows, as plain columns."""
        wanted = None if columns is None else list(dict.fromkeys(columns))
        frame = pl.concat([_read(piece, wanted) for piece in self.pieces], how="vertical_relaxed")
        row = np.arange(self.first, self.first + frame.height)
        beside: dict[str, Any] = {}
        if ROW in frame.columns:
            frame = frame.sort(ROW)
            row = frame[ROW].to_numpy().astype(np.int64)
            for what in ("predictions", "embeddings"):
                start = f"{BESIDE}{what} "
                found = frame.select(pl.col(name).alias(name.removeprefix(start)) for name in frame.columns
                                     if name.startswith(start))  # fmt: skip
                if found.width:
                    beside[what] = found.to_numpy() if found.columns[0].startswith("\0") else found
            frame = frame.select(name for name in frame.columns if not name.startswith(BESIDE))
        frame = plain(frame)
        if self.kinds:
            empty = {name for name in frame.columns if frame[name].null_count() == frame.height}
            frame = frame.select(
                pl.col(name).cast(kind) if name in empty and kind != pl.Null else pl.col(name)
                for name, kind in self.kinds
                if name in frame.columns
            )
        return SliceRows(frame, row, beside)


@contextmanager
def drafted(path: Path) -> Iterator[Path]:
    """Where a file is written until it is whole; it is then put in its place."""
    draft = path.with_name(f".{path.name}-{os.getpid()}")
    try:
        yield draft
        draft.replace(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        draft.unlink(missing_ok=True)
        raise InputError(f"{path.name} cannot be written: {said(error)}") from None


def named_by(series: pl.Series, part: Slice) -> pl.Series:
    """Identifiers or labels as text that is the same in every slice."""
    if series.dtype.is_float() and bool((series != series.round()).any()):
        raise InputError(
            f"column {series.name!r} of {part.file} holds numbers that are not whole, which name nothing "
            "with an engine; write them as text"
        )
    return as_text(series)


def _read(piece: Piece, columns: list[str] | None) -> pl.DataFrame:
    name = Path(piece.path).name
    ours = piece.path.endswith(".arrow")
    lazy = (
        pl.scan_ipc(piece.path) if ours else pl.scan_parquet(piece.path, hive_partitioning=False, glob=False)
    )
    lazy = lazy.slice(piece.start, piece.rows)
    try:
        if columns is not None:
            lazy = lazy.select(pl.col(*columns), *([pl.col(f"^{BESIDE}.*$")] if ours else []))
        frame = lazy.collect()
    except DAMAGED as error:
        raise InputError(f"{name} is damaged, or changed while it was read: {said(error)}") from None
    if frame.height != piece.rows:
        raise InputError(f"{name} changed while it was read: {frame.height} rows")
    return frame


def said(error: BaseException) -> str:
    """The first line of what another package says."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def slices_of(files: Sequence[Path], most: int = MOST_ROWS) -> list[Slice]:
    """All rows of the files, in order, cut into slices."""
    found: list[Slice] = []
    common, before = None, 0
    for path, rows, kinds in looked_at(files):
        common = kinds if common is None else common
        _check_alike(path.name, kinds, files[0].name, common)
        common = {name: kinds[name] if kind == pl.Null else kind for name, kind in common.items()}
        for start in range(0, rows, most):
            piece = Piece(str(path), start, min(most, rows - start))
            found.append(Slice(len(found), (piece,), before + start))
        before += rows
    if not found:
        raise InputError("there are no rows in the Parquet files")
    return [replace(part, kinds=tuple((common or {}).items())) for part in found]


def looked_at(files: Sequence[Path]) -> Iterator[tuple[Path, int, dict[str, pl.DataType]]]:
    """Each file with how many rows it has and the plain kinds of its columns."""
    for path in files:
        try:
            lazy = pl.scan_parquet(path, hive_partitioning=False, glob=False)
            schema = lazy.collect_schema()
            rows = int(lazy.select(pl.len()).collect().item())
        except DAMAGED:
            raise InputError(f"{path.name} is no Parquet file, or is damaged") from None
        kinds = dict(plain(pl.DataFrame(schema=schema)).schema)
        empty = {name for name, dtype in schema.items() if dtype == pl.Null}
        yield path, rows, {name: pl.Null() if name in empty else dtype for name, dtype in kinds.items()}


def _check_alike(name: str, kinds: dict[str, Any], other: str, others: dict[str, Any]) -> None:
    lacking = [column for column in others if column not in kinds] or [c for c in kinds if c not in others]
    if lacking:
        which = "no" if lacking[0] in others else "a"
        raise InputError(f"{name} has other columns than {other}: {which} column {lacking[0]!r}")
    for column, kind in kinds.items():
        if kind != others[column] and pl.Null not in (kind, others[column]):
            raise InputError(
                f"{name} holds {kind} in column {column!r}, where {other} holds {others[column]}; "
                "write all parts with the same types"
            )
