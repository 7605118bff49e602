"""Who gets what they are worth: weight and pay of groups that are easily underrated, round by round.

Worth is a group's share of the right labels of a round. All labels so far are assessed once a round; the
rules of settlement share the pool of the round by what was found.
"""

from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from anml.assess.assess import Assessment
from anml.core import attacks
from anml.core.checks import Array, Bools, Floats, Ints
from anml.core.domain import Recipe
from anml.core.people.words import LESS, RELIABLE, UNSURE
from anml.core.settle import UNIT, Rules, average_row, row_units, shares
from anml.core.signals.track_record import Scored, TrackRule
from anml.core.weigh import RECIPES, weigh_signals
from anml.lab.belief import assessed
from anml.lab.data import load_dataset
from anml.lab.longitudinal.simulate import CHECKED, NO_FLOOR, earned, event
from anml.lab.measures import Measured
from anml.lab.seen import Case, Seen, Truth
from anml.lab.spec import At, Found, stream

ROUNDS, BEFORE = 6, 20


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
RARE, SELDOM = 9, 0.1


class Sharing(NamedTuple):
    """How rows are weighed and the pool is shared, and whether floors are on.

    There is one for r of newcomers, and one for the rows of whom nothing can be told.
    """

    rules: Rules
    recipe: Recipe
    floor: bool = True


ALL_KEPT = Sharing(Rules(), replace(RECIPES["multiplicative"], keep=1.0))
BELIEF = Sharing(Rules("p_correct"), RECIPES["evidence"])
WAYS = {
    "equal": Sharing(Rules("equal"), RECIPES["uniform"]),
    "product": Sharing(Rules(), RECIPES["multiplicative"]), "product, all kept": ALL_KEPT,
    "product, all kept, no floor": ALL_KEPT._replace(floor=False),
    "p_correct": BELIEF, "p_correct, no floor": BELIEF._replace(floor=False),
    "p_correct, no cap": BELIEF._replace(rules=replace(BELIEF.rules, newcomer_cap=UNIT)),
}  # fmt: skip


def run_trial(at: At, methods: list[str]) -> Found:
    """Rows of all ways for one group."""
    found = simulate(at.experiment.seed, at.trial)
    return [(way, found[way][at.setting.dataset]) for way in methods]


@lru_cache(maxsize=32)
def simulate(seed: int, trial: int) -> dict[str, dict[str, Measured]]:
    """Measures of every way, of every group; one simulation serves the rows of all groups."""
    rng = stream(seed, trial, "fairness", "digits")
    case, people, round_of = _labels(rng)
    events = [_before(person, rng) for person in range(len(WHO))]
    got: dict[str, list[Array]] = {way: [] for way in WAYS}
    for number in range(ROUNDS):
        so_far = round_of <= number
        part, now = case.part(so_far), round_of[so_far] == number
        found, right, who = assessed(replace(part.seen, seed=seed + trial)), part.right, people[so_far]
        worth = np.bincount(who[now], right[now], len(WHO)) / right[now].sum()
        for way, each in WAYS.items():
            rule = TrackRule() if each.floor else NO_FLOOR
            r = np.array([
                earned(events[person], BEFORE + number, number - joined if joined else BEFORE + number, rule)
                for person, joined in enumerate(JOINED)
            ])  # fmt: skip
            got[way].append(np.stack([worth, *_shared(each, found, who, now, r)]))
        for person in np.unique(who):
            own = now & (who == person)
            believed = float(found.belief.p_correct[own].mean())
            events[person].append(_event(number, right[own], believed, rng))
    return {way: _measures(np.stack(each)) for way, each in got.items()}


