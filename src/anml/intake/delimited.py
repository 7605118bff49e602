"""CSV and TSV: bytes to a frame, or one sentence on why not."""

import csv
import gzip
import io
import zlib

import polars as pl

from anml.core.errors import InputError

# Spellings of "no value" that spreadsheets, R, SQL and UCI files write.
MISSING = ("", "NA", "N/A", "nan", "NaN", "NULL", "null", "?")
GZIP_MAGIC = b"\x1f\x8b"


def read_delimited(data: bytes, shown: str, separator: str) -> pl.DataFrame:
    """Read CSV or TSV bytes, gzip-compressed or not; `shown` is how messages call the file."""
    if data.startswith(GZIP_MAGIC):
        data = _decompressed(data, shown)
    _check_text(data, shown)
    header = _header(data, shown, separator)
    separator = header_separator(header, separator)
    names = next(csv.reader([header], delimiter=separator))
    check_names(names, shown)
    try:
        return pl.read_csv(
            data, separator=separator, null_values=list(MISSING), infer_schema_length=None, quote_char='"'
        )
    except pl.exceptions.PolarsError as error:
        reason = _first_bad_line(data, separator, len(names)) or _first_line(error)
        raise InputError(f"{shown} is not well-formed CSV: {reason}") from None


def header_separator(header: str, separator: str) -> str:
    """Return the separator the header was written with: spreadsheets in many countries use a semicolon.

    Examples
    --------
    >>> header_separator("a;b;c", ","), header_separator("a,b", ","), header_separator("a", ",")
    (';', ',', ',')
    """
    if separator in header:
        return separator
    return next((other for other in (",", ";", "\t", "|") if other in header), separator)


def check_names(names: list[str], shown: str) -> None:
    """Refuse column names that occur twice."""
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        listed = ", ".join(repr(name) for name in twice[:5])
        raise InputError(
            f"{shown} has column names that occur more than once: {listed}; names must be unique"
        )


def _decompressed(data: bytes, shown: str) -> bytes:
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error):
        raise InputError(f"{shown} is a damaged or truncated gzip file; compress or copy it again") from None


def _check_text(data: bytes, shown: str) -> None:
    if not data.strip():
        raise InputError(f"{shown} is empty; a header line and at least one row are needed")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{shown} is not UTF-8 text (byte {data[error.start]:#04x} at offset {error.start}); "
            "save it as UTF-8"
        ) from None
    if "\x00" in text:
        raise InputError(f"{shown} is not a text file (it has zero bytes); save it as CSV in UTF-8")


def _header(data: bytes, shown: str, separator: str) -> str:
    # A quoted name may hold a line break, so the header is found by a CSV reader, not by the first newline.
    start = io.StringIO(data[:1_000_000].decode("utf-8-sig", errors="ignore"), newline="")
    try:
        next(row for row in csv.reader(start, delimiter=separator) if row)
    except (csv.Error, StopIteration):
        raise InputError(f"{shown} has no header line with the names of its columns") from None
    length = start.tell()
    start.seek(0)
    return start.read(length).strip("\r\n")


def _first_bad_line(data: bytes, separator: str, width: int) -> str | None:
    reader = csv.reader(io.StringIO(data.decode("utf-8-sig"), newline=""), delimiter=separator)
    try:
        for row in reader:
            if len(row) > width:
                return f"line {reader.line_num} has {len(row)} fields where the header has {width}"
    except csv.Error as error:
        return f"line {reader.line_num}: {error}"
    return None


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n")[0].rstrip(".")
