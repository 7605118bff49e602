"""The book: steps of a settlement in order, each in one transaction, each twice the same as once."""

import pytest

from anml.core.errors import AnmlError, ConflictError
from anml.ledger import book, kinds
from anml.ledger.state import POOL
from anml.ledger.state_money import Settlements
from anml.settlement.allocate import UNIT
from ledger.ledger_queries import balance, balances, events, settlements, totals
from ledger.ledger_world import World, simple_rows


@pytest.fixture(scope="module")
def posted(tmp_path_factory):
    """Two contributors, a posted settlement of ten euros and a draft; tests take back what they do."""
    folder = tmp_path_factory.mktemp("book")
    world = World(str(folder / "ledger.db"), folder / "keys", folder)
    world.pids = world.establish("x", "y")
    world.sid = world.post(world.run(simple_rows({"x": 3, "y": 1})), "10")
    world.drafted = world.draft(world.run(simple_rows({"x": 1})), "5").id
    yield world
    world.ledger.close()


def test_release_keeps_a_frozen_amount_whoever_asks(world):
    """The rule lives in the book itself, not only in the use case above it."""
    pids = world.establish("ann", "ben")
    sid = world.post(world.run(simple_rows({"ann": 1, "ben": 1})), "10")
    world.ledger.write(lambda tx: book.open_dispute(tx, sid, pids["ann"], "other", "d"))
    world.clock.pass_days(15)
    everybody = dict.fromkeys(pids.values(), 0)
    made = world.ledger.write(lambda tx: book.release(tx, sid, everybody, "cat"))
    assert [e.subject for e in made] == [pids["ben"]]


def test_settlements_are_read_one_by_one_and_all_at_once(posted):
    with posted.ledger.read() as connection:
        everything = settlements(connection).values()
        assert [found.state for found in everything] == ["posted", "posted", "drafted"]
        assert list(settlements(connection)) == [found.id for found in everything]


def test_the_books_sum_to_zero_in_each_currency(posted):
    with posted.ledger.read() as connection:
        assert totals(connection) == {"EUR": 0}


def test_approving_twice_is_approving_once(posted):
    def work(tx):
        first = book.approve(tx, posted.drafted, "bob")
        after = tx.next_seq
        again = book.approve(tx, posted.drafted, "bob")
        assert (again.seq, tx.next_seq) == (first.seq, after)
        with pytest.raises(ConflictError, match="was used before for another request"):
            book.approve(tx, posted.drafted, "cat")

    posted.ledger.rehearse(work)


def test_who_drafted_does_not_approve(posted):
    with pytest.raises(ConflictError, match="'ann' drafted this settlement; a second person must approve"):
        posted.ledger.rehearse(lambda tx: book.approve(tx, posted.drafted, "ann"))


def test_drafting_again_in_the_same_words_is_one_draft(posted):
    def work(tx):
        found = tx.state.part(Settlements).get(posted.drafted)
        before = tx.next_seq
        assert book.record_draft(tx, found).subject == posted.drafted
        assert tx.next_seq == before
        with pytest.raises(ConflictError, match="was used before"):
            book.record_draft(tx, found._replace(pool=found.pool + 1))

    posted.ledger.rehearse(work)


def test_a_free_identifier_is_the_manifests_until_that_was_taken_back(posted):
    name = "ab" * 32

    def work(tx):
        assert book.free_id(tx, name) == f"s{name[:24]}"
        found = tx.state.part(Settlements)
        for state, expected in (
            ("drafted", f"s{name[:24]}"),
            ("posted", f"s{name[:24]}"),
            ("withdrawn", f"s{name[:21]}-2"),
            ("reversed", f"s{name[:21]}-2"),
        ):
            found.found[f"s{name[:24]}"] = found.get(posted.sid)._replace(state=state)
            assert book.free_id(tx, name) == expected
        found.found[f"s{name[:21]}-2"] = found.get(posted.sid)._replace(state="withdrawn")
        assert book.free_id(tx, name) == f"s{name[:21]}-3"

    posted.ledger.rehearse(work)


def test_release_passes_over_who_has_nothing_held(posted):
    posted.clock.pass_days(15)
    everybody = {**dict.fromkeys(posted.pids.values(), UNIT), "c" + "9" * 32: UNIT}

    def work(tx):
        made = book.release(tx, posted.sid, everybody, "cat")
        assert sorted(e.subject for e in made) == sorted(posted.pids.values())
        before = tx.next_seq
        assert book.release(tx, posted.sid, everybody, "cat") == []
        # Nothing to do writes nothing, not even a signature.
        assert tx.next_seq == before

    try:
        posted.ledger.rehearse(work)
    finally:
        posted.clock.pass_days(-15)


@pytest.mark.parametrize(
    ("amount", "reason", "said"),
    [
        (0, "other", "1 to 7500000 micro-units of"),
        (7_500_001, "other", "can be reversed, got 7500001"),
        (1, "spite", "unknown reason 'spite'; allowed: wrong-count"),
    ],
)
def test_reversals_that_nobody_may_ask_for(posted, amount, reason, said):
    with pytest.raises(AnmlError, match=said):
        posted.ledger.rehearse(
            lambda tx: book.propose_reversal(tx, posted.sid, posted.pids["x"], amount, reason, "ann")
        )


def test_a_withdrawn_draft_cannot_be_approved(posted):
    def work(tx):
        book.withdraw(tx, posted.drafted, "cat")
        with pytest.raises(ConflictError, match="is withdrawn; this step needs it to be drafted"):
            book.approve(tx, posted.drafted, "bob")

    posted.ledger.rehearse(work)


def test_a_settlement_that_replaces_a_posted_one_reverses_all_of_it(make_world):
    world = make_world("sqlite")
    pids = world.establish("x", "y")
    folder = world.run(simple_rows({"x": 3, "y": 1}))
    sid = world.post(folder, "10")
    new = world.post(folder, "6", supersedes=sid)
    with world.ledger.read() as connection:
        assert settlements(connection)[sid].state == "reversed"
        assert balances(connection, "held:", "EUR", sid) == dict.fromkeys(pids.values(), 0)
        assert balances(connection, "held:", "EUR", new) == {pids["x"]: 4_500_000, pids["y"]: 1_500_000}
        # One micro-unit was paid for the record of each, six euros now; all the rest went back.
        assert balance(connection, POOL, "EUR") == -6_000_001
        taken = [e.body["amount"] for e in events(connection, [kinds.REVERSED])]
    assert sorted(taken) == [2_500_000, 7_500_000]
