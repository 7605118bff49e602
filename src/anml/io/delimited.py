"""CSV, TSV and Excel: bytes to a frame, or one sentence on why not."""

import csv
import gzip
import io
import re
import zipfile
import zlib
from collections import Counter

import polars as pl

from anml.core.errors import InputError
from anml.core.extras import require_extra
from anml.io.plain import to_frame

# Spellings of "no value" that spreadsheets, R, SQL and UCI files write.
MISSING = ("", "NA", "N/A", "nan", "NaN", "NULL", "null", "?")
GZIP_MAGIC = b"\x1f\x8b"
DECIMAL_COMMA = r"^[-+]?\d+(,\d+)?([eE][-+]?\d+)?$"
THOUSANDS_POINT = r"^[-+]?(\d{1,3}(\.\d{3})+|\d+)(,\d+)?$"
BOOLEAN_TEXT = r"(?i)^(true|false)$"
# A whole number that begins with a plus or a needless zero names something: 007 and 7 are two people.
NON_NUMERIC_ID = r"^(\+|0\d)"


def read_delimited(
    data: bytes, shown: str, separator: str, words: dict[str, pl.Series] | None = None
) -> pl.DataFrame:
    """Read CSV or TSV bytes, gzip-compressed or not; `shown` is how messages call the file.

    `words` collects the spellings of missing values in text columns, by column.
    """
    if data.startswith(GZIP_MAGIC):
        limit = max_uncompressed_size(len(data))
        try:
            with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
                data = file.read(limit + 1)
        except (OSError, EOFError, zlib.error):
            problem = f"{shown} is a damaged or truncated gzip file"
            raise InputError(f"{problem}; compress or copy it again") from None
        if len(data) > limit:
            why = f"{shown} unpacks to more than {limit // 2**20:,} MiB"
            raise InputError(f"{why}; unpack it first, or split it")
    _check_text(data, shown)
    if b"\n" not in data:  # line ends of old spreadsheets
        data = data.replace(b"\r", b"\n")
    names, separator = _names(data, shown, separator)
    check_names(names, shown)
    try:
        texts = pl.read_csv(data, separator=separator, infer_schema=False)
    except pl.exceptions.PolarsError:
        reason = _first_bad_line(data, separator, len(names))
        raise InputError(f"{shown} is not well-formed CSV: {reason}") from None
    if texts.width != len(names):  # a quote inside a name, which readers understand differently
        raise InputError(f"{shown} is not well-formed CSV: quotes are out of place in the header line")
    texts.columns = names
    # Where a semicolon separates, a comma is often the decimal sign, and a point parts thousands.
    comma = separator == ";"
    points = comma and any(is_german(series) for series in texts.get_columns())
    read = [infer_types(series, comma, points) for series in texts.get_columns()]
    collect_words(texts.get_columns(), read, words)
    return to_frame(read)


def collect_words(texts: list[pl.Series], read: list[pl.Series], words: dict[str, pl.Series] | None) -> None:
    """Keep what text columns hold where their values were taken as missing, such as NA."""
    for before, series in zip(texts, read, strict=True):
        if words is not None and series.dtype == pl.String and series.null_count():
            plain = before.str.strip_chars()
            plain = plain.set(series.is_not_null() | (plain == ""), None)
            if plain.null_count() < len(plain):
                words[series.name] = plain


def is_german(texts: pl.Series) -> bool:
    """True if all values of a column are numbers, some of them with a decimal comma."""
    plain = texts.str.strip_chars().drop_nulls()
    return bool(plain.str.contains(",").any() and plain.str.contains(THOUSANDS_POINT).all())


