"""Who contributes when, and how well: newcomers, turncoats, whitewashers, sybils, drift."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

ROUNDS, HONEST, OTHERS = 40, 16, 6
# When things change, how often honest ones err at most, and how often the bad are right.
TURN, CARELESS, BAD = 15, 0.1, 0.25


@dataclass
class Person:
    """One account: from when on it is there, how often it is right in each round, and whose it is.

    `changed` marks accounts that the scenario is about; `good` accounts are honest all along.
    """

    skill: Callable[[int], float]
    joined: int = 0
    left: int = ROUNDS
    changed: bool = False
    good: bool = True
    leaves_below: float = 0.0
    born: int = field(default=0)

    def there(self, number: int) -> bool:
        """Whether the account contributes in a round."""
        return self.joined <= number < self.left


def _steady(skill: float) -> Callable[[int], float]:
    return lambda number: skill


def population(scenario: str, rng: np.random.Generator) -> list[Person]:
    """Everybody at the start of a scenario."""
    people = [Person(_steady(1 - CARELESS * rng.uniform())) for _ in range(HONEST)]
    return people + [SCENARIO[scenario](place, rng) for place in range(OTHERS)]


def _newcomer(place: int, rng: np.random.Generator) -> Person:
    return Person(_steady(1 - CARELESS * rng.uniform()), joined=TURN, changed=True)


def _turncoat(place: int, rng: np.random.Generator) -> Person:
    before = 1 - CARELESS * rng.uniform()
    return Person(lambda number: before if number < TURN else BAD, changed=True, good=False)


def _whitewasher(place: int, rng: np.random.Generator) -> Person:
    return Person(_steady(BAD), changed=True, good=False, leaves_below=0.35)


def _sybil(place: int, rng: np.random.Generator) -> Person:
    """One account after another, each for eight rounds."""
    first = 4 * place
    return Person(_steady(BAD), joined=first, left=first + 16, changed=True, good=False)


def _drifting(place: int, rng: np.random.Generator) -> Person:
    """Right less and less often from the turn on."""
    return Person(
        lambda number: 0.95 - (0.95 - BAD) * float(np.clip((number - TURN) / (ROUNDS - TURN), 0, 1)),
        changed=True, good=False,
    )  # fmt: skip


def _honest(place: int, rng: np.random.Generator) -> Person:
    return Person(_steady(1 - CARELESS * rng.uniform()), changed=True)


SCENARIO: dict[str, Callable[[int, np.random.Generator], Person]] = {
    "honest": _honest,
    "newcomers": _newcomer,
    "turncoats": _turncoat,
    "whitewashers": _whitewasher,
    "sybils": _sybil,
    "drift": _drifting,
}
SCENARIOS = tuple(SCENARIO)


def reborn(person: Person, number: int) -> Person:
    """A whitewasher under a new name."""
    return Person(
        person.skill, joined=number, changed=True, good=False, leaves_below=person.leaves_below, born=number
    )
