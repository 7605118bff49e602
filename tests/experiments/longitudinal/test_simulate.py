"""Reputation over rounds: rules by hand, and what each makes of those who change."""

import pytest

from anml.signals.track_record import DAY, ReputationEvent
from experiments.kinds import MEASURES
from experiments.longitudinal.simulate import (
    CHANGE_ROUND,
    DETECTION_THRESHOLD,
    N_ROUNDS,
    RULES,
    WEEK,
    Account,
    Person,
    _measures,
    _until_found,
    reputation,
    simulate,
)

pytestmark = pytest.mark.slow


def test_turncoats_are_found_by_who_looks_and_not_by_who_does_not():
    result = {rule: simulate("turncoats", rule, 0, 0) for rule in ("as given", "ledger", "Kang")}
    assert result["as given"]["found"] == 25
    assert result["Kang"]["found"] < result["as given"]["found"]
    assert result["ledger"]["harm"] < result["as given"]["harm"]


@pytest.mark.parametrize("rule", RULES)
def test_the_same_seed_gives_the_same(rule):
    assert str(simulate("whitewashers", rule, 1, 0)) == str(simulate("whitewashers", rule, 1, 0))


def account(skill=lambda number: 1.0, **more) -> Account:
    return Account(Person(skill, **more))


def test_rules_that_do_not_learn_by_hand():
    assert reputation(account(), "uniform", 5) == 1.0
    assert reputation(account(), "as given", 5) == 0.8
    # Who joins later, or under a new name, is given what somebody new is given.
    assert reputation(account(joined=3), "as given", 5) == 0.4
    assert reputation(account(), "Kang", 5) == 0.5


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule not in ("uniform", "as given")])
def test_rules_that_learn_believe_the_good_more_than_the_bad(rule):
    def learned(quality: float) -> float:
        made = account()
        for number in range(12):
            made.events.append(ReputationEvent(number * WEEK * DAY, quality, "gold", f"round {number}"))
            made.good.append(quality)
        return reputation(made, rule, 12)

    assert 0 <= learned(0.1) < learned(0.95) <= 1


def test_the_floor_holds_for_the_first_batches_and_only_with_it():
    made = account()
    made.events.append(ReputationEvent(0.0, 0.0, "gold", "round 0"))
    made.events.append(ReputationEvent(WEEK * DAY, 0.0, "gold", "round 1"))
    assert reputation(made, "ledger", 2) == 0.4
    assert reputation(made, "ledger, no floor", 2) < 0.4


def test_how_long_it_takes_to_be_found_by_hand():
    turned = account(lambda number: 1.0 if number < CHANGE_ROUND else 0.2, good=False)
    turned.r = {
        number: 0.9 if number < CHANGE_ROUND + 4 else DETECTION_THRESHOLD - 0.01 for number in range(N_ROUNDS)
    }
    assert _until_found(turned) == 4
    turned.r = dict.fromkeys(range(N_ROUNDS), 0.9)
    assert _until_found(turned) == N_ROUNDS - CHANGE_ROUND
    assert _until_found(account()) == N_ROUNDS - CHANGE_ROUND


def test_measures_by_hand():
    """One honest at r = 1 and one bad at r = 0.5, of as many labels: a third is paid to the bad."""
    good, bad = account(), account(lambda number: 0.2, changed=True, good=False)
    for made, r in ((good, 1.0), (bad, 0.5)):
        made.r = dict.fromkeys(range(N_ROUNDS), r)
    result = _measures([good, bad], [10.0] * N_ROUNDS, [20.0] * N_ROUNDS)
    assert set(MEASURES["longitudinal"]) - set(result) == {"start"}
    assert (result["error"], result["harm"], result["honest_low"]) == (10, 20, 0)
    assert result["paid_bad"] == pytest.approx(100 / 3)
    # 1 of 1 and 0.5 of 0.2: off by 0 and by 0.3.
    assert result["off"] == pytest.approx(0.15)