def _labels(rng: np.random.Generator) -> tuple[Case, Ints, Ints]:
    """Digits as features and labels; the number of each row's contributor, and its round.

    One group has one class that others hardly have, another sees all of them turned.
    """
    data = load_dataset("digits")
    common = rng.uniform(size=len(data.y)) < np.where(data.y == RARE, SELDOM, 1.0)
    there = [(n, person) for n in range(ROUNDS) for person in range(len(WHO)) if n >= JOINED[person]]
    parts = []
    for number, person in there:
        name, group = list(GROUPS.items())[WHO[person]]
        drawn = rng.choice(np.flatnonzero(data.y == RARE if name == "class" else common), group.labels)
        wrong = rng.uniform(size=group.labels) >= group.right
        y = attacks.flip_labels(data.y[drawn], wrong, 10, rng)
        pictures = data.x[drawn].reshape(-1, 8, 8) / 16
        x = np.rot90(pictures, int(name == "region"), (1, 2)).reshape(-1, 64)
        parts.append((x, y, np.full_like(y, person), np.full_like(y, number), wrong))
    x, y, who, when, wrong = (np.concatenate(part) for part in zip(*parts, strict=True))
    # Names in the order of their numbers, as verdicts come back in the order of names.
    return Case(Seen(x, y, 10, np.char.zfill(who.astype(str), 3)), Truth(wrong=wrong)), who, when


def _before(person: int, rng: np.random.Generator) -> list[Scored]:
    """Twenty rounds on record, of those who were there."""
    group = list(GROUPS.values())[WHO[person]]
    right = rng.uniform(size=(BEFORE, group.labels)) < group.right
    return [] if group.joined else [_event(n - BEFORE, r, None, rng) for n, r in enumerate(right)]


def _event(number: int, right: Bools, believed: float | None, rng: np.random.Generator) -> Scored:
    """What is learned of a batch: by the labels that are checked, or by what is believed of it."""
    checked = right[rng.uniform(size=len(right)) < CHECKED]
    if len(checked):
        return event(BEFORE + number, float(checked.mean()))
    return event(BEFORE + number, float(right.mean()) if believed is None else believed, "held-out")


def _shared(way: Sharing, found: Assessment, who: Ints, now: Bools, r: Floats) -> tuple[Floats, Floats]:
    """Share of everybody in the weight and in the pool of a round."""
    weighting = weigh_signals(replace(found.signals, r=r[who], given=frozenset({"q", "r"})), way.recipe)
    people, p_correct = found.belief.contributors, found.belief.p_correct
    assert people is not None
    verdict = np.array(people.verdict)[np.unique(who, return_inverse=True)[1]]
    spared = (verdict == UNSURE) & way.floor & (way.rules.weight == "p_correct")
    ones = np.ones(len(who))
    columns = {"q": found.signals.q, "p_correct": p_correct, "r": r[who], "v": ones, "t": ones}
    units = row_units(way.rules.weight, {**columns, "kept": weighting.kept | spared})
    average = average_row(p_correct, np.isin(verdict, [RELIABLE, LESS]))
    units = np.where(spared, np.maximum(units, average), units)
    claims = {
        f"{person:03d}": {"units": int(units[own].sum()), "counted": int(own.sum()), "multiplier": UNIT,
                          "newcomer": bool(JOINED[person])}
        for person in range(len(WHO))
        for own in [now & (who == person)]
    }  # fmt: skip
    paid = shares(claims, way.rules)
    weight = np.bincount(who[now], (weighting.w * weighting.kept)[now], len(WHO))
    return weight / weight.sum(), np.array([float(paid[name]) for name in claims])


def _measures(got: Array) -> dict[str, Measured]:
    """Of rounds (rounds, 3, people): shares in weight and pay in percent of the share in what is right."""
    found = {}
    for at, (name, group) in enumerate(GROUPS.items()):
        worth, weight, pay = got[group.joined :, :, at == WHO].sum(axis=2).T
        total, first, last = worth.sum(), pay[0] / worth[0], pay[-1] / worth[-1]
        each = {
            "weight": weight.sum() / total, "pay": pay.sum() / total, "pay_first": first, "pay_last": last,
            "share": pay.mean(),
        }  # fmt: skip
        found[name] = {metric: 100 * float(value) for metric, value in each.items()}
    return found
