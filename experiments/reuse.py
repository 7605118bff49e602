"""Freshness across domains: labels are still right with probability T, by clocks that nobody is told.

How often works of other ages were reused is on record, and shows the same clock.
"""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

from anml.core.checks import Floats, Ints
from anml.signals.freshness import ContextDecay, Decay
from experiments import attacks
from experiments.data import load_dataset
from experiments.measures import Measured, of_test, weight_on_wrong
from experiments.seen import Case, GroundTruth, MethodInput
from experiments.spec import random_stream

# How many works have a record of reuse.
WORKS = {"many": 2_000, "some": 200, "few": 20}
DECAY_RULES = ("none", "of the source", "of the destination", "by type", "learned", "true")
# Weights of source, destination and relation, by whose clock rules.
TRUE_WEIGHTS = {
    "source": (0.8, 0.1, 0.1),
    "destination": (0.1, 0.8, 0.1),
    "both": (0.3, 0.3, 0.4),
    "same": (0.3, 0.3, 0.4),
}
SCENARIOS = tuple(f"{clock}-{works}" for clock in TRUE_WEIGHTS for works in WORKS)
SCIENCE, LEARNING, NEWS = (Decay.domain(name) for name in ("science", "machine-learning", "news"))
KIND = "cross-domain-synthesis"
OLDEST, TRAIN, REUSES = 15.0, 900, 2.0


def simulate(scenario: str, ways: Iterable[str], seed: int, trial: int) -> dict[str, Measured]:
    """Test error, weight on stale labels and distance from the true T, for each way to set T."""
    clock, works = scenario.split("-")
    rng = random_stream(seed, trial, "reuse", scenario)
    source, relation, destination = (LEARNING,) * 3 if clock == "same" else (SCIENCE, LEARNING, NEWS)
    true = ContextDecay(source, destination, relation, TRUE_WEIGHTS[clock])
    data = load_dataset("digits")
    order = rng.permutation(len(data.y))
    train, test = order[:TRAIN], order[TRAIN:]
    age = rng.uniform(0, OLDEST, TRAIN)
    stale = rng.uniform(size=TRAIN) > true(age)
    given = attacks.flip_labels(data.y[train], stale, 10, rng)
    truth = GroundTruth(data.x[test] / 16, data.y[test], wrong=stale)
    case = Case(MethodInput(data.x[train] / 16, given, 10, age=age), truth)
    before, ages = rng.uniform(0, OLDEST, WORKS[works]), np.linspace(0, OLDEST, 151)
    set_by = _set_by(true, before, rng.poisson(REUSES * true(before)))
    off = {way: float(np.abs(set_by[way](ages) - true(ages)).mean()) for way in ways}
    return {way: {**_trained(case, set_by[way](age)), "off": off[way]} for way in ways}


def _trained(case: Case, weight: Floats) -> Measured:
    """Test error of a model of weighted labels, and the weight on stale ones."""
    model = LogisticRegression(C=0.1, max_iter=300).fit(case.seen.x, case.seen.y, sample_weight=weight)
    return {**of_test(case, model.predict), "harm": weight_on_wrong(weight, case.wrong)}


# Domains that arrive, the years between them, labels of each, and works a year that are on record.
ARRIVALS, ARRIVAL_INTERVAL, LABELS, ON_RECORD = 4, 3.0, 300, 20
# By whose clock labels of each domain go stale, in the order in which domains arrive.
CLOCKS = {"slow": ("source",), "fast": ("destination",), "mixed": ("source", "destination")}
PARTS = (SCIENCE, NEWS, LEARNING)
SHIFT_WAYS = ("none", "given", "by type", "learned as one", "learned", "true")


def simulate_arrival(scenario: str, ways: Iterable[str], seed: int, trial: int) -> dict[str, Measured]:
    """Means over the years in which another domain has just been there for a while.

    A stale label is what the thing was called before: the class one below.
    """
    rng = random_stream(seed, trial, "shift", scenario)
    clocks, data = CLOCKS[scenario], load_dataset("digits")
    true = [ContextDecay(*PARTS, TRUE_WEIGHTS[clocks[at % len(clocks)]]) for at in range(ARRIVALS)]
    turned = [np.rot90(data.x.reshape(-1, 8, 8), at, (1, 2)).reshape(-1, 64) / 16 for at in range(ARRIVALS)]
    order = rng.permutation(len(data.y))
    train, test = order[:TRAIN], order[TRAIN:]
    result: dict[str, list[Measured]] = {way: [] for way in ways}
    for count in range(1, ARRIVALS + 1):
        oldest = ARRIVAL_INTERVAL * np.arange(count, 0, -1.0)
        rows = rng.choice(train, (count, LABELS))
        age = oldest[:, None] * rng.uniform(size=rows.shape)
        stale = rng.uniform(size=rows.shape) > np.stack([t(a) for t, a in zip(true, age, strict=False)])
        given = np.where(stale, (data.y[rows] - 1) % 10, data.y[rows])
        before = [rng.uniform(0, old, int(ON_RECORD * old)) for old in oldest]
        reused = [rng.poisson(REUSES * t(ages)) for t, ages in zip(true, before, strict=False)]
        each = [_set_by(*total) for total in zip(true, before, reused, strict=False)]
        set_by = {way: [domain[way] for domain in each] for way in each[0]}
        one = ContextDecay.learned(*PARTS, KIND, np.concatenate(before), np.concatenate(reused))
        set_by["learned as one"] = [one] * count
        x, x_test = (
            np.concatenate([each[own] for each, own in zip(turned, subset, strict=False)])
            for subset in (rows, [test] * count)
        )
        truth = GroundTruth(x_test, np.tile(data.y[test], count), wrong=stale.ravel())
        case = Case(MethodInput(x, given.ravel(), 10, age=age.ravel()), truth)
        grids = [np.linspace(0, old, 31) for old in oldest]
        for way, years in result.items():
            weight = np.concatenate([t(ages) for t, ages in zip(set_by[way], age, strict=True)])
            off = [np.abs(t(a) - s(a)).mean() for t, s, a in zip(set_by[way], true, grids, strict=False)]
            years.append(_trained(case, weight) | {"off": float(np.mean(off)), "off_new": float(off[-1])})
    return {
        way: {name: float(np.mean([year[name] for year in years])) for name in years[0]}
        for way, years in result.items()
    }


def _set_by(true: ContextDecay, before: Floats, reused: Ints) -> dict[str, Callable[[Any], Floats]]:
    """T of a domain by each way, with works of some ages on record."""
    parts = (true.source, true.destination, true.relation)
    return {
        "none": lambda ages: np.ones(len(ages)), "given": LEARNING, "of the source": true.source,
        "of the destination": true.destination, "by type": ContextDecay.between(*parts, KIND),
        "learned": ContextDecay.learned(*parts, KIND, before, reused), "true": true,
    }  # fmt: skip
