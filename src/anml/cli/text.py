"""Aligned text and warnings, for all commands."""

import sys
from collections.abc import Iterable, Sequence

from rich.cells import cell_len, set_cell_size

from anml.report.printable import sanitise


def warn(warnings: Iterable[str]) -> None:
    """Warnings on the error stream, so that output stays clean."""
    for text in warnings:
        print(f"warning: {sanitise(text)}", file=sys.stderr)


def columns(header: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    """Rows as aligned text."""
    # A name with many blanks could look like several cells.
    table = [[" ".join(sanitise(str(cell)).split()) for cell in row] for row in (header, *rows)]
    widths = [max(cell_len(row[i]) for row in table) for i in range(len(header))]
    return ["  ".join(map(set_cell_size, row, widths)).rstrip() for row in table]
