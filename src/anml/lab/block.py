"""The one body of all kinds of experiments: some trials on one data set, condition by condition."""

import importlib
import time
from collections.abc import Callable, Collection, Iterable
from typing import Any, NamedTuple, TypeVar

from anml.lab.cells import wanted
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


def run_block(
    experiment: Experiment, trials: Iterable[int], dataset: str, device: str = "cpu", *,
    cells: Collection[str] | None = None,
) -> list[dict[str, Any]]:  # fmt: skip
    """Rows of some trials on one data set: one for each condition and method that applies, or some `cells`.

    A kind's module has `run_trial`, which says what each method gives in one condition; simulated data have a
    body of their own, which trains the networks of all trials together.
    """
    from anml.gradients.threads import one_thread_for_tables, threads
    from anml.lab.kinds import KINDS  # which names what kinds have, and so loads them

    module = importlib.import_module(KINDS[experiment.kind])
    if hasattr(module, "run_block"):
        rows: list[dict[str, Any]] = module.run_block(experiment, trials, dataset, device, cells=cells)
        return rows
    chosen = wanted(experiment, dataset, cells)
    rows = []
    for trial in trials:
        for key, (setting, methods) in chosen.items():
            with threads(1), one_thread_for_tables():
                found = list(module.run_trial(At(experiment, setting, trial), methods))
            rows += [{"trial": trial, **dict(key), "method": method, **row} for method, row in found]
    return rows


def timed(body: Callable[[], T]) -> tuple[T, float]:
    """What it gives, and the process's own time: what else runs on the machine does not count."""
    start = time.process_time()
    found = body()
    return found, time.process_time() - start
