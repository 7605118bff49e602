"""One trial as data: what every method sees, and apart from it what is true, which scores methods."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np

from anml.assessment.assess import SampleInfo
from anml.core.checks import Array, Bools, Floats, Ints
from anml.core.types import Task


def _part(total: Any, rows: Any) -> dict[str, Any]:
    """Some rows of whatever there is for each row."""
    named = {name: getattr(total, name) for name in total.BY_ROW}
    return {name: value[rows] for name, value in named.items() if value is not None}


@dataclass(frozen=True, eq=False)
class MethodInput:
    """Inputs of every method for each row; None if absent.

    Labels are codes or names of classes, or numbers if `classes` is 1. Rows with the same `item` are labels
    of one item. Credentials `v` and `r` lie in [0, 1], ages are in years. Random draws use the `seed`.
    Values of contributors are in the order of `np.unique` of contributors.
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
        """True if labels are numbers."""
        return self.classes == 1

    @property
    def task(self) -> Task:
        """Learning task of the labels."""
        return "regression" if self.numeric else "classification"

    @cached_property
    def who(self) -> Ints:
        """Code of each row's contributor."""
        return np.unique(self.contributor, return_inverse=True)[1]

    @property
    def rows(self) -> Ints:
        """Number of rows of each contributor."""
        return np.bincount(self.who)

    def mean(self, values: Array) -> Floats:
        """Mean of the rows of each contributor."""
        return np.asarray(np.bincount(self.who, values) / self.rows)

    def of_person(self, values: Array) -> Array:
        """Return one value for each contributor, from a column that is constant within contributors."""
        return np.asarray(values[np.unique(self.who, return_index=True)[1]])

    def by_name(self, values: Any) -> Array:
        """Figures of people that come in the order of their names as text, in that of `np.unique`."""
        return np.asarray(values)[np.argsort(np.argsort(np.unique(self.contributor).astype(str)))]

    def known(self, **more: Any) -> SampleInfo:
        """The same, as an assessment takes it."""
        return SampleInfo(self.contributor, self.item, self.v, self.r, self.age, **more)

    def part(self, rows: Any) -> Self:
        """Some of the rows."""
        return replace(self, **_part(self, rows))


class Trigger(NamedTuple):
    """Test rows with the pattern of a backdoor, and the class it should make a model predict."""

    x: Any
    target: int


@dataclass(frozen=True, eq=False)
class GroundTruth:
    """Ground truth for scoring and bounds: true labels, wrong rows, rows of malicious contributors.

    `wrong` is set if it is not just the rows whose label differs from the true label. `group` is the kind
    of the row's contributor, if there are several kinds. `clean` are rows and labels before an attack.
    `best` are labels of the best contributor, if one labelled everything. The test part has true labels, or
    numbers without noise; `unit` converts errors of numbers to their original scale.
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
    """Case of an experiment: inputs of the methods, and ground truth."""

    seen: MethodInput
    truth: GroundTruth

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
        """Return the training data of an oracle: true labels of the rows before an attack."""
        return (self.seen.x, self.truth.y) if self.truth.clean is None else self.truth.clean

    def part(self, rows: Any) -> Self:
        """Some of the rows, tested on all of the test part."""
        clean = self.truth.clean and (self.truth.clean[0][rows], self.truth.clean[1][rows])
        truth = replace(self.truth, clean=clean, **_part(self.truth, rows))
        return replace(self, seen=self.seen.part(rows), truth=truth)
