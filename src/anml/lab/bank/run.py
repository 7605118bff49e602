"""Rows of the bank: one per condition, method and seed."""

from functools import partial

from anml.lab.bank.conditions import make_condition
from anml.lab.bank.measures import measures
from anml.lab.bank.parts import Condition
from anml.lab.bank.peers import BLIND, TOLD, Outcome
from anml.lab.bank.recipes import weighed
from anml.lab.block import At, Found, timed
from anml.lab.spec import Experiment


def run_trial(at: At, methods: list[str]) -> Found:
    """Rows of the methods that apply to a condition; the seed decides it, every method and every model."""
    condition = make_condition(at.setting.dataset, at.seed)
    for method in methods:
        outcome, seconds = timed(partial(decided, at.experiment, method, condition, at.seed))
        if outcome is not None:
            yield method, {**measures(condition, outcome, at.seed), "seconds": seconds}


def decided(experiment: Experiment, method: str, condition: Condition, seed: int) -> Outcome | None:
    """What a method makes of a condition, of which only the oracle sees the truth."""
    if method in experiment.methods:
        return weighed(condition.seen, experiment.methods[method], seed)
    if method in BLIND:
        return BLIND[method](condition.seen, seed)
    return TOLD[method](condition)
