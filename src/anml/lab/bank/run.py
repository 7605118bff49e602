"""Rows of the bank: one per condition, method and seed."""

import time
from collections.abc import Collection, Iterable
from typing import Any

from anml.gradients.threads import one_thread_for_tables, threads
from anml.lab.bank.conditions import make_condition
from anml.lab.bank.measures import measures
from anml.lab.bank.parts import Condition
from anml.lab.bank.peers import BLIND, TOLD, Outcome
from anml.lab.bank.recipes import weighed
from anml.lab.cells import methods_in
from anml.lab.spec import Experiment


def run_block(
    experiment: Experiment,
    trials: Iterable[int],
    dataset: str,
    device: str = "cpu",
    *,
    cells: Collection[str] | None = None,
) -> list[dict[str, Any]]:
    """Rows of some trials in one condition: one per method that applies to it, or some `cells` of them.

    A trial's seed, the experiment's plus its number, decides the condition, every method and every model.
    """
    rows = []
    chosen = methods_in(experiment, dataset, cells)
    for trial in trials:
        seed = experiment.seed + trial
        condition = make_condition(dataset, seed)
        for key, method in chosen:
            with threads(1), one_thread_for_tables():
                start = time.process_time()
                outcome = decided(experiment, method, condition, seed)
                seconds = time.process_time() - start
                if outcome is not None:
                    found = {**measures(condition, outcome, seed), "seconds": seconds}
                    rows.append({"trial": trial, **dict(key), "method": method, **found})
    return rows


def decided(experiment: Experiment, method: str, condition: Condition, seed: int) -> Outcome | None:
    """What a method makes of a condition, of which only the oracle sees the truth."""
    if method in experiment.methods:
        return weighed(condition.seen, experiment.methods[method], seed)
    if method in BLIND:
        return BLIND[method](condition.seen, seed)
    return TOLD[method](condition)
