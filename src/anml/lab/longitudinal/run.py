"""Rows of reputation over time: one per scenario, rule and trial."""

from collections.abc import Collection, Iterable
from typing import Any

from anml.gradients.threads import one_thread_for_tables
from anml.lab.cells import wanted
from anml.lab.longitudinal.simulate import simulate
from anml.lab.spec import Experiment


def run_block(
    experiment: Experiment,
    trials: Iterable[int],
    dataset: str,
    device: str = "cpu",
    *,
    cells: Collection[str] | None = None,
) -> list[dict[str, Any]]:
    """Rows of some trials in one scenario, or some `cells` of them."""
    rows = []
    for trial in trials:
        for key, (setting, rules) in wanted(experiment, dataset, cells).items():
            for rule in rules:
                with one_thread_for_tables():
                    found = simulate(setting.dataset, rule, experiment.seed, trial)
                rows.append({"trial": trial, **dict(key), "method": rule, **found})
    return rows
