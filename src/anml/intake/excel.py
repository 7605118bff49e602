"""Excel workbooks: the first sheet as a frame, or one sentence on why not."""

import io
import re
import zipfile
import zlib

import polars as pl

from anml.core.errors import InputError, UnsupportedError
from anml.intake.delimited import as_numbers, check_names, most_unpacked
from anml.intake.plain import framed

ZIP_MAGIC = b"PK\x03\x04"
# So many cells, empty ones among them, fit into the memory of a small machine.
MOST_CELLS = 100_000_000


def read_excel(data: bytes, shown: str) -> pl.DataFrame:
    """Read the first sheet of an .xlsx file; `shown` is how messages call the file."""
    if not data:
        raise InputError(f"{shown} is empty; a header line and at least one row are needed")
    if not data.startswith(ZIP_MAGIC):
        raise InputError(f"{shown} is not an Excel workbook; save it as .xlsx or as CSV")
    try:
        import fastexcel  # noqa: F401  # polars reads by it
    except ModuleNotFoundError:
        raise UnsupportedError(
            "an Excel file needs fastexcel: pip install 'attribution-native-ml[excel]', or save it as CSV"
        ) from None
    _check_size(data, shown)
    frame = _first_sheet(data, shown)
    # A header of its own reading: polars gives names that occur twice a number.
    names = ["" if each is None else str(each).strip() for each in frame.row(0)] if frame.height else []
    if not any(names):
        raise InputError(f"{shown} has no header line with the names of its columns in its first sheet")
    check_names([name for name in names if name], shown)
    kept = [at for at, name in enumerate(names) if name]
    return framed([_column(frame[:, at][1:], names[at]) for at in kept])


def _check_size(data: bytes, shown: str) -> None:
    """Refuse a workbook that unpacks to far more than it is: the reader makes room up to the last cell."""
    left = most_unpacked(len(data))
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
                _check_cells(text, shown)
    except InputError:
        raise
    except (zipfile.BadZipFile, OSError, EOFError, RuntimeError, NotImplementedError, ValueError, zlib.error):
        raise InputError(f"{shown} is a damaged Excel workbook; save or copy it again") from None


def _check_cells(text: bytes, shown: str) -> None:
    width, height = 1, 1
    for letters, digits in re.findall(rb"""\br=["']([A-Z]{1,8})([0-9]{1,9})["']""", text):
        number = 0
        for letter in letters:
            number = number * 26 + letter - 64
        width, height = max(width, number), max(height, int(digits))
    if width * height > MOST_CELLS:
        raise InputError(
            f"{shown} has cells up to row {height:,} and column {width:,}, more than {MOST_CELLS:,} in all; "
            "delete what lies far out, or save it as CSV"
        )


def _first_sheet(data: bytes, shown: str) -> pl.DataFrame:
    try:
        return pl.read_excel(
            io.BytesIO(data), sheet_id=1, has_header=False, drop_empty_rows=True, drop_empty_cols=False,
            raise_if_empty=False, infer_schema_length=1,
        )  # fmt: skip
    # Whatever a damaged workbook makes of the reader: it has errors of its own kinds.
    except (Exception, pl.exceptions.PanicException):
        raise InputError(f"{shown} is a damaged Excel workbook; save or copy it again") from None


def _column(series: pl.Series, name: str) -> pl.Series:
    """Cells as text, read as whole numbers, numbers or truth where all of them are."""
    bare = as_numbers(series.cast(pl.String)).alias(name)
    if bare.dtype != pl.String:
        return bare
    words = set(bare.drop_nulls().str.to_lowercase().unique())
    if words and words <= {"true", "false"}:
        return bare.str.to_lowercase() == "true"
    return bare
