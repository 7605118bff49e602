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
from anml.intake.beside import read_numbers
from anml.intake.plain import plain
from anml.intake.tables import Table, parquet_files

# Before the names of columns that have none.
UNNAMED = "\0"


def numbers_of(source: Any, what: str, total: int, work: Path) -> Path:
    """Predictions or embeddings as one Parquet file, row by row, under names that no column has."""
    path, files = work / f"{what}.parquet", []
    if isinstance(source, str | Path):
        files = parquet_files(Path(source).expanduser())
    if files:
        rows = sum(part.rows for part in slices_of(files))
        every = [pl.scan_parquet(each, hive_partitioning=False, glob=False) for each in files]
        names = every[0].collect_schema().names()
        frame = pl.concat([each.select(names) for each in every], how="vertical_relaxed")
    else:
        read = read_numbers(source, what)
        named = read.frame if isinstance(read, Table) else pl.DataFrame(read).rename(lambda at: UNNAMED + at)
        rows, frame = named.height, named.lazy()
    if rows != total:
        raise InputError(f"the {what} have {rows} rows and the table has {total}; give one row for each")
    frame.rename(lambda name: f"{BESIDE}{what} {name}").sink_parquet(path)
    return path


class Dealing(NamedTuple):
    """Where dealt rows go: the folder, the column of items, how many slices, and files beside the rows."""

    work: Path
    item: str | None
    slices: int
    beside: tuple[Path, ...]


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
    beside = (pl.scan_parquet(each).slice(part.first, part.rows).collect() for each in how.beside)
    numbers = [plain(each) for each in beside]
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
