"""One trial as data: what every method sees, and apart from it what is true, which scores methods."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np

from anml.assess.assess import Known
from anml.core.checks import Array, Bools, Floats, Ints
from anml.core.domain import Task


def _part(of: Any, rows: Any) -> dict[str, Any]:
    """Some rows of whatever there is for each row."""
    named = {name: getattr(of, name) for name in of.BY_ROW}
    return {name: value[rows] for name, value in named.items() if value is not None}


@dataclass(frozen=True, eq=False)
class Seen:
    """What every method is told of each row; None where nothing is known.

    Labels are codes or names of classes, or numbers where `classes` is 1. Rows with one `item` are labels of
    one thing. Credentials `v` and `r` lie in [0, 1], ages are in years. What a method draws at random comes
    from the `seed`. Figures of people are in the order of `np.unique` of contributors.
    """

    BY_ROW = ("x", "y", "contributor", "item", "v", "r", "age")

    x: Any
    y: Array
    classes: int
    contributor: Any = None
    item: Any = None
    v: Any = None
    r: Any = None
    age: Any = None
    seed: int = 0

    @property
    def numeric(self) -> bool:
        """Whether labels are numbers."""
        return self.classes == 1

    @property
    def task(self) -> Task:
        """What is learned from the labels."""
        return "regression" if self.numeric else "classification"

    @cached_property
    def who(self) -> Ints:
        """Code of each row's contributor."""
        return np.unique(self.contributor, return_inverse=True)[1]

    @property
    def rows(self) -> Ints:
        """How many rows each contributor has."""
        return np.bincount(self.who)

    def mean(self, values: Array) -> Floats:
        """Mean of the rows of each contributor."""
        return np.asarray(np.bincount(self.who, values) / self.rows)

    def of_person(self, values: Array) -> Array:
        """What is the same in all rows of a contributor, once for each."""
        return np.asarray(values[np.unique(self.who, return_index=True)[1]])

    def by_name(self, values: Any) -> Array:
        """Figures of people that come in the order of their names as text, in that of `np.unique`."""
        return np.asarray(values)[np.argsort(np.argsort(np.unique(self.contributor).astype(str)))]

    def known(self, **more: Any) -> Known:
        """The same, as an assessment takes it."""
        return Known(self.contributor, self.item, self.v, self.r, self.age, **more)

    def part(self, rows: Any) -> Self:
        """Some of the rows."""
        return replace(self, **_part(self, rows))


class Trigger(NamedTuple):
    """Test rows with the pattern of a backdoor, and the class it should make a model predict."""

    x: Any
    target: int


@dataclass(frozen=True, eq=False)
class Truth:
    """What is true, for scoring and for bounds: of rows, right labels, and which are wrong or of bad people.

    What is `wrong` is said where it is not just what differs from the right labels. `group` is what the
    contributor of a row is, where there are several kinds; `clean` are rows and labels before an attack on
    them; `best` are labels of the best contributor, where one labelled everything. The test part has right
    labels, or numbers without noise; `unit` takes errors of numbers back to their scale.
    """

    BY_ROW = ("y", "wrong", "bad", "group", "best")

    x_test: Any = None
    y_test: Any = None
    y: Any = None
    wrong: Any = None
    bad: Any = None
    group: Any = None
    best: Any = None
    clean: tuple[Any, Array] | None = None
    trigger: Trigger | None = None
    unit: float = 1.0


@dataclass(frozen=True, eq=False)
class Case:
    """What methods see, and what is true."""

    seen: Seen
    truth: Truth

    @property
    def wrong(self) -> Bools:
        """Labels that are wrong: that are not the right ones, unless more is known."""
        return np.asarray(self.seen.y != self.truth.y if self.truth.wrong is None else self.truth.wrong)

    @property
    def right(self) -> Bools:
        """Labels that are right."""
        return ~self.wrong

    @property
    def bad(self) -> Bools:
        """Contributors who are bad."""
        return self.seen.of_person(self.truth.bad)

    def seeded(self, seed: int) -> Self:
        """The same, where methods draw from another seed."""
        return replace(self, seen=replace(self.seen, seed=seed))

    @property
    def bound(self) -> tuple[Any, Array]:
        """What an oracle trains on: right labels, of rows as they were before an attack."""
        return (self.seen.x, self.truth.y) if self.truth.clean is None else self.truth.clean

    def part(self, rows: Any) -> Self:
        """Some of the rows, tested on all of the test part."""
        clean = self.truth.clean and (self.truth.clean[0][rows], self.truth.clean[1][rows])
        truth = replace(self.truth, clean=clean, **_part(self.truth, rows))
        return replace(self, seen=self.seen.part(rows), truth=truth)
