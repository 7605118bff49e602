"""Where a trial stands, and what any kind of experiment gives of it."""

import time
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeVar

from anml.lab.spec import Experiment, Setting

Found = Iterable[tuple[str, dict[str, Any]]]
T = TypeVar("T")


class At(NamedTuple):
    """Where a trial stands: of which experiment, in which condition, and its number."""

    experiment: Experiment
    setting: Setting
    trial: int

    @property
    def seed(self) -> int:
        """The experiment's, plus the trial's number."""
        return self.experiment.seed + self.trial


def timed(body: Callable[[], T]) -> tuple[T, float]:
    """What it gives, and the process's own time: what else runs on the machine does not count."""
    start = time.process_time()
    found = body()
    return found, time.process_time() - start
