"""`python bench/consensus.py`: where the consensus of real crowds is wrong, and what no setting mends.

Beside Dawid and Skene's on dogs: pictures that only one of the two gets right, with a sign test, for the
model as it is and with settings held at others. Of music: what the crowd takes most often for something else.
"""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from anml.annotators import fit, model
from anml.annotators.consensus import pool_posteriors_by_item
from anml.annotators.params import Params
from anml.annotators.rows import SideInformation, make_label_data

# Experiments are no part of the package that is installed.
sys.path.insert(0, str(Path(__file__).parents[1]))
from experiments.belief import run_assessment
from experiments.crowds import load_crowd, of_crowdkit, right_of
from experiments.seen import Case

# Settings that are held instead of chosen: how far people are drawn to each other, errors that go together.
HELD: dict[str, dict[str, Any]] = {
    "as it is": {},
    "votes in full": {"together": 0.0},
    "people hardly alike": {"alike": 1.0},
    "people less alike": {"alike": 4.0},
    "people more alike": {"alike": 60.0},
    "less alike, votes in full": {"alike": 4.0, "together": 0.0},
}


def decided(case: Case, held: dict[str, Any]) -> Any:
    """The likeliest class of every item, with some settings held."""
    inputs, choose = case.seen, model.candidate_hyperparameters

    def tried(params: Params) -> list[Params]:
        left = [one for one in choose(params) if all(getattr(one, name) == held[name] for name in held)]
        return left if len(left) > 1 else []

    share = np.bincount(inputs.y, minlength=inputs.classes) + 1.0
    log_p = np.tile(np.log(share / share.sum()), (len(inputs.y), 1))
    rows = make_label_data(log_p, inputs.y, SideInformation(codes=inputs.who, items=inputs.item))
    table = fit.InMemoryTable(rows)
    model.candidate_hyperparameters = tried
    try:
        start = replace(fit.initial_params(table, "classes", 1.0, 2.5), **held)
        result = fit.run_em({"one": start}, table, fit.MAX_ITERATIONS)["one"]
    finally:
        model.candidate_hyperparameters = choose
    return pool_posteriors_by_item(
        fit.with_posteriors(result, rows, table.found["one"]).truth, inputs.item
    ).argmax(axis=1)


def beside_dawid_skene(name: str) -> None:
    """One line per setting: share that is right, and items that only one of the two gets right."""
    case = load_crowd(name)
    right, other = right_of(case), of_crowdkit("DawidSkene", case).posterior
    assert other is not None
    theirs = other.argmax(axis=1) == right
    print(f"{name}: Dawid and Skene {theirs.mean():.1%} of {len(right)}")
    for label, held in HELD.items():
        ours = decided(case, held) == right
        mine, rest = int((ours & ~theirs).sum()), int((theirs & ~ours).sum())
        p = stats.binomtest(mine, mine + rest).pvalue if mine + rest else 1.0
        print(f"  {label:<26} {ours.mean():.1%}; right alone: {mine}, they: {rest} (sign test p = {p:.2f})")


def mistaken(name: str, limit: int = 3) -> None:
    """Print the most frequent errors of the consensus."""
    case = load_crowd(name)
    right = right_of(case)
    result = pool_posteriors_by_item(run_assessment(case.seen).belief.truth, case.seen.item).argmax(axis=1)
    table = np.zeros((case.seen.classes, case.seen.classes), dtype=np.int64)
    np.add.at(table, (right, result), 1)
    off = table * (1 - np.eye(len(table), dtype=np.int64))
    print(f"{name}: {np.mean(result == right):.1%} of {len(right)} are right")
    for place in np.argsort(-off, axis=None)[:limit]:
        truth, message = np.unravel_index(place, off.shape)
        print(
            f"  {off[truth, message]} of {table[truth].sum()} of class {truth} are taken for class {message}"
        )


if __name__ == "__main__":
    beside_dawid_skene("dogs")
    mistaken("music_genre")
