"""What a condition of the bank is made of.

What methods are told (`Seen`) is apart from what is true (`Truth`): that scores, and only the oracle sees it.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from anml.core.checks import Array, Floats, Ints
from anml.lab.bank.sources import Rows


@dataclass(frozen=True, eq=False)
class Seen:
    """What every method is told of each row; None where nothing is known.

    Labels are classes, or numbers where `numeric`; times are in years. Credentials lie in [0, 1]; among the
    twenty they are drawn without regard to quality.
    """

    x: Floats
    label: Array
    contributor: Ints
    item: Ints | None = None
    verification: Floats | None = None
    reputation: Floats | None = None
    time: Floats | None = None
    numeric: bool = False


@dataclass(frozen=True)
class Truth:
    """What is true: right labels, who gives wrong ones, and the rows before an attack on them."""

    label: Array
    liars: Ints
    clean: tuple[Floats, Array] | None = None


class Trigger(NamedTuple):
    """Test rows with the pattern of a backdoor, and the class it should make a model predict."""

    x: Floats
    target: int


@dataclass(frozen=True)
class Condition:
    """What methods see, what is true, and the test part: right labels, or numbers without noise."""

    seen: Seen
    truth: Truth
    x_test: Floats
    y_test: Array
    trigger: Trigger | None = None


class Entry(NamedTuple):
    """How a condition is made from a seed, and what it is, in words."""

    make: Callable[[int], Condition]
    about: str


def told(rows: Rows, label: Array, contributor: Ints, liars: Iterable[int] = (), **more: Any) -> Condition:
    """The condition in which contributors give these labels of these rows; `more` is told as well."""
    truth = Truth(rows.y, np.array(list(liars), dtype=np.int64))
    return Condition(Seen(rows.x, label, contributor, **more), truth, rows.x_test, rows.y_test)
