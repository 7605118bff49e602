"""Numbers given beside the rows of a table: read from an array, a frame or a file, and aligned."""

import hashlib
import io
from collections.abc import Collection
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import BadZipFile

import narwhals as nw
import numpy as np
import polars as pl

from anml.core.checks import Floats, Ints
from anml.core.errors import InputError
from anml.intake.plain import as_text
from anml.intake.roles import shown
from anml.intake.tables import PARQUET, SEPARATORS, Table, file_bytes, read_table

NUMPY = ".npy"
ENDINGS = (*SEPARATORS, *PARQUET, NUMPY)


class Beside(NamedTuple):
    """What a user gives beside a table; a key is a column that the table and what is beside it both have."""

    predictions: Any = None
    embeddings: Any = None
    key: str | None = None


class Aligned(NamedTuple):
    """Numbers (rows, columns); `names` of the columns is None for an array, `about` says what was read."""

    values: Floats
    names: tuple[str, ...] | None
    about: dict[str, str]


def aligned(source: Any, what: str, table: Table, rows: Ints, key: str | None) -> Aligned:
    """What belongs to `rows` in an array, frame or file, by position or key; `what` is for messages."""
    read = read_numbers(source, what)
    if isinstance(read, Table):
        frame = read.frame
        at = _by_key(frame, what, table, rows, key) if key else _by_position(frame.height, what, table, rows)
        values, names = columns_of(frame.drop(key) if key else frame, what, table.frame.columns)
        return Aligned(values[at], names, {"name": read.name, "sha256": read.sha256})
    if key is not None:
        raise InputError(f"the {what} are an array without named columns, so key {key!r} cannot align them")
    at = _by_position(len(read), what, table, rows)
    digest = hashlib.sha256(repr(read.shape).encode() + np.ascontiguousarray(read).tobytes()).hexdigest()
    name = Path(source).name if isinstance(source, str | Path) else "array"
    return Aligned(read[at], None, {"name": name, "sha256": digest})


def read_numbers(source: Any, what: str) -> Table | Floats:
    """Read a frame or a file with named columns as a table, and anything else as an array (rows, columns)."""
    if isinstance(source, str | Path):
        path = Path(source).expanduser()
        if path.name.lower().endswith(NUMPY):
            return _as_array(_load(path, what), what)
        if not path.is_dir() and not path.name.lower().endswith(ENDINGS):
            listed = ", ".join(ENDINGS)
            raise InputError(f"{what} file {path.name!r} has an unknown ending; allowed: {listed}")
        return read_table(path, name=what)
    if hasattr(source, "to_frame"):  # a single column of pandas or polars
        source = source.to_frame()
    known = isinstance(source, pl.DataFrame | pl.LazyFrame) or nw.dependencies.is_pandas_dataframe(source)
    if known or hasattr(source, "__arrow_c_stream__"):
        return read_table(source, name=what)
    return _as_array(source, what)


def _load(path: Path, what: str) -> Any:
    shown = f"{what} file {path.name!r}"
    content = io.BytesIO(file_bytes(path, shown))
    try:
        found = np.load(content, allow_pickle=False)
    except (ValueError, EOFError, BadZipFile):
        found = None
    if not isinstance(found, np.ndarray):  # also several arrays in one file
        raise InputError(f"{shown} is not a NumPy file with one array of numbers")
    return found


def _as_array(source: Any, what: str) -> Floats:
    if hasattr(source, "detach"):  # a tensor, of any precision, on any device, in training or not
        source = source.detach().cpu().double()
    try:
        array = np.asarray(source)
        numbers = np.asarray(array, dtype=np.float64) if array.dtype.kind in "biuf" else None
    except (TypeError, ValueError):  # rows of different lengths, or something that is no array
        numbers = None
    if numbers is None:
        shown = repr(source) if isinstance(source, str | int | float) else type(source).__name__
        raise InputError(f"{what} must be an array of numbers, a frame or the path of a file, got {shown}")
    if numbers.ndim != 2 and (numbers.ndim != 1 or what == "embeddings"):
        raise InputError(f"{what} must be an array (rows, columns), got one of shape {numbers.shape}")
    return numbers[:, None] if numbers.ndim == 1 else numbers


def _by_position(height: int, what: str, table: Table, rows: Ints) -> Ints:
    if height != table.frame.height:
        raise InputError(
            f"the {what} have {height} rows and the table has {table.frame.height}; give one row for each, "
            "or name a column that both have as key"
        )
    return rows


def _by_key(frame: pl.DataFrame, what: str, table: Table, rows: Ints, key: str) -> Ints:
    """For each row used, the position in `frame` of the row with the same key."""
    if key not in frame.columns:
        raise InputError(f"the {what} have no key column {key!r}; columns: {shown(frame.columns)}")
    theirs, ours = as_text(frame[key]), as_text(table.frame[key])[rows]
    for whose, keys in ((what, theirs), ("table", ours)):
        if gaps := keys.null_count():
            raise InputError(f"key {key!r} is empty in {gaps} rows of the {whose}; every row needs one")
    if (twice := theirs.filter(theirs.is_duplicated())).len():
        count = twice.n_unique()
        raise InputError(
            f"key {key!r} must name each row of the {what} once; {count} values occur more often, "
            f"the first {twice[0]!r}"
        )
    positions = pl.DataFrame({"key": theirs}).with_row_index("at")
    found = pl.DataFrame({"key": ours}).join(positions, on="key", how="left", maintain_order="left")
    absent = found.filter(pl.col("at").is_null())["key"]
    if len(absent):
        raise InputError(
            f"the {what} lack {absent.n_unique()} values of key {key!r} that the table has, "
            f"the first {absent[0]!r}"
        )
    return found["at"].to_numpy().astype(np.int64)


def columns_of(
    frame: pl.DataFrame, what: str, taken: Collection[str] = ()
) -> tuple[Floats, tuple[str, ...] | None]:
    """Columns of a frame as numbers, and their names; one that is `taken` by the table is a key not named."""
    if not frame.width:
        raise InputError(f"the {what} have no column beside the key")
    if frame.width == 1 and isinstance(frame.dtypes[0], pl.List | pl.Array):
        return _unpacked(frame.to_series(), what), None
    values = np.empty((frame.height, frame.width))
    for column, series in enumerate(frame.get_columns()):
        if series.name in taken and what == "embeddings":
            raise InputError(f"column {series.name!r} of the {what} is also in the table; name it as key")
        if not (series.dtype.is_numeric() or series.dtype in (pl.Boolean, pl.Null)):
            hint = (
                "; it is also in the table, so name it as key to align by it" if series.name in taken else ""
            )
            raise InputError(f"column {series.name!r} of the {what} holds {series.dtype}, not numbers{hint}")
        values[:, column] = series.cast(pl.Float64).fill_null(float("nan")).to_numpy()
    return values, tuple(frame.columns)


def _unpacked(series: pl.Series, what: str) -> Floats:
    """A column of lists, as vectors are often kept."""
    try:
        found = np.array(series.to_list(), dtype=np.float64)
    except (TypeError, ValueError):
        found = np.empty(0)
    if found.ndim != 2:
        raise InputError(f"column {series.name!r} of the {what} must hold lists of numbers of one length")
    return found
