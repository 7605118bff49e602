"""Reputation over many rounds, on handwritten digits, by accounts that come and change.

r is learned by a rule from what a model of the rounds before thinks of labels (internal evidence) and from
one checked label in ten (external), and weighs the labels of the round: both train each other, or fail to.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from anml.core.checks import Array, Floats, Ints
from anml.signals.reputation import ColdStart
from anml.signals.track_record import DAY, ReputationEvent, ReputationRule, apply_newcomer_floor, replay
from experiments import attacks
from experiments.data import load_dataset
from experiments.measures import Measured, of_test, percent, weight_on_wrong
from experiments.seen import Case, GroundTruth, MethodInput
from experiments.spec import Found, TrialContext
from experiments.valuation.kang import kang

N_ROUNDS, HONEST, OTHERS = 40, 16, 6
# When things change, how often honest ones err at most, and how often the bad are right.
CHANGE_ROUND, CARELESS, BAD = 15, 0.1, 0.25
RULES = (
    "uniform", "as given", "internal", "external", "ledger", "ledger, no floor", "ledger, faster", "Kang",
)  # fmt: skip
# Images that each account labels in a round, the share of labels that is checked, and days between rounds.
LABELS, CHECKED, WEEK = 10, 0.1, 7
RIDGE, TEST = 5.0, 500
# r below this has been found out: the level of somebody new.
DETECTION_THRESHOLD = 0.4


@dataclass
class Person:
    """One account: how often it is right in each round, and from when to when it is there.

    `changed` marks accounts that the scenario is about; `good` accounts are honest all along.
    """

    skill: Callable[[int], float]
    joined: int = 0
    left: int = N_ROUNDS
    changed: bool = False
    good: bool = True
    leaves_below: float = 0.0

    def there(self, number: int) -> bool:
        """True if the account contributes in a round."""
        return self.joined <= number < self.left


def population(scenario: str, rng: np.random.Generator) -> list[Person]:
    """Everybody at the start of a scenario."""
    skills = 1 - CARELESS * rng.uniform(size=HONEST + OTHERS)
    others = [SCENARIO[scenario](place, skill) for place, skill in enumerate(skills[HONEST:])]
    return [*(Person(_steady(skill)) for skill in skills[:HONEST]), *others]


def _steady(skill: float) -> Callable[[int], float]:
    return lambda number: skill


def _drifting(number: int) -> float:
    """Right less and less often from the turn on."""
    return 0.95 - (0.95 - BAD) * float(np.clip((number - CHANGE_ROUND) / (N_ROUNDS - CHANGE_ROUND), 0, 1))


_changed, _bad = partial(Person, changed=True), partial(Person, changed=True, good=False)
# The others of each scenario, by their place and how careful an honest one would be.
SCENARIO: dict[str, Callable[[int, float], Person]] = {
    "honest": lambda place, skill: _changed(_steady(skill)),
    "newcomers": lambda place, skill: _changed(_steady(skill), joined=CHANGE_ROUND),
    "turncoats": lambda place, skill: _bad(lambda number: skill if number < CHANGE_ROUND else BAD),
    "whitewashers": lambda place, skill: _bad(_steady(BAD), leaves_below=0.35),
    # One account after another, each for sixteen rounds.
    "sybils": lambda place, skill: _bad(_steady(BAD), joined=4 * place, left=4 * place + 16),
    "drift": lambda place, skill: _bad(_drifting),
}
SCENARIOS = tuple(SCENARIO)


@dataclass
class Account:
    """History of an account: events, share of good events, and r by round."""

    person: Person
    events: list[ReputationEvent] = field(default_factory=list)
    good: list[float] = field(default_factory=list)
    r: dict[int, float] = field(default_factory=dict)


def run_trial(at: TrialContext, methods: list[str]) -> Found:
    """Rows of all rules in one scenario."""
    return [(rule, simulate(at.setting.dataset, rule, at.experiment.seed, at.trial)) for rule in methods]


def simulate(scenario: str, rule: str, seed: int, trial: int) -> Measured:
    """Measures of one rule in one scenario; all rules of a trial see the same people and images."""
    world = World(np.random.default_rng([seed, trial, 1]))
    rng = np.random.default_rng([seed, trial, 2])
    accounts = [Account(person) for person in population(scenario, np.random.default_rng([seed, trial, 3]))]
    errors, on_wrong = [], []
    for number in range(N_ROUNDS):
        here = [account for account in accounts if account.person.there(number)]
        batches = [world.labelled(account.person.skill(number), rng) for account in here]
        for account in here:
            account.r[number] = reputation(account, rule, number)
        calls = [world.agrees(batch.seen) for batch in batches]
        for account, batch, agrees in zip(here, batches, calls, strict=True):
            _learn(account, rule, number, agrees, batch.right, rng)
            world.add(batch.seen, account.r[number])
        weight = np.repeat([account.r[number] for account in here], LABELS)
        on_wrong.append(weight_on_wrong(weight, np.concatenate([batch.wrong for batch in batches])))
        errors.append(world.error())
        if number < N_ROUNDS - 1:
            accounts += [_new_identity(a, number) for a in here if a.r[number] < a.person.leaves_below]
    return _measures(accounts, errors, on_wrong)


class World:
    """Images, their right classes, and the model so far: sums over weighted rows."""

    def __init__(self, rng: np.random.Generator) -> None:
        data = load_dataset("digits")
        order = rng.permutation(len(data.y))
        x, y = np.column_stack([np.ones(len(data.y)), data.x / 16.0])[order], data.y[order]
        self.case = Case(MethodInput(x[TEST:], y[TEST:], 10), GroundTruth(x[:TEST], y[:TEST], y[TEST:]))
        self.fresh()

    def fresh(self) -> "World":
        """The same images, before the first label."""
        width = self.case.seen.x.shape[1]
        self.moments, self.products = RIDGE * np.eye(width), np.zeros((width, 10))
        self.rows = 0.0
        self._fitted: Floats | None = None
        return self

    def labelled(self, skill: float, rng: np.random.Generator) -> Case:
        """Some images, and labels that are right so often; wrong ones are any other class."""
        batch = self.case.part(rng.integers(0, len(self.case.seen.y), LABELS))
        wrong = rng.uniform(size=LABELS) >= skill
        y = attacks.flip_labels(batch.truth.y, wrong, 10, rng)
        return Case(replace(batch.seen, y=y), replace(batch.truth, wrong=wrong))

    def predict(self, x: Floats) -> Ints:
        """Classes by the model of the rounds before."""
        if self._fitted is None:
            self._fitted = np.asarray(np.linalg.solve(self.moments, self.products), dtype=np.float64)
        return np.asarray((x @ self._fitted).argmax(axis=1))

    def agrees(self, inputs: MethodInput) -> float | None:
        """Share of labels that the model of the rounds before predicts; None before there is one."""
        return None if self.rows < 200 else float((self.predict(inputs.x) == inputs.y).mean())

    def add(self, inputs: MethodInput, weight: float) -> None:
        """Learn from some labels."""
        self.moments = self.moments + weight * inputs.x.T @ inputs.x
        np.add.at(self.products.T, inputs.y, weight * inputs.x)
        self.rows += weight * len(inputs.y)
        self._fitted = None

    def error(self) -> float:
        """Test error in percent."""
        return of_test(self.case, self.predict)["error"]


def reputation(account: Account, rule: str, number: int) -> float:
    """R of an account before a round, by a rule."""
    if rule == "uniform":
        return 1.0
    if rule == "as given":
        return 0.8 if account.person.joined == 0 else 0.4
    if rule == "Kang":
        if not account.good:
            return 0.5
        good = np.array(account.good)[:, None]
        return float(kang(good, 1 - good)[0])
    return track_record_r(
        account.events, number, number - account.person.joined, TRACKS.get(rule, ReputationRule())
    )


NO_FLOOR = replace(ReputationRule(), floor=ColdStart(0.4, 0))
TRACKS = {
    # Less doubt at the start, a month's half-life for weekly work, and a smaller drop counts double.
    "ledger, faster": replace(ReputationRule(), kappa=0.5, half_life_days=30.0, drop=0.1),
    # The floor holds for the first ten batches.
    "ledger, no floor": NO_FLOOR,
}


def track_record_r(events: list[ReputationEvent], number: int, since: int, rule: ReputationRule) -> float:
    """R before a round, of an account that came so many rounds ago: the ledger's rule, with its floor."""
    return apply_newcomer_floor(replay(events, number * WEEK * DAY, rule).r, since, since * WEEK, rule=rule)


