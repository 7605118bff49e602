"""Fairness by group: labels as described, and shares of weight and pool worked out by hand."""

from types import SimpleNamespace

import numpy as np
import pytest

from anml.annotators.words import CONTRADICTS, INCONCLUSIVE, RELIABLE
from anml.core.types import Signals
from anml.signals.track_record import ReputationRule
from experiments.kinds import KINDS, MEASURES
from experiments.longitudinal import fairness
from experiments.longitudinal.fairness import GROUPS, JOINED, N_ROUNDS, RARE, SHARING_RULES, WHO
from experiments.longitudinal.simulate import NO_FLOOR, track_record_r
from experiments.spec import list_experiments

pytestmark = pytest.mark.slow

FAIRNESS = list_experiments("beyond")["fairness"]
PEOPLE = len(WHO)


def of_group(name: str) -> np.ndarray:
    return np.flatnonzero(list(GROUPS).index(name) == WHO)


def test_the_kind_runs_and_measures_these():
    assert list(KINDS["fairness"].data) == list(GROUPS) == FAIRNESS.vary["dataset"]
    assert list(KINDS["fairness"].peers) == list(SHARING_RULES) == list(FAIRNESS.peers)
    assert set(FAIRNESS.metrics) == set(MEASURES["fairness"])


def test_groups_are_as_described():
    case, contributor, when = fairness._labels(np.random.default_rng(0))
    y, right = case.seen.y, case.right
    assert case.seen.x.shape == (len(y), 64)
    for name, group in GROUPS.items():
        mine = np.isin(contributor, of_group(name))
        assert set(when[mine]) == set(range(group.joined, N_ROUNDS))
        assert mine.sum() == group.people * group.labels * (N_ROUNDS - group.joined)
        assert right[mine].mean() == pytest.approx(group.right, abs=0.12)
    own = np.isin(contributor, of_group("class"))
    assert (y[own & right] == RARE).all()
    assert (y[~own & right] == RARE).mean() < 0.03


def found(p_correct: np.ndarray, verdict: list[str]):
    """Return the assessment of contributors with one row each."""
    signals = Signals.of(np.ones(len(p_correct)), contributor=np.arange(len(p_correct)))
    people = SimpleNamespace(verdict=verdict)
    belief = SimpleNamespace(p_correct=p_correct, contributors=people)
    return SimpleNamespace(
        signals=signals.__class__(**{**vars(signals), "p_correct": p_correct}), belief=belief
    )


def shares(way: str, p_correct: list[float], verdict: list[str]) -> np.ndarray:
    """Of the first, established people."""
    contributor, now = np.arange(len(p_correct)), np.ones(len(p_correct), dtype=bool)
    known = found(np.array(p_correct), verdict)
    return fairness._shared(SHARING_RULES[way], known, contributor, now, np.full(PEOPLE, 0.5))[1][
        : len(p_correct)
    ]


def test_the_pool_is_shared_by_the_rules_of_settlement():
    verdict = [RELIABLE, RELIABLE, CONTRADICTS]
    assert shares("equal", [0.9, 0.9, 0.1], verdict) == pytest.approx([1 / 3] * 3)
    assert shares("p_correct", [0.9, 0.6, 0.1], verdict) == pytest.approx([0.6, 0.4, 0])
    assert shares("product, all kept", [0.9, 0.9, 0.1], verdict) == pytest.approx([1 / 3] * 3)


def test_of_whom_nothing_can_be_told_is_paid_as_average_while_the_floor_is_on():
    verdict = [RELIABLE, RELIABLE, INCONCLUSIVE]
    assert shares("p_correct", [0.9, 0.6, 0.1], verdict) == pytest.approx([0.4, 0.6 / 2.25, 0.75 / 2.25])
    assert shares("p_correct, no floor", [0.9, 0.6, 0.1], verdict) == pytest.approx([0.6, 0.4, 0])


@pytest.mark.parametrize(("floor", "r"), [(True, 0.4), (False, 0.1)])
def test_the_floor_lifts_r_of_newcomers_who_did_badly(floor, r):
    events = [fairness._event(n, np.zeros(300, dtype=bool), None, np.random.default_rng(0))
              for n in range(2, 6)]  # fmt: skip
    rule = ReputationRule() if floor else NO_FLOOR
    found_r = track_record_r(events, fairness.BEFORE + 6, 4, rule)
    assert found_r == pytest.approx(r, abs=0.15)
    assert (found_r >= 0.4) == floor


def test_measures_by_hand():
    """Everybody gets what they are worth, but for the pool's half that goes to one group."""
    worth = np.full(PEOPLE, 1 / PEOPLE)
    pay = worth.copy()
    pay[of_group("class")] *= 2
    got = np.stack([np.stack([worth, worth, pay])] * N_ROUNDS)
    measured = fairness._measures(got)
    assert measured["class"]["pay"] == pytest.approx(200)
    assert measured["class"]["share"] == pytest.approx(100 * 2 * 2 / PEOPLE)
    for name in ("small", "newcomers"):
        assert measured[name]["pay"] == pytest.approx(100)
        assert measured[name]["weight"] == measured[name]["pay_last"] == pytest.approx(100)
    assert JOINED.max() < N_ROUNDS


def test_one_assessment_a_round_serves_all_ways_and_all_groups(monkeypatch):
    asked = []

    def once(inputs):
        asked.append(len(inputs.y))
        people = SimpleNamespace(verdict=[RELIABLE] * len(inputs.rows))
        known = found(np.full(len(inputs.y), 0.9), people.verdict)
        known.belief.contributors = people
        return known

    monkeypatch.setattr(fairness, "run_assessment", once)
    fairness.simulate.cache_clear()
    simulated = fairness.simulate(123, 0)
    assert len(asked) == N_ROUNDS
    assert asked == sorted(asked)
    assert {*simulated} == {*SHARING_RULES}
    assert all({*each} == {*GROUPS} for each in simulated.values())
    fairness.simulate(123, 0)
    assert len(asked) == N_ROUNDS
    fairness.simulate.cache_clear()
