"""Aligned text and warnings, for all commands."""

import sys
from collections.abc import Iterable, Sequence

from rich.cells import cell_len, set_cell_size

from anml.report.printable import sanitise


def warn(warnings: Iterable[str]) -> None:
    """Print warnings to stderr."""
    for text in warnings:
        print(f"warning: {sanitise(text)}", file=sys.stderr)


def columns(header: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    """Return rows as aligned text."""
    # Repeated blanks in a name would look like a cell boundary.
    table = [[" ".join(sanitise(str(cell)).split()) for cell in row] for row in (header, *rows)]
    widths = [max(cell_len(row[i]) for row in table) for i in range(len(header))]
    return ["  ".join(map(set_cell_size, row, widths)).rstrip() for row in table]
