"""Fairness over time: weight and pay of groups that are easily underrated, by round.

The reference is a group's share of the correct labels of a round. All labels so far are assessed once per
round, and the settlement rules divide the pool of the round by the result.
"""

from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from anml.annotators.words import INCONCLUSIVE, LESS_RELIABLE, RELIABLE
from anml.assessment.assess import Assessment
from anml.core.checks import Array, Bools, Floats, Ints
from anml.core.types import Recipe
from anml.settlement.allocate import UNIT, PayoutRules, payout_fractions, row_weights
from anml.signals.track_record import ReputationEvent, ReputationRule
from anml.weighting.weigh import RECIPES, compute_sample_weights
from experiments import attacks
from experiments.belief import run_assessment
from experiments.data import load_dataset
from experiments.longitudinal.simulate import CHECKED, NO_FLOOR, reputation_event, track_record_r
from experiments.measures import Measured
from experiments.seen import Case, GroundTruth, MethodInput
from experiments.spec import Found, TrialContext, random_stream

N_ROUNDS, BEFORE = 6, 20


class Group(NamedTuple):
    """So many people, with so many labels a round each, from a round on, right so often."""

    people: int
    labels: int = 12
    joined: int = 0
    right: float = 0.95


GROUPS = {
    "established": Group(10), "newcomers": Group(3, joined=2), "small": Group(5, labels=2),
    "class": Group(2), "region": Group(2), "bad newcomers": Group(3, joined=2, right=0.25),
}  # fmt: skip
# The group of everybody, and when they joined.
WHO = np.repeat(np.arange(len(GROUPS)), [group.people for group in GROUPS.values()])
JOINED = np.array([group.joined for group in GROUPS.values()])[WHO]
# The class that hardly anybody else has, and how often it comes to the others.
RARE, RARE_CLASS_RATE = 9, 0.1


class Sharing(NamedTuple):
    """Settings of weights and payment, and whether floors are used.

    The floors are the minimum r of newcomers and the minimum for rows of inconclusive contributors.
    """

    rules: PayoutRules
    recipe: Recipe
    floor: bool = True


ALL_KEPT = Sharing(PayoutRules(), replace(RECIPES["multiplicative"], keep=1.0))
BELIEF = Sharing(PayoutRules("p_correct"), RECIPES["evidence"])
SHARING_RULES = {
    "equal": Sharing(PayoutRules("equal"), RECIPES["uniform"]),
    "product": Sharing(PayoutRules(), RECIPES["multiplicative"]), "product, all kept": ALL_KEPT,
    "product, all kept, no floor": ALL_KEPT._replace(floor=False),
    "p_correct": BELIEF, "p_correct, no floor": BELIEF._replace(floor=False),
    "p_correct, no cap": BELIEF._replace(rules=replace(BELIEF.rules, newcomer_cap=UNIT)),
}  # fmt: skip


def run_trial(at: TrialContext, methods: list[str]) -> Found:
    """Rows of all ways for one group."""
    result = simulate(at.experiment.seed, at.trial)
    return [(way, result[way][at.setting.dataset]) for way in methods]


@lru_cache(maxsize=32)
def simulate(seed: int, trial: int) -> dict[str, dict[str, Measured]]:
    """Measures of every way, of every group; one simulation serves the rows of all groups."""
    rng = random_stream(seed, trial, "fairness", "digits")
    case, people, round_of = _labels(rng)
    events = [_before(person, rng) for person in range(len(WHO))]
    got: dict[str, list[Array]] = {way: [] for way in SHARING_RULES}
    for number in range(N_ROUNDS):
        so_far = round_of <= number
        part, now = case.part(so_far), round_of[so_far] == number
        result, right, contributor = (
            run_assessment(replace(part.seen, seed=seed + trial)),
            part.right,
            people[so_far],
        )
        worth = np.bincount(contributor[now], right[now], len(WHO)) / right[now].sum()
        for way, each in SHARING_RULES.items():
            rule = ReputationRule() if each.floor else NO_FLOOR
            r = np.array(
                [
                    track_record_r(
                        events[person], BEFORE + number, number - joined if joined else BEFORE + number, rule
                    )
                    for person, joined in enumerate(JOINED)
                ]
            )
            got[way].append(np.stack([worth, *_shared(each, result, contributor, now, r)]))
        for person in np.unique(contributor):
            own = now & (contributor == person)
            estimates = float(result.belief.p_correct[own].mean())
            events[person].append(_event(number, right[own], estimates, rng))
    return {way: _measures(np.stack(each)) for way, each in got.items()}


