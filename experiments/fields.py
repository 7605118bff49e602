"""Schema of experiment files: type and range of every value, validated on reading.

Names that other modules know (data sets, attacks, metrics, ...) are checked in `experiments.door`.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field, fields
from typing import Any

import numpy as np

from anml.core.checks import as_integer, in_range, one_of, repr_short
from anml.core.errors import AnmlError, InputError
from anml.core.types import Recipe
from anml.weighting.weigh import COMBINERS, RECIPES, recipe_of

# Says what is wrong with the value of a name, or returns it; lists of a setting come back as tuples.
Check = Callable[[str, Any], Any]

# Beyond these a run would not end, or not fit into memory.
MAX_TRIALS = 100_000
MAX_VALUE = 1_000_000


def _kind(what: str, sound: Callable[[Any], bool]) -> Check:
    def check(name: str, value: Any) -> Any:
        if not sound(value):
            raise InputError(f"{name} must be {what}, got {repr_short(value)}")
        return value

    return check


text = _kind("a text", lambda value: isinstance(value, str) and bool(value.strip()))
flag = _kind("true or false", lambda value: isinstance(value, bool))
table = _kind("a table", lambda value: isinstance(value, Mapping))


def count(low: int, high: int = MAX_VALUE) -> Check:
    """A whole number from `low` to `high`."""

    def check(name: str, value: Any) -> int:
        if as_integer(name, value, low) > high:
            raise InputError(f"{name} must be at most {high}, got {repr_short(value)}")
        return int(value)

    return check


def number(low: float, high: float, *, open_low: bool = False) -> Check:
    """A number between `low` and `high`, as it was written: 0 and 0.0 are different names of cells."""

    def check(name: str, value: Any) -> Any:
        if isinstance(value, int) and abs(value) > 1e15:
            raise InputError(f"{name} must be a number, got one of {len(str(abs(value)))} digits")
        return in_range(name, value, low, high, open_low=open_low, open_high=high == np.inf)

    return check


a_number = number(-1e15, 1e15)


def listed(total: Check, *, empty: bool = True) -> Check:
    """A list of values of one kind."""

    def check(name: str, value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list | tuple):
            raise InputError(f"{name} must be a list, got {repr_short(value)}")
        if not value and not empty:
            raise InputError(f"{name} is an empty list; at least one value is needed")
        return tuple(total(f"{name}[{place}]", each) for place, each in enumerate(value))

    return check


def require_unique(name: str, values: tuple[str, ...]) -> None:
    """No value stands there twice."""
    for value in values:
        if values.count(value) > 1:
            raise InputError(f"{name} has {value!r} more than once")


@contextmanager
def error_context(where: str) -> Iterator[None]:
    """Say where it is that something is wrong."""
    try:
        yield
    except AnmlError as error:
        raise InputError(f"{where}: {error}") from None


def checked(default: Any, check: Check) -> Any:
    """A field of a dataclass: its value, or what makes it, and the check of what a file says of it."""
    metadata = {"check": check}
    if callable(default):
        return field(default_factory=default, metadata=metadata)
    return field(default=default, metadata=metadata)


def checks(total: type) -> dict[str, Check]:
    """Checks of the fields of a dataclass, by name."""
    return {each.name: each.metadata["check"] for each in fields(total) if "check" in each.metadata}


def methods(given: Any) -> dict[str, Recipe]:
    """A list of recipe names, or a table of names with what differs from a recipe (`like`)."""
    if isinstance(given, list):
        require_unique("methods", listed(text)("methods", given))
        return {name: recipe_of(name) for name in given}
    if not isinstance(given, Mapping):
        raise InputError(f"methods must be a list of recipes or a table of methods, got {repr_short(given)}")
    return {name: _recipe(f"methods.{name}", table) for name, table in given.items()}


def _recipe(where: str, given: Any) -> Recipe:
    if not isinstance(given, Mapping):
        raise InputError(f'{where} must be a table such as {{ like = "krum" }}, got {repr_short(given)}')
    changes = dict(given)
    with error_context(where):
        like = one_of("recipe", text("like", changes.pop("like", "multiplicative")), RECIPES)
        for key in ("combine", "level", "select"):
            text(key, changes.get(key, "-"))
        one_of("combine", changes.get("combine", RECIPES[like].combine), COMBINERS)
        listed(text)("use", changes.get("use", []))
        for key in ("alpha", "tau_s", "tau_h", "tau_c", "tau_n", "keep"):
            number(-1e15, 1e15)(key, changes.get(key, 0))
        return Recipe.from_dict({**RECIPES[like].to_dict(), **changes})
