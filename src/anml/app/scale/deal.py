"""Rows dealt anew, once: all labels of an item into one slice, with what was given beside each."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from anml.app.scale.slices import OURS, Piece, Slice, drafted, named_by, scanned, slices_of
from anml.core.checks import Ints
from anml.core.errors import InputError
from anml.intake.beside import read_numbers
from anml.intake.plain import plain
from anml.intake.tables import Table, parquet_files

# The slice that a row goes to, and files of rows by that.
TO, DEALT = f"{OURS}to", "dealt-{:06d}.arrow"


def numbers_of(source: Any, what: str, total: int, work: Path) -> Path:
    """Predictions or embeddings as one Parquet file, row by row, under names that no column has."""
    path, files = work / f"{what}.parquet", []
    if isinstance(source, str | Path):
        files = parquet_files(Path(source).expanduser())
    if files:
        rows = sum(part.rows for part in slices_of(files))
        frame = pl.concat([scanned(each) for each in files], how="diagonal_relaxed")
    else:
        read = read_numbers(source, what)
        named = read.frame if isinstance(read, Table) else pl.DataFrame(read).rename(lambda at: OURS + at)
        rows, frame = named.height, named.lazy()
    if rows != total:
        raise InputError(f"the {what} have {rows} rows and the table has {total}; give one row for each")
    frame.rename(lambda name: f"{OURS}{what} {name}").sink_parquet(path)
    return path


def scattered(items: pl.Series) -> Ints:
    """A number for each item that is the same wherever it is read."""
    hashed = [hashlib.blake2b(text.encode(), digest_size=8).digest() for text in items.to_list()]
    return np.frombuffer(b"".join(hashed), dtype=np.int64) & np.int64(2**63 - 1)


def deal(part: Slice, work: Path, item: str | None, slices: int, beside: Sequence[Path]) -> Ints:
    """A slice in the order of the slices that its rows go to; how many go to each.

    Rows of one of `item` go to one of so many slices, with their rows of the files `beside`.
    """
    path = work / DEALT.format(part.number)
    if not path.is_file():
        frame, to = part.frame(), np.full(part.rows, part.number)
        if item is not None:
            items = named_by(frame[item], part)
            if gaps := items.null_count():
                raise InputError(
                    f"column {item!r} (item) is empty in {gaps} rows of {part.file}; every row needs one"
                )
            to = scattered(items) % slices
        numbers = (pl.scan_parquet(each).slice(part.pieces[0].first, part.rows).collect() for each in beside)
        frame = pl.concat([frame, *map(plain, numbers)], how="horizontal").with_columns(pl.Series(TO, to))
        with drafted(path) as draft:
            frame.sort(TO, maintain_order=True).write_ipc(draft)
    return np.bincount(pl.scan_ipc(path).select(TO).collect()[TO].to_numpy(), minlength=slices)


def dealt(work: Path, counts: Sequence[Ints]) -> list[Slice]:
    """The slices that dealt rows make."""
    found: list[Slice] = []
    rows = np.array(counts)
    starts = np.cumsum(rows, axis=1) - rows
    for to in np.flatnonzero(rows.any(axis=0)):
        pieces = (
            Piece(str(work / DEALT.format(at)), int(starts[at, to]), int(rows[at, to]))
            for at in np.flatnonzero(rows[:, to])
        )
        found.append(Slice(len(found), tuple(pieces)))
    return found