def _labels(rng: np.random.Generator) -> tuple[Case, Ints, Ints]:
    """Digits as features and labels; the number of each row's contributor, and its round.

    One group has one class that others hardly have, another sees all of them turned.
    """
    data = load_dataset("digits")
    common = rng.uniform(size=len(data.y)) < np.where(data.y == RARE, RARE_CLASS_RATE, 1.0)
    there = [(n, person) for n in range(N_ROUNDS) for person in range(len(WHO)) if n >= JOINED[person]]
    parts = []
    for number, person in there:
        name, group = list(GROUPS.items())[WHO[person]]
        drawn = rng.choice(np.flatnonzero(data.y == RARE if name == "class" else common), group.labels)
        wrong = rng.uniform(size=group.labels) >= group.right
        y = attacks.flip_labels(data.y[drawn], wrong, 10, rng)
        pictures = data.x[drawn].reshape(-1, 8, 8) / 16
        x = np.rot90(pictures, int(name == "region"), (1, 2)).reshape(-1, 64)
        parts.append((x, y, np.full_like(y, person), np.full_like(y, number), wrong))
    x, y, contributor, when, wrong = (np.concatenate(part) for part in zip(*parts, strict=True))
    # Names in the order of their numbers, as verdicts come back in the order of names.
    return (
        Case(MethodInput(x, y, 10, np.char.zfill(contributor.astype(str), 3)), GroundTruth(wrong=wrong)),
        contributor,
        when,
    )


def _before(person: int, rng: np.random.Generator) -> list[ReputationEvent]:
    """Twenty rounds on record, of those who were there."""
    group = list(GROUPS.values())[WHO[person]]
    right = rng.uniform(size=(BEFORE, group.labels)) < group.right
    return [] if group.joined else [_event(n - BEFORE, r, None, rng) for n, r in enumerate(right)]


def _event(number: int, right: Bools, p_correct: float | None, rng: np.random.Generator) -> ReputationEvent:
    """Create the reputation event of a batch: from its checked labels, else from its estimated quality."""
    checked = right[rng.uniform(size=len(right)) < CHECKED]
    if len(checked):
        return reputation_event(BEFORE + number, float(checked.mean()))
    return reputation_event(
        BEFORE + number, float(right.mean()) if p_correct is None else p_correct, "held-out"
    )


def _shared(
    way: Sharing, result: Assessment, contributor: Ints, now: Bools, r: Floats
) -> tuple[Floats, Floats]:
    """Share of everybody in the weight and in the pool of a round."""
    weighting = compute_sample_weights(
        replace(result.signals, r=r[contributor], given=frozenset({"q", "r"})), way.recipe
    )
    people, p_correct = result.belief.contributors, result.belief.p_correct
    assert people is not None
    verdict = np.array(people.verdict)[np.unique(contributor, return_inverse=True)[1]]
    exempt = (verdict == INCONCLUSIVE) & way.floor & (way.rules.weight == "p_correct")
    ones = np.ones(len(contributor))
    columns = {"q": result.signals.q, "p_correct": p_correct, "r": r[contributor], "v": ones, "t": ones}
    units = row_weights(way.rules.weight, {**columns, "kept": weighting.kept | exempt})
    trusted = np.isin(verdict, [RELIABLE, LESS_RELIABLE])
    average = round(float(np.mean(p_correct[trusted] if trusted.any() else p_correct)) * UNIT)
    units = np.where(exempt, np.maximum(units, average), units)
    claims = {
        f"{person:03d}": {"units": int(units[own].sum()), "counted": int(own.sum()), "multiplier": UNIT,
                          "newcomer": bool(JOINED[person])}
        for person in range(len(WHO))
        for own in [now & (contributor == person)]
    }  # fmt: skip
    paid = payout_fractions(claims, way.rules)
    weight = np.bincount(contributor[now], (weighting.w * weighting.kept)[now], len(WHO))
    return weight / weight.sum(), np.array([float(paid[name]) for name in claims])


def _measures(got: Array) -> dict[str, Measured]:
    """Of rounds (rounds, 3, people): shares in weight and pay in percent of the share in what is right."""
    result = {}
    for at, (name, group) in enumerate(GROUPS.items()):
        worth, weight, pay = got[group.joined :, :, at == WHO].sum(axis=2).T
        total, first, last = worth.sum(), pay[0] / worth[0], pay[-1] / worth[-1]
        each = {
            "weight": weight.sum() / total, "pay": pay.sum() / total, "pay_first": first, "pay_last": last,
            "share": pay.mean(),
        }  # fmt: skip
        result[name] = {metric: 100 * float(value) for metric, value in each.items()}
    return result
