"""Trust over who verified whom: needs roots and votes, sums to one, and is bounded."""

import pytest

from anml.core.errors import InputError
from anml.ledger import kinds
from anml.ledger.contributors.reputation import name_reviewer
from anml.ledger.evidence import EvidenceRecord
from anml.signals.policy import TrustRule
from ledger.ledger_hand import public
from ledger.ledger_reputation import trust_graph

LAB = "https://lab.example"


@pytest.fixture
def reviewed(world):
    world.pids = world.register("ls", ["ada", "bea", "cem", "dee"])
    ada, bea, cem, dee = (world.pids[name] for name in ("ada", "bea", "cem", "dee"))
    world.record(
        EvidenceRecord("reproduced", ada, LAB, ""), EvidenceRecord("review-accepted", bea, ada, ""),
        EvidenceRecord("review-accepted", cem, dee, ""), EvidenceRecord("review-accepted", dee, cem, ""),
    )  # fmt: skip
    # From here on it signs what it says.
    world.trust(public("lab"), LAB)
    return world


def test_trust_flows_from_the_roots_and_rings_get_none(reviewed):
    """By EigenTrust with restart 0.15: lab 1, ada 0.85 of it, bea 0.85 of that."""
    found = trust_graph(reviewed.ledger)
    pids = reviewed.pids
    assert sum(found["trust"].values()) == pytest.approx(1)
    assert found["trust"][pids["ada"]] == pytest.approx(0.85 * found["trust"][LAB])
    assert found["trust"][pids["bea"]] == pytest.approx(0.85**2 * found["trust"][LAB])
    assert pids["cem"] not in found["endorsed"]
    assert found["endorsed"][pids["ada"]] == pytest.approx(3 * 0.85)
    assert max(found["endorsed"].values()) <= TrustRule().events


def test_roots_may_be_named_on_the_spot(reviewed):
    found = trust_graph(reviewed.ledger, [reviewed.pids["cem"]])
    assert found["trust"][reviewed.pids["dee"]] > 0


def test_without_roots_or_votes_there_is_no_graph(world):
    with pytest.raises(InputError, match="nobody is trusted beforehand: trust a key, name a reviewer"):
        trust_graph(world.ledger)
    world.trust(public("lab"), LAB)
    with pytest.raises(InputError, match="nobody has verified anybody in this ledger"):
        trust_graph(world.ledger)


def test_a_reviewer_is_proposed_and_then_a_root(world):
    pid = world.register("ls", ["ada"])["ada"]
    made = name_reviewer(world.ledger, pid, "ann")
    assert (made.kind, made.body["step"]) == (kinds.PROPOSED, kinds.REVIEWER_NAMED)
    world.confirm(made.seq)
    other = world.register("ls", ["bea"])["bea"]
    world.record(EvidenceRecord("review-accepted", other, pid, ""))
    assert trust_graph(world.ledger)["trust"][other] > 0
    world.confirm(name_reviewer(world.ledger, pid, "ann", on=False).seq)
    with pytest.raises(InputError, match="nobody is trusted beforehand"):
        trust_graph(world.ledger)
