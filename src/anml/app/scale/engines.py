"""Who runs a function over slices: this process, one slice after another, or an engine of many workers."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

from anml.app.scale.slices import Slice

# A function of one slice and of what all slices share; it may be run again after a failure.
Work = Callable[[Slice, Any], Any]


class Engine(Protocol):
    """Runs work over slices and gives results in the order of the slices."""

    def map(self, work: Work, slices: Sequence[Slice], shared: Any) -> Iterator[Any]:
        """Results, in order."""

    def close(self) -> None:
        """Let workers go."""


class Local:
    """Only the process that asks: memory is that of one slice."""

    def map(self, work: Work, slices: Sequence[Slice], shared: Any) -> Iterator[Any]:
        """Results, in order."""
        for each in slices:
            yield work(each, shared)

    def close(self) -> None:
        """Nothing to let go."""
