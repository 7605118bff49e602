"""Who contributes when, and how well: newcomers, turncoats, whitewashers, sybils, drift."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

ROUNDS, HONEST, OTHERS = 40, 16, 6
# When things change, how often honest ones err at most, and how often the bad are right.
TURN, CARELESS, BAD = 15, 0.1, 0.25


@dataclass
class Person:
    """One account: how often it is right in each round, and from when to when it is there.

    `changed` marks accounts that the scenario is about; `good` accounts are honest all along.
    """

    skill: Callable[[int], float]
    joined: int = 0
    left: int = ROUNDS
    changed: bool = False
    good: bool = True
    leaves_below: float = 0.0
    born: int = 0

    def there(self, number: int) -> bool:
        """Whether the account contributes in a round."""
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
    return 0.95 - (0.95 - BAD) * float(np.clip((number - TURN) / (ROUNDS - TURN), 0, 1))


_changed, _bad = partial(Person, changed=True), partial(Person, changed=True, good=False)
# The others of each scenario, by their place and how careful an honest one would be.
SCENARIO: dict[str, Callable[[int, float], Person]] = {
    "honest": lambda place, skill: _changed(_steady(skill)),
    "newcomers": lambda place, skill: _changed(_steady(skill), joined=TURN),
    "turncoats": lambda place, skill: _bad(lambda number: skill if number < TURN else BAD),
    "whitewashers": lambda place, skill: _bad(_steady(BAD), leaves_below=0.35),
    # One account after another, each for sixteen rounds.
    "sybils": lambda place, skill: _bad(_steady(BAD), joined=4 * place, left=4 * place + 16),
    "drift": lambda place, skill: _bad(_drifting),
}
SCENARIOS = tuple(SCENARIO)


def reborn(person: Person, number: int) -> Person:
    """A whitewasher under a new name."""
    return replace(person, joined=number, left=ROUNDS, born=number)