def infer_types(texts: pl.Series, comma: bool = False, points: bool = False) -> pl.Series:
    """Texts without blanks around them; whole numbers, numbers or truth values where all of them are.

    `comma` allows a decimal comma; with `points`, a point parts thousands.
    """
    stripped = texts.str.strip_chars()
    bare = stripped.set(stripped.is_in(list(MISSING)).fill_null(False), None)
    if bare.null_count() == len(bare):
        return bare
    parted = points or (comma and is_german(bare))
    if parted and bare.str.contains(THOUSANDS_POINT).all() and bare.str.contains(r"\.").any():
        plain = bare.str.replace_all(".", "", literal=True)
        return infer_types(plain, comma)
    for dtype in (pl.Int64, pl.Int128, pl.Float64):
        if (read := bare.cast(dtype, strict=False)).null_count() == bare.null_count():
            return bare if dtype.is_integer() and bare.str.contains(NON_NUMERIC_ID).any() else read
    if bare.str.contains(BOOLEAN_TEXT).all():
        return bare.str.to_lowercase() == "true"
    if comma and bare.str.contains(DECIMAL_COMMA).all():
        read = bare.str.replace(",", ".", literal=True).cast(pl.Float64)
        # Two different texts that would become one number are names.
        return read if read.n_unique() == bare.n_unique() else bare
    return bare


def header_separator(header: str, separator: str) -> str:
    """Return the separator the header was written with: spreadsheets in many countries use a semicolon."""
    if separator in header:
        return separator
    return next((other for other in (",", ";", "\t", "|") if other in header), separator)


def check_names(names: list[str], shown: str) -> None:
    """Refuse column names that occur twice."""
    if twice := sorted(name for name, count in Counter(names).items() if count > 1):
        listed = ", ".join(repr(name) for name in twice[:5])
        raise InputError(f"{shown} has column names that occur more than once: {listed}")


def max_uncompressed_size(packed: int) -> int:
    """Limit of the uncompressed size: 200 times the compressed size, within fixed bounds."""
    return min(max(200 * packed, 64 * 2**20), 2 * 2**30)


def _check_text(data: bytes, shown: str) -> None:
    if not data.strip():
        raise InputError(f"{shown} is empty; a header line and at least one row are needed")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        why = f"{shown} is not UTF-8 text (byte {data[error.start]:#04x} at offset {error.start})"
        raise InputError(f"{why}; save it as UTF-8") from None
    if "\x00" in text:
        raise InputError(f"{shown} is not a text file (it has zero bytes); save it as CSV in UTF-8")


def _names(data: bytes, shown: str, separator: str) -> tuple[list[str], str]:
    # By a CSV reader and not by the first newline: a quoted name may hold a line break.
    start = data[:1_000_000].decode("utf-8-sig", errors="ignore").lstrip("\r\n")
    separator = header_separator(start.split("\n", 1)[0], separator)
    try:
        names = next(csv.reader(io.StringIO(start, newline=""), delimiter=separator))
    except (csv.Error, StopIteration):
        raise InputError(f"{shown} has no header line with the names of its columns") from None
    return [name.strip() for name in names], separator


def _first_bad_line(data: bytes, separator: str, width: int) -> str:
    reader = csv.reader(io.StringIO(data.decode("utf-8-sig"), newline=""), delimiter=separator, strict=True)
    try:
        for row in reader:
            if len(row) > width:
                return f"line {reader.line_num} has {len(row)} fields where the header has {width}"
    except csv.Error as error:
        return f"line {reader.line_num}: {error}"
    return "quotes or line ends are out of place"


ZIP_MAGIC = b"PK\x03\x04"
# A second sheet with this share of the rows is a table as well. A header has this share of the cells of the
# first rows.
MIN_SHEET, MIN_HEADER, TITLE_ROWS = 0.1, 0.6, 50
# Largest number of cells, with empty ones, for the memory of a small machine.
MAX_CELLS = 100_000_000


