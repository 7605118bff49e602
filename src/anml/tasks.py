"""Tasks: the annotation type of the labels, with the columns and options that only this type has."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, ClassVar

from anml.core.checks import one_of
from anml.core.errors import InputError
from anml.schema import options_from


@dataclass(frozen=True, kw_only=True)
class Task:
    """A task without options, detected from the data; the base class of all tasks."""

    name: ClassVar[str] = "auto"

    def options(self) -> dict[str, Any]:
        """Return the options of this task by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


@dataclass(frozen=True, kw_only=True)
class Classification(Task):
    """One of several classes."""

    name = "classification"


@dataclass(frozen=True, kw_only=True)
class Regression(Task):
    """A number."""

    name = "regression"


@dataclass(frozen=True, kw_only=True)
class Ordinal(Task):
    """Ordered grades; `order` names them, lowest first."""

    name = "ordinal"
    order: Sequence[str] | None = None

    def __post_init__(self) -> None:
        if isinstance(self.order, str):
            object.__setattr__(self, "order", tuple(part.strip() for part in self.order.split(",")))


@dataclass(frozen=True, kw_only=True)
class Preferences(Task):
    """Choices between two candidates.

    `first` and `second` are columns with the candidates, `choice` the column with the chosen one, `group` the
    columns within which candidates are compared.
    """

    name = "preferences"
    first: str | None = None
    second: str | None = None
    choice: str | None = None
    group: str | Sequence[str] | None = None


@dataclass(frozen=True, kw_only=True)
class Spans(Task):
    """Typed spans of a text.

    `start` and `end` are columns with the position, `assignments` is a table of the documents that each
    contributor was shown, `nested` allows spans of the consensus to lie within each other.
    """

    name = "spans"
    start: str | None = None
    end: str | None = None
    assignments: str | Path | None = None
    nested: bool = False


@dataclass(frozen=True, kw_only=True)
class Boxes(Task):
    """Typed boxes in images; `assignments` is a table of the images that each contributor was shown."""

    name = "boxes"
    assignments: str | Path | None = None


@dataclass(frozen=True, kw_only=True)
class Tags(Task):
    """Any number of tags per item."""

    name = "tags"


TASKS: dict[str, type[Task]] = {
    task.name: task for task in (Task, Classification, Regression, Ordinal, Preferences, Spans, Boxes, Tags)
}


def task_of(task: str | Task, options: Mapping[str, Any] | None = None) -> Task:
    """Return a task by its name and options, or a task as it is."""
    if isinstance(task, Task):
        return task
    if not isinstance(task, str):
        raise InputError(f"task must be a name or one of anml.tasks, got {task!r}")
    return options_from(TASKS[one_of("task", task, TASKS)], options)
