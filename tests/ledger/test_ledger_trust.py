"""Effect of the verification graph on r: bounded, only from a pre-trusted set, and reproducible by replay."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anml.core.errors import AnmlError, InputError
from anml.ledger import evidence
from anml.ledger.log import format_timestamp
from anml.ledger.standing import Score, contributor_statuses
from anml.signals.eigentrust import trust_event_counts
from anml.signals.policy import AttestationRecord, Policy
from anml.signals.track_record import ReputationEvent, ReputationRule, replay
from ledger import ledger_reputation
from ledger.ledger_reputation import trust_graph
from ledger.ledger_world import World

NAMES = ("root", "ann", "ben", "eve", "mal")


@pytest.fixture
def people_of(world) -> tuple[World, dict[str, str]]:
    """Root reviews Ann, Ann reviews Ben; Eve and Mal praise each other. All but Ben have one scored batch."""
    pids = world.register("test", NAMES)
    accepted = [("root", "ann"), ("ann", "ben"), ("eve", "mal"), ("mal", "eve")]
    records = [
        evidence.EvidenceRecord("review-accepted", pids[b], pids[a], "", f"item:{a}{b}") for a, b in accepted
    ]
    world.record(*records)
    now = format_timestamp(world.clock.now)
    items = tuple(map(str, range(10)))
    world.score(
        *(
            Score(pids[who], "default", "gold", f"b-{who}", now, 900_000_000_000, items, 10)
            for who in NAMES
            if who != "ben"
        )
    )
    world.clock.pass_days(1)
    return world, pids


def r_of(world: World, pids: dict[str, str], policy: Policy | None = None) -> dict[str, float]:
    with world.ledger.read() as connection:
        found = contributor_statuses(connection, format_timestamp(world.clock.now), policy=policy)
    return {name: found[pid].track.r for name, pid in pids.items()}


def rooted(pids: dict[str, str], **more) -> Policy:
    return Policy.from_dict({"trust": {"roots": [pids["root"]], **more}})


def test_worked_by_hand():
    """t = 0.85 C't + 0.15 p with root -> ann: root 0.5405, ann 0.4595, so ann is trusted 0.85 as far."""
    found = trust_event_counts({("root", "ann"): 1.0}, ["root"], 3.0)
    assert found["ann"] == pytest.approx(3 * 0.85)
    # One gold batch of 0.9: S = 0.9, F = 0.1, so at most 1 of the 2.55 good events is added.
    track = replay([ReputationEvent(0.0, 0.9, "gold", "b")], 0.0, endorsed=found["ann"])
    assert track.endorsed == 1.0
    assert track.r == pytest.approx((0.9 + 1.0 + 1.6) / (1.0 + 1.0 + 4.0))


def test_trust_raises_r_of_those_it_reaches_and_of_nobody_else(people_of):
    world, pids = people_of
    before, after = r_of(world, pids), r_of(world, pids, rooted(pids))
    assert after["ann"] > before["ann"]
    assert (after["eve"], after["mal"]) == (before["eve"], before["mal"])


def test_without_a_record_of_their_own_nobody_is_raised_above_the_start(people_of):
    world, pids = people_of
    trusted = trust_graph(world.ledger, [pids["root"]])["endorsed"]
    assert trusted[pids["ben"]] > 2  # trusted, by way of Ann
    assert r_of(world, pids, rooted(pids))["ben"] == ReputationRule().r0 == 0.4


def test_without_roots_nothing_changes(people_of):
    world, pids = people_of
    assert r_of(world, pids, Policy.from_dict({"trust": {"events": 4}})) == r_of(world, pids)
    assert r_of(world, pids, rooted(pids, events=0)) == r_of(world, pids)


def test_replay_gives_the_same_value(people_of):
    world, pids = people_of
    policy = rooted(pids)
    shown = r_of(world, pids, policy)
    for name, pid in pids.items():
        assert ledger_reputation.replay_history(world.ledger, pid, policy=policy)[1].r == shown[name]
    # The past is replayed with the graph of the past, whatever is vouched since.
    at = format_timestamp(world.clock.now)
    world.clock.pass_days(10)
    more = [evidence.EvidenceRecord("review-accepted", pids["mal"], pids["root"], "", "item:late")]
    world.record(*more)
    assert (
        r_of(world, pids, policy)["mal"]
        > ledger_reputation.replay_history(world.ledger, pids["mal"], policy=policy, at=at)[1].r
    )
    assert (
        ledger_reputation.replay_history(world.ledger, pids["mal"], policy=policy, at=at)[1].r == shown["mal"]
    )


def test_rejections_count_against_acceptances():
    def said(kind: str, number: int) -> AttestationRecord:
        return AttestationRecord(number, kind, "b", "a", at=0.0, scope=f"item:{number}")

    both = [said("review-accepted", 1), said("review-rejected", 2)]
    assert evidence.trust_votes({"b": both}, at=1.0) == {}
    assert evidence.trust_votes({"b": [*both, said("reproduced", 3)]}, at=1.0) == {("a", "b"): 1.0}


def test_what_nobody_stands_behind_expired_or_is_ones_own_word_is_no_vote():
    records = [
        AttestationRecord(1, "review-accepted", "b", "a", at=0.0, vouched="nobody"),
        AttestationRecord(2, "review-accepted", "b", "a", at=0.0, until=0.5),
        AttestationRecord(3, "review-accepted", "b", "a", at=9.0),
        AttestationRecord(4, "review-accepted", "b", "b", at=0.0),
        AttestationRecord(5, "agreement", "b", "a", at=0.0),
    ]
    assert evidence.trust_votes({"b": records}, at=1.0) == {}


@given(
    qualities=st.lists(st.floats(0, 1), max_size=8),
    endorsed=st.floats(0, 100),
    days=st.floats(0, 1000),
)
def test_endorsement_is_bounded_and_never_lowers_r(qualities, endorsed, days):
    events = [ReputationEvent(float(n), quality, "gold", f"b{n}") for n, quality in enumerate(qualities)]
    at = days * 86400.0
    plain, raised = replay(events, at), replay(events, at, endorsed=endorsed)
    assert plain.r <= raised.r <= ReputationRule().high
    assert raised.endorsed <= min(endorsed, plain.good + plain.bad)
    if not qualities:
        assert raised == plain


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"roots": "c1"}, "roots is a list"),
        ({"roots": [""]}, "roots is a list"),
        ({"roots": ["c1"], "events": 5}, r"events must lie in \[0, 4\]"),
        ({"roots": ["c1"], "restart": 0}, "restart must lie in"),
        ({"root": ["c1"]}, "unknown trust setting 'root'"),
    ],
    ids=["text", "empty", "events", "restart", "name"],
)
def test_settings_are_checked(table, message):
    with pytest.raises(AnmlError, match=message):
        Policy.from_dict({"trust": table})


def test_the_graph_needs_roots_and_votes(world):
    with pytest.raises(InputError, match="nobody is trusted beforehand"):
        trust_graph(world.ledger, [])
    with pytest.raises(InputError, match="nobody has verified anybody"):
        trust_graph(world.ledger, ["c1"])
