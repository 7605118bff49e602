"""The reputation rule: the figures of its design, then laws."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anml.core.errors import AnmlError, InputError
from anml.signals.track_record import (
    DAY,
    SOURCES,
    ReputationEvent,
    ReputationRule,
    apply_newcomer_floor,
    replay,
    sort_key,
)


def after(qualities: list[float], at: float = 0.0, source: str = "gold") -> float:
    return replay(
        [ReputationEvent(float(i) * 1e-6, q, source, f"b{i}") for i, q in enumerate(qualities)], at + 1.0
    ).r


@pytest.mark.parametrize(
    ("quality", "expected"),
    [
        (1.0, {1: 0.52, 4: 0.70, 10: 0.83, 20: 0.90, 40: 0.93}),
        (0.9, {1: 0.50, 4: 0.65, 10: 0.76, 20: 0.82, 40: 0.84}),
        (0.8, {1: 0.48, 4: 0.60, 10: 0.69, 20: 0.73, 40: 0.75}),
        (0.3, {1: 0.38, 4: 0.35, 10: 0.33, 20: 0.32, 40: 0.31}),
        (0.0, {1: 0.32, 4: 0.20, 10: 0.11, 20: 0.10, 40: 0.10}),
    ],
)
def test_steady_behaviour_matches_the_design(quality, expected):
    assert {n: round(after([quality] * n), 2) for n in expected} == expected


def test_turning_bad_and_the_way_back_match_the_design():
    good = [1.0] * 60
    assert [round(after(good + [0.0] * n), 2) for n in (1, 5, 10, 15)] == [0.90, 0.69, 0.51, 0.37]
    assert [round(after([0.0] * 20 + [1.0] * n), 2) for n in (10, 20, 40)] == [0.34, 0.51, 0.72]


def test_idle_contributors_drift_back_to_the_start():
    events = [ReputationEvent(0.0, 1.0, "gold", f"b{i}") for i in range(20)]
    now, later = replay(events, 1.0), replay(events, 3650 * DAY)
    assert now.r > 0.89
    assert later.r == pytest.approx(0.4, abs=0.02)
    assert later.high - later.low > now.high - now.low


def test_one_batch_counts_once_however_many_sources_score_it():
    one = replay([ReputationEvent(0.0, 1.0, "gold", "b")], 0.0)
    large = replay(
        [ReputationEvent(0.0, 1.0, source, "b") for source in ("gold", "review", "consensus")] * 50, 0.0
    )
    assert large.good == one.good == 1.0


def test_events_of_the_future_do_not_count_yet():
    assert replay([ReputationEvent(10.0, 1.0, "gold", "b")], 5.0).events == 0


@pytest.mark.parametrize(
    "event",
    [
        ReputationEvent(0.0, 1.5, "gold", "b"),
        ReputationEvent(0.0, 0.5, "weight", "b"),
        ReputationEvent(0.0, 0.5, "gold", "b", 0.0),
    ],
)
def test_bad_events_are_refused(event):
    with pytest.raises((InputError, ValueError)):
        replay([event], 1.0)


@given(
    st.lists(st.tuples(st.floats(0, 1e8), st.floats(0, 1), st.sampled_from(["gold", "review", "held-out"])))
)
def test_order_of_reading_does_not_matter_to_the_last_bit(rows):
    events = [ReputationEvent(at, q, source, f"b{i}") for i, (at, q, source) in enumerate(rows)]
    shuffled = random.Random(0).sample(events, len(events))
    assert replay(events, 1e8) == replay(shuffled, 1e8)


@given(st.lists(st.floats(0, 1), max_size=60), st.floats(0, 1), st.floats(0, 1))
def test_better_work_never_lowers_r_and_r_stays_in_range(history, one, other):
    low, high = sorted((one, other))
    worse, better = after([*history, low]), after([*history, high])
    assert 0.10 <= worse <= better <= 0.95


def test_the_floor_needs_few_contributions_an_age_and_no_flag():
    assert apply_newcomer_floor(0.2, prior=0, age_days=10) == 0.4
    assert apply_newcomer_floor(0.2, prior=10, age_days=10) == 0.2
    assert apply_newcomer_floor(0.2, prior=0, age_days=3.9) == 0.2
    assert apply_newcomer_floor(0.2, prior=0, age_days=10, flagged=True) == 0.2


def test_the_floor_cannot_fire_stage_one_for_self_attested_data():
    rule = ReputationRule()
    assert 0.25 * rule.floor.r_min < 0.35
    assert 0.875 * rule.floor.r_min == pytest.approx(0.35)


class TestSources:
    @pytest.mark.parametrize("source", SOURCES)
    def test_every_source_counts_as_much_as_it_is_worth(self, source):
        result = replay([ReputationEvent(0.0, 1.0, source, "b")], 0.0)
        assert result.good == pytest.approx(SOURCES[source])
        rule = ReputationRule()
        assert result.r == pytest.approx(
            (SOURCES[source] + rule.kappa * rule.r0) / (SOURCES[source] + rule.kappa)
        )

    def test_within_a_batch_the_best_source_takes_the_room(self):
        weak, strong = ReputationEvent(0.0, 0.0, "held-out", "b"), ReputationEvent(0.0, 1.0, "gold", "b")
        for events in ([weak, strong], [strong, weak]):
            result = replay(events, 0.0)
            assert (result.good, result.bad) == (1.0, 0.0)

    def test_sources_that_leave_room_are_added(self):
        result = replay(
            [ReputationEvent(0.0, 1.0, "consensus", "b"), ReputationEvent(0.0, 0.0, "held-out", "b")], 0.0
        )
        assert (result.good, result.bad) == (0.5, 0.25)

    @given(st.floats(0, 1e9), st.sampled_from(sorted(SOURCES)))
    def test_time_comes_first_in_order(self, at, source):
        assert sort_key(ReputationEvent(at, 0.0, source, "z")) < sort_key(
            ReputationEvent(at + 1, 1.0, "gold", "a")
        )


class TestMemory:
    @given(st.integers(1, 400), st.floats(0, 1))
    def test_no_more_evidence_is_remembered_than_the_cap(self, count, quality):
        result = replay([ReputationEvent(0.0, quality, "gold", f"b{at}") for at in range(count)], 0.0)
        assert result.good + result.bad <= ReputationRule().cap + 1e-9
        assert result.events == count

    @given(st.floats(0, 3))
    def test_evidence_halves_in_its_time(self, lives):
        rule = ReputationRule()
        events = [ReputationEvent(0.0, 1.0, "gold", f"b{at}") for at in range(4)]
        result = replay(events, lives * rule.half_life_days * DAY)
        assert result.good == pytest.approx(4 * 0.5**lives)

    def test_a_real_drop_counts_double_and_a_slip_does_not(self):
        good = [ReputationEvent(float(at), 1.0, "gold", f"g{at}") for at in range(20)]
        slip = replay([*good, ReputationEvent(30.0, 0.0, "gold", "s")], 30.0)
        assert slip.bad == pytest.approx(1.0, rel=1e-3)
        bad = [ReputationEvent(30.0 + at, 0.0, "gold", f"s{at}") for at in range(5)]
        assert replay([*good, *bad], 40.0).bad > 5.0


class TestEndorsement:
    @given(st.floats(0, 50), st.integers(0, 10))
    def test_trust_at_most_doubles_a_record(self, endorsed, events):
        own = [ReputationEvent(0.0, 0.5, "gold", f"b{at}") for at in range(events)]
        result = replay(own, 0.0, endorsed=endorsed)
        assert result.endorsed == pytest.approx(min(endorsed, events))
        assert result.r >= replay(own, 0.0).r - 1e-12

    def test_trust_alone_is_no_record(self):
        assert replay([], 0.0, endorsed=100.0).r == ReputationRule().r0
        assert replay([ReputationEvent(0.0, 1.0, "gold", "b")], 0.0, endorsed=-5.0).endorsed == 0


@pytest.mark.parametrize(
    ("event", "says"),
    [
        (ReputationEvent(0.0, 1.5, "gold", "b"), r"quality must lie in \[0, 1\], got 1.5"),
        (ReputationEvent(0.0, 0.5, "rumour", "b"), "unknown reputation source 'rumour'; allowed: gold"),
        (ReputationEvent(0.0, 0.5, "gold", "b", 1.5), r"must lie in \(0, 1\], got 1.5"),
    ],
)
def test_what_is_wrong_with_an_event_is_said(event, says):
    with pytest.raises(AnmlError, match=says):
        replay([event], 1.0)
