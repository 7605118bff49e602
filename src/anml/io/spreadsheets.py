"""Text that people open in a spreadsheet."""

import csv
import io
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from anml.core.errors import InputError

if TYPE_CHECKING:
    import polars as pl

# Starts of a cell that a spreadsheet would run as a formula.
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\x00")


def safe_for_spreadsheets(frame: "pl.DataFrame") -> "pl.DataFrame":
    """Put a quote before text, and names of columns, that a spreadsheet would run as a formula."""
    import polars as pl  # slow to load, and plain rows need none

    risky = pl.selectors.string().str.contains(f"^[{re.escape(''.join(FORMULA))}]")
    text = pl.selectors.string()
    safe = frame.with_columns(pl.when(risky).then(pl.lit("'") + text).otherwise(text).name.keep())
    return safe.rename({name: safe_cell(name) for name in safe.columns if name.startswith(FORMULA)})


def check_text(path: Path) -> None:
    """Refuse the name of a workbook for a file of text: nothing here writes one."""
    if path.suffix.lower() in (".xlsx", ".xlsm", ".xls", ".ods"):
        raise InputError(f"{path.name} would be no workbook: name it .csv, which spreadsheets open as well")


def safe_cell(value: object) -> str:
    """A cell that no spreadsheet takes for a formula."""
    text = "" if value is None else str(value)
    return "'" + text if text.startswith(FORMULA) else text


def to_csv(rows: Sequence[Mapping[str, object]]) -> str:
    """Rows by the names of their columns, the same in each, as CSV; every text cell made safe."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    for row in (*rows[:1], *(row.values() for row in rows)):
        writer.writerow([safe_cell(cell) for cell in row])
    return out.getvalue()
