"""Text for display: truncated names without control characters, and percentages."""

import unicodedata
from collections.abc import Sequence

from rich.cells import cell_len, set_cell_size

from anml.core.text import join_names


def truncate(name: str, width: int) -> str:
    """Truncate a name to a width and sanitise it."""
    text = sanitise(name)
    return text if cell_len(text) <= width else set_cell_size(text, width - 1).rstrip() + "…"


def sanitise(name: str) -> str:
    """Replace control characters and line breaks by spaces; remove marks of text direction."""
    return "".join(" " if unicodedata.category(letter) in {"Cc", "Cs", "Zl", "Zp"} else letter
                   for letter in name if unicodedata.bidirectional(letter) not in _TURNING)  # fmt: skip


def join_display_names(names: Sequence[str], width: int = 80) -> str:
    """Join names for display; a long list ends with the number of further names."""
    return join_names([truncate(name, width) for name in names])


def format_probability(p: float) -> str:
    """Format a probability in per cent, between <1% and >99%."""
    return ">99%" if p > 0.99 else "<1%" if p < 0.01 else f"{p:.0%}"


def format_percent(share: float) -> str:
    """Format a share in per cent, rounded like the two digits of tables: 0.765 is 0.77 and 77%."""
    return f"{float(f'{share:.2f}'):.0%}"


_TURNING = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