def reputation_event(number: int, quality: float, source: str = "gold") -> ReputationEvent:
    """Create the reputation event of the batch of a round."""
    return ReputationEvent((number + 0.5) * WEEK * DAY, quality, source, f"round {number}")


def _learn(
    account: Account, rule: str, number: int, agrees: float | None, right: Array, rng: np.random.Generator
) -> None:
    """Events of a round: what the model says of the batch, and one label in ten that is checked."""
    checked = right[rng.uniform(size=len(right)) < CHECKED]
    inputs = None if rule in ("external", "uniform", "as given") else agrees
    # One batch counts once, whatever scores it: a check says more than the model, and takes its place.
    if rule.startswith(("external", "ledger")) and len(checked):
        account.events.append(reputation_event(number, float(checked.mean())))
    elif inputs is not None:
        account.events.append(reputation_event(number, inputs, "held-out"))
    if inputs is not None:
        account.good.append(inputs)


def _new_identity(account: Account, number: int) -> Account:
    """A new account of somebody who leaves a bad name behind."""
    account.person.left = number + 1
    return Account(replace(account.person, joined=number + 1, left=N_ROUNDS))


def _measures(accounts: list[Account], errors: list[float], on_wrong: list[float]) -> Measured:
    changed = [a for a in accounts if a.person.changed]
    good = [a for a in accounts if a.person.good]
    turned = [_until_found(a) for a in changed if not a.person.good]
    off = [abs(r - a.person.skill(n)) for a in accounts for n, r in a.r.items() if n >= 5]
    late = [r < DETECTION_THRESHOLD for a in good for n, r in a.r.items() if n - a.person.joined >= 10]
    paid = [(r, _is_bad(a, n)) for a in accounts for n, r in a.r.items()]
    result = {
        "error": float(np.mean(errors[-5:])), "harm": float(np.mean(on_wrong[CHANGE_ROUND:])),
        "off": float(np.mean(off)), "honest_low": percent(late),
        "paid_bad": weight_on_wrong(*(np.array(part) for part in zip(*paid, strict=True))),
    }  # fmt: skip
    if turned:
        result["found"] = float(np.mean(turned))
    first = [r for a in changed for n, r in a.r.items() if a.person.joined and n - a.person.joined < 10]
    others = [r for a in good if not a.person.joined for n, r in a.r.items() if n >= CHANGE_ROUND]
    if first and others:
        result["start"] = 100 * float(np.mean(first) / np.mean(others))
    return result


def _is_bad(account: Account, number: int) -> bool:
    return account.person.skill(number) < 0.6


def _until_found(account: Account) -> float:
    """Rounds from turning bad until r is that of somebody new; until the end where it never is."""
    bad = [n for n in sorted(account.r) if _is_bad(account, n)]
    if not bad:
        return float(N_ROUNDS - CHANGE_ROUND)
    low = [n for n in bad if account.r[n] < DETECTION_THRESHOLD]
    return float((low[0] if low else bad[-1] + 1) - bad[0])
