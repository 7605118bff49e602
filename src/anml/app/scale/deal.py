"""Rows dealt anew, once: all labels of an item into one slice, with what was given beside each."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from anml.app.scale.slices import BESIDE, ROW, Piece, Slice, drafted, named_by, slices_of
from anml.core.checks import Ints
from anml.core.errors import InputError
from anml.intake.beside import NUMPY, read_numbers
from anml.intake.tables import Table, parquet_files

# Before the names of columns that have none.
UNNAMED = "\0"


class Numbers(NamedTuple):
    """Predictions or embeddings, row by row, in files."""

    what: str
    pieces: tuple[Piece, ...]
    kinds: tuple[tuple[str, Any], ...] = ()

    def at(self, first: int, rows: int) -> pl.DataFrame:
        """Those of some rows of the table, under names that no column of it has."""
        found, start = [], 0
        for piece in self.pieces:
            low, high = max(first, start), min(first + rows, start + piece.rows)
            if low < high:
                some = piece._replace(start=piece.start + low - start, rows=high - low)
                found.append(_numbers(some, self.kinds))
            start += piece.rows
        frame = pl.concat(found)
        return frame.rename({name: f"{BESIDE}{self.what} {name}" for name in frame.columns})


def _numbers(piece: Piece, kinds: tuple[tuple[str, Any], ...]) -> pl.DataFrame:
    if not piece.path.endswith(NUMPY):
        return Slice(0, (piece,), kinds=kinds).read().frame
    values = np.load(piece.path, mmap_mode="r")[piece.start : piece.start + piece.rows]
    return pl.DataFrame({f"{UNNAMED}{at}": np.asarray(column) for at, column in enumerate(values.T)})


def numbers_of(source: Any, what: str, total: int, work: Path) -> Numbers:
    """Predictions or embeddings in files that are read row by row; others are written as such first."""
    path = Path(source).expanduser() if isinstance(source, str | Path) else None
    kinds: tuple[tuple[str, Any], ...] = ()
    if path is not None and (files := parquet_files(path)):
        parts = slices_of(files)
        pieces, kinds = tuple(piece for part in parts for piece in part.pieces), parts[0].kinds
    else:
        read = read_numbers(source, what)
        path = work / f"{what}{'.parquet' if isinstance(read, Table) else NUMPY}"
        if isinstance(read, Table):
            read.frame.write_parquet(path)
            pieces = (Piece(str(path), 0, read.frame.height),)
        else:
            np.save(path, read)
            pieces = (Piece(str(path), 0, len(read)),)
    rows = sum(piece.rows for piece in pieces)
    if rows != total:
        raise InputError(f"the {what} have {rows} rows and the table has {total}; give one row for each")
    return Numbers(what, pieces, kinds)


class Dealing(NamedTuple):
    """Where dealt rows go: the folder, the column of items, how many slices, and numbers beside the rows."""

    work: Path
    item: str | None
    slices: int
    beside: tuple[Numbers, ...]


def scattered(items: pl.Series) -> Ints:
    """A number for each item that is the same wherever it is read."""
    hashed = [hashlib.blake2b(text.encode(), digest_size=8).digest() for text in items.to_list()]
    return np.frombuffer(b"".join(hashed), dtype=np.int64) & np.int64(2**63 - 1)


def deal(part: Slice, how: Dealing) -> Ints:
    """A slice in the order of the slices that its rows go to; how many go to each."""
    path = how.work / f"dealt-{part.number:06d}.arrow"
    counts = path.with_suffix(".npy")
    if path.is_file():
        return np.asarray(np.load(counts))
    found = part.read()
    to = np.full(part.rows, part.number)
    if how.item is not None:
        items = named_by(found.frame[how.item], part)
        if gaps := items.null_count():
            raise InputError(
                f"column {how.item!r} (item) is empty in {gaps} rows of {part.file}; every row needs one"
            )
        to = scattered(items) % how.slices
    numbers = [each.at(part.first, part.rows) for each in how.beside]
    frame = pl.concat([found.frame, *numbers], how="horizontal").with_columns(pl.Series(ROW, found.row))
    with drafted(path) as draft:
        np.save(counts, np.bincount(to, minlength=how.slices))
        frame[np.argsort(to, kind="stable")].write_ipc(draft)
    return np.asarray(np.load(counts))


def dealt(work: Path, counts: Sequence[Ints]) -> list[Slice]:
    """The slices that dealt rows make."""
    ends = [np.cumsum(each) for each in counts]
    found: list[Slice] = []
    for to in range(len(counts[0])):
        pieces = tuple(
            Piece(str(work / f"dealt-{number:06d}.arrow"), int(end[to] - each[to]), int(each[to]))
            for number, (each, end) in enumerate(zip(counts, ends, strict=True))
            if each[to]
        )
        if pieces:
            found.append(Slice(len(found), pieces))
    return found
