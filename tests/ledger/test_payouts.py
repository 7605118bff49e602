"""Payout batches: what is due, who waits, and payments that end once."""

import pytest

from anml.core.errors import AnmlError, ConflictError, InputError
from anml.ledger import book, kinds
from anml.ledger.personal_data import find_document
from anml.ledger.state_money import Payouts
from anml.ledger.state_people import Payees
from anml.settlement.allocate import UNIT
from ledger.ledger_world import World, simple_rows


@pytest.fixture(scope="module")
def due(tmp_path_factory):
    """7.5 and 2.5 euros payable, with fractions of a cent on top; tests take back what they do."""
    folder = tmp_path_factory.mktemp("payouts")
    world = World(str(folder / "ledger.db"), folder / "keys", folder, payee_wait_days=3)
    world.pids = world.establish("x", "y")
    sid = world.post(world.run(simple_rows({"x": 3, "y": 1})), "10.000008")
    world.clock.pass_days(15)
    everybody = dict.fromkeys(world.pids.values(), UNIT)
    world.ledger.write(lambda tx: book.release(tx, sid, everybody, "cat"))
    yield world
    world.ledger.close()


def test_what_a_bank_can_move_is_due_and_the_fraction_stays(due):
    """7.500006 and 2.500002 are payable: 7.50 and 2.50 are due."""
    x, y = due.pids["x"], due.pids["y"]

    def work(tx):
        assert book.amounts_due(tx, "EUR") == {x: 7_500_000, y: 2_500_000}
        # The threshold itself is paid, and a fraction below it is not.
        assert book.amounts_due(tx, "EUR", 2_500_000) == {x: 7_500_000, y: 2_500_000}
        assert book.amounts_due(tx, "EUR", 2_500_001) == {x: 7_500_000}
        assert book.amounts_due(tx, "USD") == {}
        with pytest.raises(InputError, match="a code of ISO 4217"):
            book.amounts_due(tx, "euro")

    due.ledger.rehearse(work)


def batch(tx, due: World, *names: str, name: str = "p1", threshold: int = 0):
    known = tx.verified().state.part(Payees)
    papers = {
        pid: find_document(tx.connection, pid, known.paper[pid]) for pid in (due.pids[who] for who in names)
    }
    return book.create_payout_batch(tx, name, "EUR", "cat", threshold, papers)


def test_a_batch_sends_to_those_whose_details_are_given(due):
    def work(tx):
        batch(tx, due, "x")
        found = tx.state.part(Payouts).get("p1")
        assert [(payment.pid, payment.amount, payment.state) for payment in found.payments] == [
            (due.pids["x"], 7_500_000, "sent")
        ]
        assert (found.currency, found.by, found.total) == ("EUR", "cat", 7_500_000)
        assert book.amounts_due(tx, "EUR") == {due.pids["y"]: 2_500_000}

    due.ledger.rehearse(work)


def test_the_same_batch_is_one_and_another_content_a_conflict(due):
    def work(tx):
        first = batch(tx, due, "x", "y")
        before = tx.next_seq
        assert batch(tx, due, "x", "y").seq == first.seq
        assert tx.next_seq == before
        with pytest.raises(ConflictError, match="was used before for another request"):
            batch(tx, due, "x", "y", threshold=5)

    due.ledger.rehearse(work)


def test_an_empty_batch_is_refused(due):
    with pytest.raises(ConflictError, match="nothing can be paid in EUR"):
        due.ledger.rehearse(lambda tx: batch(tx, due))
    with pytest.raises(ConflictError, match="nothing can be paid"):
        due.ledger.rehearse(lambda tx: batch(tx, due, "x", "y", threshold=10**12))


@pytest.mark.parametrize("paid", [True, False])
def test_payments_end_once_and_a_repeat_is_no_second_one(due, paid):
    x, y = due.pids["x"], due.pids["y"]

    def work(tx):
        batch(tx, due, "x", "y")
        made = book.close_payments(tx, "p1", [x], "dan", paid=paid)
        assert [e.kind for e in made] == [kinds.PAID if paid else kinds.FAILED]
        before = tx.next_seq
        assert book.close_payments(tx, "p1", [x], "dan", paid=paid) == []
        assert tx.next_seq == before
        with pytest.raises(ConflictError, match="was used before"):
            book.close_payments(tx, "p1", [x], "dan", paid=not paid)
        # The rest of the batch can still end, in one step with what ended before.
        assert [e.subject for e in book.close_payments(tx, "p1", [x, y], "dan", paid=paid)] == [y]
        back = 0 if paid else 7_500_000
        assert book.amounts_due(tx, "EUR").get(x, 0) == back

    due.ledger.rehearse(work)


def test_payments_that_are_not_in_the_batch_are_named(due):
    def work(tx):
        batch(tx, due, "x")
        with pytest.raises(InputError, match=f"batch p1 has no payment to '{due.pids['y']}'"):
            book.close_payments(tx, "p1", [due.pids["y"]], "cat", paid=True)
        with pytest.raises(InputError, match="there is no payout batch 'p9'"):
            book.close_payments(tx, "p9", [], "cat", paid=True)

    due.ledger.rehearse(work)


def test_batches_are_listed_oldest_first(due):
    def work(tx):
        batch(tx, due, "y", name="zz")
        batch(tx, due, "x", name="aa")
        assert list(tx.state.part(Payouts).heads) == ["zz", "aa"]

    due.ledger.rehearse(work)


def test_new_bank_details_wait_and_say_until_when(due):
    x = due.pids["x"]
    assert due.ledger.rehearse(lambda tx: book.payout_block_reason(tx, x)) == ""
    due.pay_to(x, {"name": "X", "iban": "DE89370400440532013000"})
    day = due.clock.now.date().toordinal()
    said = due.ledger.rehearse(lambda tx: book.payout_block_reason(tx, x))
    assert said.startswith("new bank details: paid from 2026-")
    with pytest.raises(AnmlError, match="bank details"):
        due.ledger.rehearse(lambda tx: batch(tx, due, "x"))
    due.clock.pass_days(3)
    assert due.clock.now.date().toordinal() == day + 3
    assert due.ledger.rehearse(lambda tx: book.payout_block_reason(tx, x)) == ""
