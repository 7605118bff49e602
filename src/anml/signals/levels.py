"""Named levels of a signal: a range from the paper, and the default used inside it."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from anml.core.checks import Floats
from anml.core.errors import InputError, UnknownNameError


class Level(NamedTuple):
    """One row of a table of levels."""

    low: float
    high: float
    default: float
    meaning: str


def level_values(kind: str, values: Any, levels: Mapping[str, Level], missing: float | None = None) -> Floats:
    """Turn level names, numbers in [0, 1], or a mix of both into numbers.

    Names are matched without regard to case, with spaces and underscores as dashes. `missing`
    stands in for None, NaN and empty text; without it they are an error.
    """
    listed = np.asarray(values, dtype=object).tolist()
    # A table has few distinct values, so each is read once.
    known: dict[Any, float] = {}
    for position, value in enumerate(listed):
        if value not in known:
            known[value] = _value(kind, value, levels, missing, position)
    return np.array([known[value] for value in listed], dtype=np.float64)


def level_name(value: Any) -> str:
    """Return a value as the name of a level would be written."""
    return str(value).strip().lower().replace(" ", "-").replace("_", "-")


def _value(kind: str, value: Any, levels: Mapping[str, Level], missing: float | None, position: int) -> float:
    if value is None or value != value or value == "":
        if missing is None:
            raise InputError(f"{kind} is missing at position {position}")
        return missing
    name = level_name(value)
    if name in levels:
        return levels[name].default
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise UnknownNameError(f"{kind} level", value, levels) from None
    if not 0 <= number <= 1:
        raise InputError(f"{kind} must be a level or lie in [0, 1], got {number:g} at position {position}")
    return number