def read_excel(data: bytes, shown: str) -> pl.DataFrame:
    """Read the sheet with the table of an .xlsx file; `shown` is how messages call the file."""
    if not data:
        raise InputError(f"{shown} is empty; a header line and at least one row are needed")
    if not data.startswith(ZIP_MAGIC):
        raise InputError(f"{shown} is not an Excel workbook; save it as .xlsx or as CSV")
    # polars reads workbooks with it.
    require_extra("fastexcel", "excel", "an Excel file that is not saved as CSV")
    _check_size(data, shown)
    try:
        sheets = pl.read_excel(
            io.BytesIO(data), sheet_id=0, has_header=False, drop_empty_rows=True, drop_empty_cols=False,
            raise_if_empty=False, infer_schema_length=1,
        )  # fmt: skip
    # The reader raises several kinds of errors on a damaged workbook.
    except (Exception, pl.exceptions.PanicException):
        raise InputError(f"{shown} is a damaged Excel workbook; save or copy it again") from None
    frame = _main_sheet(sheets, shown)
    # The header is read here, since polars numbers names that occur twice.
    names = ["" if each is None else str(each).strip() for each in frame.row(0)]
    check_names([name for name in names if name], shown)
    columns = [infer_types(frame[:, at][1:].cast(pl.String)).alias(name) for at, name in enumerate(names)]
    # A column without a name is a note in the margin unless most of its cells are filled.
    kept = [at for at, each in enumerate(columns) if each.name or each.null_count() < 0.5 * len(each)]
    return to_frame([columns[at].alias(names[at] or f"column {at + 1}") for at in kept])


def _main_sheet(sheets: dict[str, pl.DataFrame], shown: str) -> pl.DataFrame:
    """Return the rows of the one sheet with a table, from the header on."""
    tables = {name: table for name, sheet in sheets.items() if (table := _from_header(sheet)).height}
    if not tables:
        raise InputError(f"{shown} has no header line with the names of its columns in any sheet")
    # A note of one column beside a table is not a table.
    wide = {name: table for name, table in tables.items() if table.width > 1 and table.height > 1} or tables
    largest = max(table.height for table in wide.values())
    large = {name: n for name, table in wide.items() if (n := table.height) >= MIN_SHEET * largest}
    if len(large) > 1:
        listed = ", ".join(f"{name!r} ({rows - 1} rows)" for name, rows in large.items())
        raise InputError(f"{shown} has tables in several sheets: {listed}; save the one to audit as CSV")
    return wide[next(iter(large))]


def _from_header(sheet: pl.DataFrame) -> pl.DataFrame:
    """Return a sheet from its header on: rows of a title before it have fewer cells."""
    filled = (
        sheet.select(pl.sum_horizontal(pl.all().is_not_null())).to_series() if sheet.width else pl.Series()
    )
    if not len(filled) or not filled.max():
        return sheet.clear()
    header = int((filled >= MIN_HEADER * filled.head(TITLE_ROWS).max()).arg_max() or 0)  # type: ignore[operator]
    return sheet[header:]


def _check_size(data: bytes, shown: str) -> None:
    """Refuse a workbook that unpacks to far more than it is: the reader makes room up to the last cell."""
    left = max_uncompressed_size(len(data))
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as book:
            for part in book.namelist():
                with book.open(part) as file:
                    text = file.read(left + 1)
                left -= len(text)
                if left < 0:
                    raise InputError(f"{shown} unpacks to far more than a workbook does; save it as CSV")
                if text[:2] in (b"\xff\xfe", b"\xfe\xff"):
                    raise InputError(f"{shown} holds XML in UTF-16, as no spreadsheet has; save it as CSV")
                width, height = 1, 1
                for letters, digits in re.findall(rb"""\br=["']([A-Z]{1,8})([0-9]{1,9})["']""", text):
                    number = 0
                    for letter in letters:
                        number = number * 26 + letter - 64
                    width, height = max(width, number), max(height, int(digits))
                if width * height > MAX_CELLS:
                    far = f"cells up to row {height:,} and column {width:,}, more than {MAX_CELLS:,} in all"
                    raise InputError(f"{shown} has {far}; delete what lies far out, or save it as CSV")
    except InputError:
        raise
    except (zipfile.BadZipFile, OSError, EOFError, RuntimeError, NotImplementedError, ValueError, zlib.error):
        raise InputError(f"{shown} is a damaged Excel workbook; save or copy it again") from None
