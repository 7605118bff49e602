"""Accounts of every scenario: rounds and accuracy."""

import numpy as np
import pytest

from experiments.longitudinal.simulate import (
    BAD,
    CARELESS,
    CHANGE_ROUND,
    HONEST,
    N_ROUNDS,
    OTHERS,
    SCENARIO,
    SCENARIOS,
    Account,
    Person,
    _new_identity,
    population,
)

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_people_of_every_scenario(scenario):
    people = population(scenario, np.random.default_rng(0))
    assert sum(person.changed for person in people) == 6
    bad = [person for person in people if not person.good]
    assert all(person.skill(39) < 0.6 for person in bad)
    if scenario in ("turncoats", "drift"):
        assert all(person.skill(CHANGE_ROUND - 1) > 0.8 for person in bad)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_everybody_is_right_between_never_and_always_and_honest_ones_mostly(scenario):
    people = population(scenario, np.random.default_rng(0))
    assert len(people) == HONEST + OTHERS
    for person in people:
        skills = [person.skill(number) for number in range(N_ROUNDS)]
        assert 0 <= min(skills) <= max(skills) <= 1
        if person.good:
            assert min(skills) >= 1 - CARELESS


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_same_seed_gives_the_same_people(scenario):
    one, two = (population(scenario, np.random.default_rng(5)) for _ in range(2))
    for a, b in zip(one, two, strict=True):
        assert (a.joined, a.left, a.changed, a.good) == (b.joined, b.left, b.changed, b.good)
        assert [a.skill(n) for n in range(N_ROUNDS)] == [b.skill(n) for n in range(N_ROUNDS)]


def test_an_account_is_there_from_when_it_joins_until_it_leaves():
    person = Person(lambda number: 1.0, joined=3, left=5)
    assert [number for number in range(8) if person.there(number)] == [3, 4]


def test_each_scenario_by_its_description():
    assert SCENARIO["newcomers"](0, 0.9).joined == CHANGE_ROUND
    turncoat = SCENARIO["turncoats"](0, 0.9)
    assert (turncoat.skill(CHANGE_ROUND - 1) > 0.85, turncoat.skill(CHANGE_ROUND)) == (True, BAD)
    drift = SCENARIO["drift"](0, 0.9)
    course = [drift.skill(number) for number in range(N_ROUNDS + 1)]
    assert course == sorted(course, reverse=True)
    assert (course[CHANGE_ROUND], course[N_ROUNDS]) == (0.95, pytest.approx(BAD))
    sybils = [SCENARIO["sybils"](place, 0.9) for place in range(OTHERS)]
    assert [person.joined for person in sybils] == [0, 4, 8, 12, 16, 20]
    assert all(person.left - person.joined == 16 for person in sybils)
    assert SCENARIO["whitewashers"](0, 0.9).leaves_below > 0


def test_a_whitewasher_comes_back_as_they_were_under_a_new_name():
    old = SCENARIO["whitewashers"](0, 0.9)
    new = _new_identity(Account(old), 6).person
    assert (old.left, new.joined, new.left) == (7, 7, N_ROUNDS)
    assert (new.leaves_below, new.good) == (old.leaves_below, False)
    assert new.skill(9) == old.skill(9)
