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

from anml.annotators.rows import add_stats
from anml.core.checks import Ints
from anml.core.errors import InputError
from anml.core.progress import Progress, ticker
from anml.io.plain import as_text, normalise_types
from anml.io.tables import READ_ERRORS

# Rows of a slice at most: what a worker holds at a time.
MAX_SLICE_ROWS = 250_000
# Before the names of our own columns, of which users have none: the place of each row in the table, and
# numbers that were given beside it.
INTERNAL_PREFIX = "\0"
ROW = f"{INTERNAL_PREFIX}row"


class FileRange(NamedTuple):
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
            start = f"{INTERNAL_PREFIX}{what} "
            found = frame.select(cs.starts_with(start).name.map(lambda name: name.partition(" ")[2]))
            if found.width:
                beside[what] = found.to_numpy() if found.columns[0].startswith(INTERNAL_PREFIX) else found
        return cls(frame.select(~cs.starts_with(INTERNAL_PREFIX)), frame[ROW].to_numpy(), beside)


@dataclass(frozen=True)
class Slice:
    """Some rows of the table.

    `kinds` are the columns of all files with their types: a file may have them in another order, or empty.
    """

    number: int
    pieces: tuple[FileRange, ...]
    kinds: tuple[tuple[str, Any], ...] = ()

    @property
    def rows(self) -> int:
        """Number of rows."""
        return sum(piece.rows for piece in self.pieces)

    @property
    def name(self) -> str:
        """Name of the output files of this slice."""
        return f"part-{self.number:06d}"

    @property
    def file(self) -> str:
        """The name of the first file that it is of."""
        return Path(self.pieces[0].path).name

    def frame(self, columns: Sequence[str] | None = None) -> pl.DataFrame:
        """These rows in the order of the table, as plain columns, with ours."""
        pieces = [_read(piece, columns) for piece in self.pieces]
        frame = normalise_types(pl.concat(pieces, how="vertical_relaxed").sort(ROW))
        if not self.kinds:
            return frame
        kinds = {name: kind for name, kind in self.kinds if name in frame.columns}
        empty = [name for name in kinds if frame[name].null_count() == frame.height]
        return frame.select(ROW, *kinds).cast({n: kinds[n] for n in empty if kinds[n] != pl.Null})

    def read(self, columns: Sequence[str] | None = None) -> SliceRows:
        """These rows, taken apart."""
        return SliceRows.of(self.frame(columns))


@contextmanager
def temporary_path(path: Path) -> Iterator[Path]:
    """Provide a temporary path, which replaces `path` after the file was written completely."""
    draft = path.with_name(f".{path.name}-{os.getpid()}")
    try:
        yield draft
        draft.replace(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        draft.unlink(missing_ok=True)
        raise InputError(f"{path.name} cannot be written: {first_line(error)}") from None


def as_text_keys(series: pl.Series, part: Slice) -> pl.Series:
    """Identifiers or labels as text that is the same in every slice."""
    if series.dtype.is_float() and bool((series != series.round()).any()):
        raise InputError(
            f"column {series.name!r} of {part.file} holds numbers that are not whole, which name nothing "
            "with an engine; write them as text"
        )
    return as_text(series)


def scan_parquet(path: str | Path) -> pl.LazyFrame:
    """A Parquet file by its own columns alone."""
    return pl.scan_parquet(path, hive_partitioning=False, glob=False)


def _read(piece: FileRange, columns: Sequence[str] | None) -> pl.DataFrame:
    path, start, rows, first = piece
    name = Path(path).name
    try:
        if path.endswith(".arrow"):
            lazy = pl.scan_ipc(path).slice(start, rows)
        else:
            place = pl.int_range(first, first + pl.len()).alias(ROW)
            lazy = scan_parquet(path).slice(start, rows).with_columns(place)
        if columns is not None:
            lazy = lazy.select(pl.col(*dict.fromkeys(columns)), cs.starts_with(INTERNAL_PREFIX))
        frame = lazy.collect()
    except READ_ERRORS as error:
        raise InputError(f"{name} is damaged, or changed while it was read: {first_line(error)}") from None
    if frame.height != rows:
        raise InputError(f"{name} changed while it was read: {frame.height} rows")
    return frame


def first_line(error: BaseException) -> str:
    """The first line of what another package says."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def slices_of(files: Sequence[Path], most: int = MAX_SLICE_ROWS) -> list[Slice]:
    """All rows of the files, in order, cut into slices."""
    pieces: list[FileRange] = []
    common: dict[str, pl.DataType] = {}
    before = 0
    for path in files:
        rows, kinds = _file_schema(path)
        common = common or kinds
        _check_alike(path.name, kinds, files[0].name, common)
        common = {name: kinds[name] if kind == pl.Null else kind for name, kind in common.items()}
        starts = range(0, rows, most)
        pieces += [FileRange(str(path), at, min(most, rows - at), before + at) for at in starts]
        before += rows
    if not pieces:
        raise InputError("there are no rows in the Parquet files")
    return [Slice(number, (piece,), tuple(common.items())) for number, piece in enumerate(pieces)]


def _file_schema(path: Path) -> tuple[int, dict[str, pl.DataType]]:
    """Return the number of rows of a file and the normalised types of its columns."""
    try:
        schema = scan_parquet(path).collect_schema()
        rows = int(scan_parquet(path).select(pl.len()).collect().item())
    except READ_ERRORS:
        raise InputError(f"{path.name} is no Parquet file, or is damaged") from None
    kinds = normalise_types(pl.DataFrame(schema=schema)).schema
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


def local_engine(work: Callable[..., Any], slices: Sequence[Slice], *shared: Any) -> Iterator[Any]:
    """The engine of this process: one slice after another, when its result is asked for."""
    for each in slices:
        yield work(each, *shared)


@dataclass(frozen=True, eq=False)
class SlicePipeline:
    """Slices, the engine that processes them, and a progress callback."""

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
        return reduce(add_stats, self.each(what, work, *shared))
