"""Names as they can be shown: cut to a width, with nothing in them that does not print."""

import unicodedata
from collections.abc import Sequence

from rich.cells import cell_len, set_cell_size

from anml.core.text import join_names


def truncate(name: str, width: int) -> str:
    """Cut a name to a width in letters, and take out what does not print."""
    text = sanitise(name)
    return text if cell_len(text) <= width else set_cell_size(text, width - 1).rstrip() + "…"


def sanitise(name: str) -> str:
    """Put a space for what would break a line; direction marks, which could turn it around, are taken out."""
    return "".join(" " if unicodedata.category(letter) in {"Cc", "Cs", "Zl", "Zp"} else letter
                   for letter in name if unicodedata.bidirectional(letter) not in _TURNING)  # fmt: skip


def join_display_names(names: Sequence[str], width: int = 80) -> str:
    """Names in one go, as they can be shown; many of them are counted."""
    return join_names([truncate(name, width) for name in names])


def format_probability(p: float) -> str:
    """A probability in per cent that never claims to be certain."""
    return ">99%" if p > 0.99 else "<1%" if p < 0.01 else f"{p:.0%}"


def format_percent(share: float) -> str:
    """A share in per cent, rounded as tables round it to two digits: 0.765 is 0.77 and 77% everywhere."""
    return f"{float(f'{share:.2f}'):.0%}"


_TURNING = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
