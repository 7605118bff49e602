"""Freshness across domains: labels are still right with probability T, by clocks that nobody is told.

How often works of other ages were reused is on record, and shows the same clock.
"""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

from anml.core.checks import Floats
from anml.core.signals.temporal import ContextDecay, Decay
from anml.lab.cases import stream
from anml.lab.data import load_dataset
from anml.lab.spec import At, Found

# How many works have a record of reuse.
WORKS = {"many": 2_000, "some": 200, "few": 20}
WAYS = ("none", "of the source", "of the destination", "by type", "learned", "true")
MEASURES = ("error", "harm", "off")
# Weights of source, destination and relation, by whose clock rules.
TRUE = {
    "source": (0.8, 0.1, 0.1),
    "destination": (0.1, 0.8, 0.1),
    "both": (0.3, 0.3, 0.4),
    "same": (0.3, 0.3, 0.4),
}
SCENARIOS = tuple(f"{clock}-{works}" for clock in TRUE for works in WORKS)
SCIENCE, LEARNING, NEWS = (Decay.domain(name) for name in ("science", "machine-learning", "news"))
KIND = "cross-domain-synthesis"
OLDEST, TRAIN, REUSES = 15.0, 900, 2.0


def run_trial(at: At, methods: list[str]) -> Found:
    """Rows of all ways to set T in one scenario."""
    return simulate(at.setting.dataset, methods, at.experiment.seed, at.trial).items()


def simulate(scenario: str, ways: Iterable[str], seed: int, trial: int) -> dict[str, dict[str, float]]:
    """Test error, weight on stale labels and distance from the true T, for each way to set T."""
    clock, works = scenario.split("-")
    rng = stream(seed, trial, "reuse", scenario)
    source, relation, destination = (LEARNING,) * 3 if clock == "same" else (SCIENCE, LEARNING, NEWS)
    true = ContextDecay(source, destination, relation, TRUE[clock])
    data = load_dataset("digits")
    order = rng.permutation(len(data.y))
    train, test = order[:TRAIN], order[TRAIN:]
    age = rng.uniform(0, OLDEST, TRAIN)
    stale = rng.uniform(size=TRAIN) > true(age)
    given = np.where(stale, (data.y[train] + rng.integers(1, 10, TRAIN)) % 10, data.y[train])
    before = rng.uniform(0, OLDEST, WORKS[works])
    reused = rng.poisson(REUSES * true(before))
    set_by: dict[str, Callable[[Any], Floats]] = {
        "none": lambda ages: np.ones(len(ages)),
        "of the source": source,
        "of the destination": destination,
        "by type": ContextDecay.between(source, destination, relation, KIND),
        "learned": ContextDecay.learned(source, destination, relation, KIND, before, reused),
        "true": true,
    }
    ages = np.linspace(0, OLDEST, 151)
    found = {}
    for way in ways:
        weight = set_by[way](age)
        model = LogisticRegression(C=0.1, max_iter=300).fit(data.x[train] / 16, given, sample_weight=weight)
        found[way] = {
            "error": 100 * float((model.predict(data.x[test] / 16) != data.y[test]).mean()),
            "harm": 100 * float(weight[stale].sum() / weight.sum()),
            "off": float(np.abs(set_by[way](ages) - true(ages)).mean()),
        }
    return found
