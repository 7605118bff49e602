"""A table in any form becomes one polars frame with a name and a hash."""

import hashlib
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import narwhals as nw
import polars as pl

from anml.core.errors import InputError
from anml.io.delimited import check_names, read_delimited, read_excel
from anml.io.plain import fingerprint, normalise_types, to_frame

SEPARATORS = {".csv": ",", ".csv.gz": ",", ".tsv": "\t", ".tsv.gz": "\t"}
PARQUET = (".parquet", ".pq")
EXCEL = (".xlsx", ".xlsm")
PARQUET_MAGIC = b"PAR1"
# Bytes of text in one column; a dictionary of a Parquet file holds a repeated text once.
LARGEST_TEXT = 8 * 2**30
# What polars raises on damaged files; on damaged pages it may panic, which is no Exception of Python's.
READ_ERRORS = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)
# Kinds that polars carries but cannot compute with, such as a pandas period.
UNSUPPORTED_DTYPES = (pl.Object, getattr(pl, "BaseExtension", pl.Object))


@dataclass(frozen=True)
class Table:
    """Columns of plain kinds, the file's name without folders, and the hash of its bytes, or of a frame.

    `words` are spellings of missing values in text columns of a file, such as NA, by column.
    """

    frame: pl.DataFrame
    name: str
    sha256: str
    words: Mapping[str, pl.Series] = field(default_factory=dict)


def read_table(source: str | Path | Any, name: str = "data") -> Table:
    """Read a CSV, TSV (both also gzip-compressed), Parquet or Excel file, or take a frame of any library."""
    if isinstance(source, str | Path):
        path = Path(source).expanduser()
        shown = f"{name} file {path.name or str(path)!r}"
        read = _as_it_is(path, shown)
    else:
        shown, read = f"the {name} frame", Table(_from_native(source, name), "frame", "")
    _check_text(read.frame, shown)
    frame = normalise_types(read.frame)
    _check_size(frame, shown)
    return Table(frame, read.name, read.sha256 or fingerprint(frame), read.words)


def parquet_files(source: Path) -> list[Path]:
    """The Parquet files of a folder, in order, or the one file; empty where it is neither."""
    if source.is_dir():
        return sorted(p for p in source.rglob("*.parquet") if not p.name.startswith((".", "_")))
    return [source] if source.suffix in PARQUET and source.is_file() else []


def joint_hash(digests: Sequence[str]) -> str:
    """One hash for the parts of a table, that of its file where there is one."""
    return digests[0] if len(digests) == 1 else hashlib.sha256("\n".join(digests).encode()).hexdigest()


def read_parts(folder: Path, name: str = "data") -> Table:
    """A folder of Parquet files as one table, in the order of their names."""
    parts = [_as_it_is(path, f"{name} file {path.name!r}") for path in parquet_files(folder)]
    columns = parts[0].frame.columns
    for part in parts:
        _check_text(part.frame, f"{name} file {part.name!r}")
    try:
        if any(set(part.frame.columns) != set(columns) for part in parts):
            raise pl.exceptions.SchemaError
        # Before kinds are made plain: a column without values in a part has that of the others.
        frame = normalise_types(
            pl.concat([part.frame.select(columns) for part in parts], how="vertical_relaxed")
        )
    except pl.exceptions.PolarsError:
        raise InputError(f"the Parquet files of {folder.name!r} have different columns") from None
    _check_size(frame, f"{name} folder {folder.name!r}")
    return Table(frame, folder.name, joint_hash([part.sha256 for part in parts]))


