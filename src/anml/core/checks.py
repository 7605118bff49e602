"""Input validation: values are checked here once, and not again inside."""

from collections.abc import Collection
from typing import Any

import numpy as np
import numpy.typing as npt

from anml.core.errors import InputError, UnknownNameError

# The largest seed that numpy, torch and scikit-learn all take.
MAX_SEED = 2**32 - 1
# The square of a larger value overflows, so that no variance could be computed.
MAX_ABS_VALUE = 1e150
# Any array of numbers, where precision does not matter.
Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]


def as_vector(name: str, values: Any, n: int | None = None) -> Floats:
    """Return `values` as a finite float vector of length `n`; an error names the first invalid value."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be numbers, got {repr_short(values)}") from None
    if array.ndim == 0 and n is not None:
        array = np.full(n, float(array))
    if array.ndim != 1:
        raise InputError(f"{name} must be one value per sample, got an array of shape {array.shape}")
    if n is not None and len(array) != n:
        raise InputError(f"{name} has {len(array)} values for {n} samples")
    if len(array) == 0:
        raise InputError(f"{name} is empty; at least one sample is needed")
    bad = ~np.isfinite(array)
    if bad.any():
        where = int(np.flatnonzero(bad)[0])
        raise InputError(f"{name} has {bad.sum()} missing or infinite values, the first at position {where}")
    return array


def as_unit_interval(name: str, values: Any, n: int | None = None) -> Floats:
    """Return `values` as a vector in [0, 1]."""
    array = as_vector(name, values, n)
    bad = (array < 0) | (array > 1)
    if bad.any():
        where = int(np.flatnonzero(bad)[0])
        raise InputError(
            f"{name} must lie in [0, 1], got {array[where]:g} at position {where} "
            f"({int(bad.sum())} values outside)"
        )
    return array


def as_booleans(name: str, values: Any, n: int | None = None) -> Bools:
    """True or False for each sample."""
    marks = np.asarray(values)
    if marks.ndim != 1 or marks.dtype != np.bool_ or (n is not None and len(marks) != n):
        expected = "" if n is None else f": {n} expected"
        raise InputError(
            f"{name} must be one True or False per sample{expected}, got {marks.dtype} of shape {marks.shape}"
        )
    return marks


def as_ages(name: str, values: Any, n: int | None = None) -> Floats:
    """Return `values` as a vector of non-negative ages."""
    ages = as_vector(name, values, n)
    if (ages < 0).any():
        raise InputError(f"{name} must not be negative, got {ages.min():g}")
    return ages


def in_range(
    name: str, value: float, low: float, high: float, *, open_low: bool = False, open_high: bool = False
) -> float:
    """Return `value` if it lies between `low` and `high`, or say what is allowed."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise InputError(f"{name} must be a number, got {repr_short(value)}")
    below = value <= low if open_low else value < low
    above = value >= high if open_high else value > high
    if not np.isfinite(value) or below or above:
        interval = f"{'(' if open_low else '['}{low:g}, {high:g}{')' if open_high else ']'}"
        raise InputError(f"{name} must lie in {interval}, got {value:g}")
    return value


def as_integer(name: str, value: Any, low: int | None = None) -> int:
    """Return `value` if it is a whole number, not below `low`, and not true or 3.0 by accident."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise InputError(f"{name} must be a whole number, got {repr_short(value)}")
    if low is not None and value < low:
        raise InputError(f"{name} must be at least {low}, got {value}")
    return int(value)


def check_seed(seed: Any) -> int:
    """Return a seed that numpy, torch and scikit-learn take."""
    if not 0 <= as_integer("seed", seed) <= MAX_SEED:
        raise InputError(f"seed must be a whole number from 0 to {MAX_SEED}, got {seed}")
    return int(seed)


def one_of(kind: str, name: str, allowed: Collection[str]) -> str:
    """Return `name` if it is one of `allowed`."""
    if not isinstance(name, str) or name not in allowed:
        raise UnknownNameError(kind, name, allowed)
    return name


def as_codes(name: str, values: Any, n: int) -> tuple[Ints, list[str]]:
    """Turn identifiers into codes 0.. and their sorted names, so that order of rows never matters."""
    array = np.asarray(values)
    if array.ndim != 1 or len(array) != n:
        raise InputError(f"{name} must be one identifier per sample: {n} expected, got shape {array.shape}")
    missing = np.array([value is None or value != value for value in array.tolist()], dtype=bool)
    if missing.any():
        where = int(np.flatnonzero(missing)[0])
        raise InputError(f"{name} is missing in {int(missing.sum())} rows, the first at position {where}")
    names, codes = np.unique(array.astype(str), return_inverse=True)
    return codes.astype(np.int64), [str(name) for name in names]


def repr_short(values: Any) -> str:
    """A value in a sentence, cut where it is long."""
    text = repr(values)
    return text if len(text) <= 60 else text[:57] + "..."
