"""Rows dealt anew, once: all labels of an item into one slice, with what was given beside each."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from anml.core.checks import Ints
from anml.core.errors import InputError
from anml.engines.slices import (
    INTERNAL_PREFIX,
    FileRange,
    Slice,
    as_text_keys,
    scan_parquet,
    slices_of,
    temporary_path,
)
from anml.io.plain import normalise_types
from anml.io.side_inputs import read_numbers
from anml.io.tables import Table, parquet_files

# The slice that a row goes to, and files of rows by that.
TARGET_SLICE, SHUFFLED_FILE = f"{INTERNAL_PREFIX}to", "dealt-{:06d}.arrow"


def matrix_to_parquet(source: Any, what: str, total: int, work: Path) -> Path:
    """Predictions or embeddings as one Parquet file, row by row, under names that no column has."""
    path, files = work / f"{what}.parquet", []
    if isinstance(source, str | Path):
        files = parquet_files(Path(source).expanduser())
    if files:
        rows = sum(part.rows for part in slices_of(files))
        frame = pl.concat([scan_parquet(each) for each in files], how="diagonal_relaxed")
    else:
        read = read_numbers(source, what)
        named = (
            read.frame
            if isinstance(read, Table)
            else pl.DataFrame(read).rename(lambda at: INTERNAL_PREFIX + at)
        )
        rows, frame = named.height, named.lazy()
    if rows != total:
        raise InputError(f"the {what} have {rows} rows and the table has {total}; give one row for each")
    frame.rename(lambda name: f"{INTERNAL_PREFIX}{what} {name}").sink_parquet(path)
    return path


def item_partition_hash(items: pl.Series) -> Ints:
    """A number for each item that is the same wherever it is read."""
    hashed = [hashlib.blake2b(text.encode(), digest_size=8).digest() for text in items.to_list()]
    return np.frombuffer(b"".join(hashed), dtype=np.int64) & np.int64(2**63 - 1)


def partition_slice(part: Slice, work: Path, item: str | None, slices: int, beside: Sequence[Path]) -> Ints:
    """A slice in the order of the slices that its rows go to; how many go to each.

    Rows of one of `item` go to one of so many slices, with their rows of the files `beside`.
    """
    path = work / SHUFFLED_FILE.format(part.number)
    if not path.is_file():
        frame, to = part.frame(), np.full(part.rows, part.number)
        if item is not None:
            items = as_text_keys(frame[item], part)
            if gaps := items.null_count():
                raise InputError(
                    f"column {item!r} (item) is empty in {gaps} rows of {part.file}; every row needs one"
                )
            to = item_partition_hash(items) % slices
        numbers = (pl.scan_parquet(each).slice(part.pieces[0].first, part.rows).collect() for each in beside)
        frame = pl.concat([frame, *map(normalise_types, numbers)], how="horizontal").with_columns(
            pl.Series(TARGET_SLICE, to)
        )
        with temporary_path(path) as draft:
            frame.sort(TARGET_SLICE, maintain_order=True).write_ipc(draft)
    return np.bincount(
        pl.scan_ipc(path).select(TARGET_SLICE).collect()[TARGET_SLICE].to_numpy(), minlength=slices
    )


def shuffled_slices(work: Path, counts: Sequence[Ints]) -> list[Slice]:
    """The slices that dealt rows make."""
    found: list[Slice] = []
    rows = np.array(counts)
    starts = np.cumsum(rows, axis=1) - rows
    for to in np.flatnonzero(rows.any(axis=0)):
        pieces = (
            FileRange(str(work / SHUFFLED_FILE.format(at)), int(starts[at, to]), int(rows[at, to]))
            for at in np.flatnonzero(rows[:, to])
        )
        found.append(Slice(len(found), tuple(pieces)))
    return found