def _as_it_is(path: Path, shown: str) -> Table:
    known = (*SEPARATORS, *PARQUET, *EXCEL)
    suffix = next((end for end in known if path.name.lower().endswith(end)), "")
    if not suffix and not path.is_dir():
        raise InputError(f"{shown} has an unknown ending; allowed: {', '.join(known)}")
    data, words = file_bytes(path, shown), dict[str, pl.Series]()
    if suffix in SEPARATORS:
        frame = read_delimited(data, shown, SEPARATORS[suffix], words)
    elif suffix in EXCEL:
        frame = read_excel(data, shown)
    else:
        if not data:
            raise InputError(f"{shown} is empty; at least one row is needed")
        if not data.startswith(PARQUET_MAGIC):
            raise InputError(f"{shown} is not a Parquet file")
        if not data.endswith(PARQUET_MAGIC) or int.from_bytes(data[-8:-4], "little") > len(data) - 12:
            raise InputError(f"{shown} is a truncated Parquet file; copy or write it again")
        try:
            frame = pl.read_parquet(io.BytesIO(data), hive_partitioning=False)
        except (Exception, pl.exceptions.PanicException):
            raise InputError(f"{shown} is a damaged Parquet file; copy or write it again") from None
    return Table(frame, path.name, hashlib.sha256(data).hexdigest(), words)


def file_bytes(path: Path, shown: str) -> bytes:
    """The content of a file; `shown` is how messages call it."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise InputError(f"{shown} does not exist in folder '{path.parent}'") from None
    except IsADirectoryError:
        raise InputError(f"{shown} is a folder; a CSV, TSV or Parquet file is needed") from None
    except OSError as error:
        raise InputError(f"{shown} cannot be read: {error.strerror or error}") from None


def _check_size(frame: pl.DataFrame, shown: str) -> None:
    if frame.width == 0:
        raise InputError(f"{shown} has no columns; a label and at least one feature are needed")
    if frame.height == 0:
        raise InputError(f"{shown} has a header but no rows; at least one row is needed")


def _check_text(frame: pl.DataFrame, shown: str) -> None:
    """Refuse a table whose text would fill the memory: a small file can repeat a long text in every row."""
    for name, kind in frame.schema.items():
        if kind == pl.String:
            lengths = frame[name].str.len_bytes()
        elif kind in (pl.Categorical, pl.Enum):
            lengths = frame[name].cat.len_bytes()
        else:
            continue
        if (size := int(lengths.cast(pl.Int64).sum())) > LARGEST_TEXT:
            limit = f"more than {LARGEST_TEXT >> 30} GiB"
            raise InputError(f"{shown}: column {name!r} has {size / 2**30:.0f} GiB of text, {limit}")


def _from_native(source: Any, name: str) -> pl.DataFrame:
    if isinstance(source, pl.LazyFrame):
        return source.collect()
    if isinstance(source, pl.DataFrame):
        return source
    if nw.dependencies.is_pandas_dataframe(source):
        names = [str(column) for column in source.columns]
        check_names(names, f"the {name} frame")
        return to_frame([_from_pandas_column(source.iloc[:, at], column) for at, column in enumerate(names)])
    try:
        if hasattr(source, "__arrow_c_stream__"):
            return pl.DataFrame(source)
        other = nw.from_native(source)
        eager = other.collect() if isinstance(other, nw.LazyFrame) else other
        return eager.to_polars()
    except pl.exceptions.DuplicateError:
        raise InputError(f"the {name} frame has column names that occur more than once") from None
    except TypeError:
        why = f"{name} must be a path or a pandas, polars or Arrow table"
        raise InputError(f"{why}, got {type(source).__name__}") from None


def _from_pandas_column(series: Any, column: str) -> pl.Series:
    """Take one pandas column; a column of mixed objects, or any column without pyarrow, value by value."""
    if series.dtype.kind in "iufb" and isinstance(series.dtype, type(series.to_numpy().dtype)):
        return pl.Series(column, series.to_numpy())
    try:
        converted: Any = pl.from_pandas(series)
        if isinstance(converted, pl.Series) and not isinstance(converted.dtype, UNSUPPORTED_DTYPES):
            return converted.alias(column)
    except Exception:  # pyarrow missing or its refusal of mixed objects, both in its own classes
        pass
    gaps = series.isna().to_numpy()
    values = [None if gap else value for gap, value in zip(gaps, series.to_list(), strict=True)]
    try:
        return pl.Series(column, values)
    except (TypeError, pl.exceptions.PolarsError):
        return pl.Series(column, [None if value is None else str(value) for value in values])
