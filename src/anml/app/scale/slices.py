"""A table in one or many Parquet files, as slices of rows that are read one at a time."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import polars.selectors as cs

from anml.core.checks import Ints
from anml.core.errors import InputError
from anml.core.people.rows import added
from anml.core.progress import Progress, ticker
from anml.intake.plain import as_text, plain
from anml.intake.tables import DAMAGED

# Rows of a slice at most: what a worker holds at a time.
MOST_ROWS = 250_000
# Before the names of our own columns, of which users have none: the place of each row in the table, and
# numbers that were given beside it.
OURS = "\0"
ROW = f"{OURS}row"


class Piece(NamedTuple):
    """Some rows of one file, from `start` on; `first` is the place of the first in the table, if in order."""

    path: str
    start: int
    rows: int
    first: int = 0


class SliceRows(NamedTuple):
    """A slice as read: its columns, where its rows are in the table, and what was given beside them."""

    frame: pl.DataFrame
    row: Ints
    beside: dict[str, Any]

    @classmethod
    def of(cls, frame: pl.DataFrame) -> "SliceRows":
        """The user's columns apart from ours; numbers whose columns had no names are an array."""
        beside: dict[str, Any] = {}
        for what in ("predictions", "embeddings"):
            start = f"{OURS}{what} "
            found = frame.select(cs.starts_with(start).name.map(lambda name: name.partition(" ")[2]))
            if found.width:
                beside[what] = found.to_numpy() if found.columns[0].startswith(OURS) else found
        return cls(frame.select(~cs.starts_with(OURS)), frame[ROW].to_numpy(), beside)


@dataclass(frozen=True)
class Slice:
    """Some rows of the table.

    `kinds` are the columns of all files with their types: a file may have them in another order, or empty.
    """

    number: int
    pieces: tuple[Piece, ...]
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

    def frame(self, columns: Sequence[str] | None = None) -> pl.DataFrame:
        """These rows in the order of the table, as plain columns, with ours."""
        pieces = [_read(piece, columns) for piece in self.pieces]
        frame = plain(pl.concat(pieces, how="vertical_relaxed").sort(ROW))
        if not self.kinds:
            return frame
        kinds = {name: kind for name, kind in self.kinds if name in frame.columns}
        empty = [name for name in kinds if frame[name].null_count() == frame.height]
        return frame.select(ROW, *kinds).cast({n: kinds[n] for n in empty if kinds[n] != pl.Null})

    def read(self, columns: Sequence[str] | None = None) -> SliceRows:
        """These rows, taken apart."""
        return SliceRows.of(self.frame(columns))


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


def scanned(path: str | Path) -> pl.LazyFrame:
    """A Parquet file by its own columns alone."""
    return pl.scan_parquet(path, hive_partitioning=False, glob=False)


def _read(piece: Piece, columns: Sequence[str] | None) -> pl.DataFrame:
    path, start, rows, first = piece
    name = Path(path).name
    try:
        if path.endswith(".arrow"):
            lazy = pl.scan_ipc(path).slice(start, rows)
        else:
            place = pl.int_range(first, first + pl.len()).alias(ROW)
            lazy = scanned(path).slice(start, rows).with_columns(place)
        if columns is not None:
            lazy = lazy.select(pl.col(*dict.fromkeys(columns)), cs.starts_with(OURS))
        frame = lazy.collect()
    except DAMAGED as error:
        raise InputError(f"{name} is damaged, or changed while it was read: {said(error)}") from None
    if frame.height != rows:
        raise InputError(f"{name} changed while it was read: {frame.height} rows")
    return frame


def said(error: BaseException) -> str:
    """The first line of what another package says."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def slices_of(files: Sequence[Path], most: int = MOST_ROWS) -> list[Slice]:
    """All rows of the files, in order, cut into slices."""
    pieces: list[Piece] = []
    common: dict[str, pl.DataType] = {}
    before = 0
    for path in files:
        rows, kinds = _looked_at(path)
        common = common or kinds
        _check_alike(path.name, kinds, files[0].name, common)
        common = {name: kinds[name] if kind == pl.Null else kind for name, kind in common.items()}
        starts = range(0, rows, most)
        pieces += [Piece(str(path), at, min(most, rows - at), before + at) for at in starts]
        before += rows
    if not pieces:
        raise InputError("there are no rows in the Parquet files")
    return [Slice(number, (piece,), tuple(common.items())) for number, piece in enumerate(pieces)]


def _looked_at(path: Path) -> tuple[int, dict[str, pl.DataType]]:
    """How many rows a file has, and the plain kinds of its columns."""
    try:
        schema = scanned(path).collect_schema()
        rows = int(scanned(path).select(pl.len()).collect().item())
    except DAMAGED:
        raise InputError(f"{path.name} is no Parquet file, or is damaged") from None
    kinds = plain(pl.DataFrame(schema=schema)).schema
    return rows, {name: kind if kind == pl.Null else kinds[name] for name, kind in schema.items()}


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


# Runs a function over slices, with what all share; results come in order. It may run one again.
Engine = Callable[..., Iterator[Any]]


def local(work: Callable[..., Any], slices: Sequence[Slice], *shared: Any) -> Iterator[Any]:
    """The engine of this process: one slice after another, when its result is asked for."""
    for each in slices:
        yield work(each, *shared)


@dataclass(frozen=True, eq=False)
class Passes:
    """Who does the work: slices, engine, and whom to tell how far it is."""

    slices: Sequence[Slice]
    engine: Engine
    progress: Progress | None
    work: Path

    def each(self, what: str, work: Callable[..., Any], *shared: Any) -> Iterator[Any]:
        """Results of one pass, in order, with progress."""
        tick = ticker(self.progress, what, len(self.slices))
        for done, result in enumerate(self.engine(work, self.slices, *shared), 1):
            tick(done)
            yield result

    def sum(self, what: str, work: Callable[..., Any], *shared: Any) -> Any:
        """The sum of one pass."""
        return reduce(added, self.each(what, work, *shared))
