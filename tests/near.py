"""Figures that come out of a fit differ a little between processors, libraries and numbers of threads.

What quotes or compares them goes through here: words, names and their order to the letter, figures within a
stated tolerance.
"""

import re

# A figure agrees with another within a quarter of the larger one, or within two of its own unit.
SHARE, UNITS = 0.25, 2.0
FIGURE = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?")


def near(one: float, other: float, *, share: float = SHARE, units: float = UNITS) -> bool:
    """Whether two figures of a fit are the same for a reader."""
    return abs(one - other) <= max(share * max(abs(one), abs(other)), units)


def says(text: str, line: str, *, share: float = SHARE, units: float = UNITS) -> bool:
    """Whether a text has a line, however lines are broken, with each figure near the one quoted."""
    words = [re.escape(part) for part in FIGURE.split(" ".join(line.split()))]
    quoted = [_value(found) for found in FIGURE.findall(line)]
    pattern = re.compile(rf"({FIGURE.pattern})".join(words))
    return any(
        all(near(_value(a), b, share=share, units=units) for a, b in zip(match.groups(), quoted, strict=True))
        for match in pattern.finditer(" ".join(text.split()))
    )


def _value(text: str) -> float:
    return float(text.replace(",", ""))
