"""Forgetting a person: what is open is said first, and where their work was used is listed."""

import pytest

from anml.core.errors import AnmlError, ConflictError
from anml.ledger import personal_data as people
from anml.ledger.contributors.identity import erase_contributor
from anml.ledger.services.steps import confirm_proposals
from anml.ledger.services.verify import verify


def test_with_money_open_it_is_refused_unless_it_is_wanted_all_the_same(paid):
    ada = paid.pids["ada"]
    with pytest.raises(ConflictError, match=f"contributor {ada} still has 7.50 EUR open; pay"):
        erase_contributor(paid.ledger, ada)
    found = erase_contributor(paid.ledger.dry(), ada, anyway=True)
    assert found["unpaid"] == {"EUR": 7_500_001}
    assert paid.sid in found["settlements"]
    with paid.ledger.read() as connection:
        assert people.profile(connection, paid.ledger.ring, ada)
    gone = erase_contributor(paid.ledger, ada, anyway=True, by="bob")
    assert gone == found | {"proposal": gone["proposal"]}
    with paid.ledger.read() as connection:
        assert people.profile(connection, paid.ledger.ring, ada)
    with pytest.raises(ConflictError, match="'bob' proposed this; a second person must confirm it"):
        paid.world.confirm(gone["proposal"], by="bob")
    paid.world.confirm(gone["proposal"], by="ann")
    with paid.ledger.read() as connection:
        assert people.profile(connection, paid.ledger.ring, ada) == {}
    assert verify(paid.ledger).problems == []


def test_whoever_was_paid_or_earned_nothing_can_be_forgotten_at_once(world):
    pid = world.register("ls", ["ada"])["ada"]
    found = erase_contributor(world.ledger, pid)
    assert (found["contributor"], found["also"], found["unpaid"], found["settlements"]) == (pid, [], {}, [])
    with pytest.raises(AnmlError, match="there is no contributor 'nobody'"):
        erase_contributor(world.ledger, "nobody")


def test_what_a_reader_kept_from_being_scrubbed_is_scrubbed_by_erasing_again(world):
    pid = world.register("ls", ["ada"])["ada"]
    with world.ledger.read() as connection:
        assert people.profile(connection, world.ledger.ring, pid)
        assert "erase again" in erase_contributor(world.ledger, pid)["unreached"][0]
    assert erase_contributor(world.ledger, pid)["unreached"] == []
    assert verify(world.ledger).problems == []


def test_who_confirms_an_erasure_is_told_what_was_not_reached(paid):
    gone = erase_contributor(paid.ledger, paid.pids["ada"], anyway=True, by="bob")
    left: list[str] = []
    with paid.ledger.read() as connection:
        assert people.profile(connection, paid.ledger.ring, paid.pids["ada"])
        confirm_proposals(paid.ledger, [gone["proposal"]], "ann", unreached=left)
    assert len(left) == 1
