"""A name earned in one domain, taken to another: skills in both correlate, and nobody is told how far.

Some accounts have records in both. From these it is learned how much a record in the first says of work in
the second: what the rule expects of somebody who comes (`r0`), and how much evidence that is worth (`kappa`).
"""

from collections.abc import Iterable
from dataclasses import replace
from itertools import chain

import numpy as np
from scipy.stats import norm

from anml.core.checks import Floats
from anml.signals.track_record import DAY, ReputationEvent, ReputationRule, replay
from experiments.longitudinal.simulate import WEEK, World, reputation_event
from experiments.measures import Measured, rank_correlation, weight_on_wrong
from experiments.spec import random_stream

TRANSFER_RULES = ("none", "level", "full", "learned", "known")
# Accounts with records in both domains, and accounts that come from the first; batches on record in each.
VETERANS, NEWCOMERS, FIRST, SECOND = 30, 30, 30, 10
# Rounds in the second domain, labels of a batch that are checked, and the range of skills.
ROUNDS, CHECKED, LOW, HIGH = 8, 3, 0.4, 0.98


def simulate(rho: float, ways: Iterable[str], seed: int, trial: int) -> dict[str, Measured]:
    """Measures of every way to start in the second domain; all of them see the same people and labels."""
    rng = random_stream(seed, trial, "transfer", f"{rho:g}")
    drawn = rng.multivariate_normal([0, 0], [[1, rho], [rho, 1]], VETERANS + NEWCOMERS)
    first, second = (LOW + (HIGH - LOW) * norm.cdf(drawn)).T
    records = [_record(skill, FIRST, rng) for skill in first]
    both = [_record(skill, SECOND, rng) for skill in second[:VETERANS]]
    now = FIRST * WEEK * DAY
    earned = np.array([replay(record, now).r for record in records])
    nothing = np.zeros(VETERANS + NEWCOMERS)
    rules = {"none": [ReputationRule()] * NEWCOMERS, "full": [ReputationRule()] * NEWCOMERS}
    for way, known in (("level", nothing), ("learned", earned)):
        rules[way] = fit_transfer(known[:VETERANS], both, known[VETERANS:])
    skill, came = second[VETERANS:], records[VETERANS:]
    world = World(rng)
    rounds = [[world.labelled(s, rng) for s in skill] for _ in range(ROUNDS)]
    checks = [[float(batch.right[:CHECKED].mean()) for batch in batches] for batches in rounds]
    wrong = np.array([[batch.wrong for batch in batches] for batches in rounds])
    result = {}
    for way in ways:
        r = np.array([
            skill if way == "known" else [
                _reputation(came[person] if way == "full" else [], rules[way][person], [
                    checked[person] for checked in checks[:number]
                ]) for person in range(NEWCOMERS)
            ] for number in range(ROUNDS)
        ])  # fmt: skip
        ranks = [rank_correlation(each, skill) for each in r]
        world.fresh()
        for batch, weight in zip(chain(*rounds), r.ravel(), strict=True):
            world.add(batch.seen, float(weight))
        result[way] = {
            "off": float(np.abs(r - skill).mean()),
            "start": float(np.abs(r[0] - skill).mean()),
            # Where everybody has the same name it ranks nobody.
            "ranks": float(np.nan_to_num(ranks).mean()),
            "harm": weight_on_wrong(np.broadcast_to(r[..., None], wrong.shape), wrong),
            "error": world.error(),
        }
    return result


def fit_transfer(earned: Floats, both: list[list[ReputationEvent]], comers: Floats) -> list[ReputationRule]:
    """Rules for those who come, by the records of those who have been in both domains.

    A line through what they earned and how they did; what is left of their differences, beyond what chance in
    a few batches makes, says how many batches the line is worth.
    """
    batches = np.array([[event.quality for event in record] for record in both])
    chance, did = float(batches.var(axis=1, ddof=1).mean()), batches.mean(axis=1)
    line = np.linalg.lstsq(_line(earned), did)[0]
    left = float(np.square(did - _line(earned) @ line).sum() / (len(did) - 2)) - chance / batches.shape[1]
    kappa = float(np.clip(chance / max(left, 1e-9), 0.5, ReputationRule.cap))
    expected = np.clip(_line(comers) @ line, ReputationRule.low, ReputationRule.high)
    return [replace(ReputationRule(), r0=float(r0), kappa=kappa) for r0 in expected]


def _line(earned: Floats) -> Floats:
    return np.column_stack([np.ones(len(earned)), earned])


def _reputation(before: list[ReputationEvent], rule: ReputationRule, checks: list[float]) -> float:
    """R of an account that came, after some rounds."""
    own = [reputation_event(FIRST + number, quality) for number, quality in enumerate(checks)]
    return replay([*before, *own], (FIRST + len(checks)) * WEEK * DAY, rule).r


def _record(skill: float, batches: int, rng: np.random.Generator) -> list[ReputationEvent]:
    """Batches that were checked, the last one just now."""
    share = rng.binomial(CHECKED, skill, batches) / CHECKED
    return [reputation_event(FIRST - batches + number, float(each)) for number, each in enumerate(share)]
