"""Figures that come out of a fit differ a little between processors, libraries and numbers of threads.

What quotes or compares them goes through here: words, names and their order to the letter, figures within a
stated tolerance.
"""

import re
from typing import Any

# A figure agrees with another within a quarter of the larger one, or within two of its own unit.
SHARE, UNITS = 0.25, 2.0
FIGURE = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?")
# Two equal figures whose sums were rounded in another order: which of them is larger is nobody's finding.
ROUNDED = re.compile(r"[<>=] (\S+), difference -?(?:0|[\d.]+e-1\d)(?=[ ,;]|$)")


def near(one: float, other: float, *, share: float = SHARE, units: float = UNITS) -> bool:
    """True if two figures of a fit are equal within the tolerance."""
    return abs(one - other) <= max(share * max(abs(one), abs(other)), units)


def says(text: str, line: str, *, share: float = SHARE, units: float = UNITS) -> bool:
    """True if a text contains a line, ignoring line breaks, with each figure near the quoted one."""
    words = [re.escape(part) for part in FIGURE.split(" ".join(line.split()))]
    quoted = [_value(each) for each in FIGURE.findall(line)]
    pattern = re.compile(rf"({FIGURE.pattern})".join(words))
    return any(
        all(near(_value(a), b, share=share, units=units) for a, b in zip(match.groups(), quoted, strict=True))
        for match in pattern.finditer(" ".join(text.split()))
    )


def alike(one: Any, other: Any, share: float = 1e-2) -> bool:
    """True if two JSON values are equal, with figures within a relative tolerance."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(alike(one[name], other[name], share) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(alike(a, b, share) for a, b in zip(one, other, strict=True))
    if isinstance(one, str) and isinstance(other, str):
        one, other = (ROUNDED.sub(r"= \1, difference 0", text) for text in (one, other))
        figures = [[_value(each) for each in FIGURE.findall(text)] for text in (one, other)]
        return FIGURE.split(one) == FIGURE.split(other) and alike(*figures, share)
    if isinstance(one, float) or isinstance(other, float):
        return type(one) is type(other) and near(one, other, share=share, units=1e-9)
    return type(one) is type(other) and one == other


def _value(text: str) -> float:
    return float(text.replace(",", ""))
