"""Debts of contributors cannot vanish: erasures, returning accounts, replacements and pending reversals."""

import csv
import io

import pytest

from anml.core.errors import AnmlError, ConflictError, IntegrityError
from anml.ledger import kinds, two_people
from anml.ledger.cli.views import draft_shown
from anml.ledger.contributors.identity import erase_contributor
from anml.ledger.pay import payout, settle
from anml.ledger.services import steps
from anml.ledger.services.verify import verify
from ledger.ledger_queries import balance
from ledger.ledger_world import World, simple_rows

IBAN = "DE89370400440532013000"


def owing(world: World) -> tuple[str, str]:
    """Ben was paid 5 euros of a settlement, of which 3 are taken back: settlement and Ben's identifier."""
    pids = world.establish("ann", "ben")
    world.pay_to(pids["ben"], {"name": "Ben", "iban": IBAN})
    sid = world.post(world.run(simple_rows({"ann": 1, "ben": 1})), "10")
    world.clock.pass_days(15)
    settle.release_settlement(world.ledger, sid)
    payout.create_batch(world.ledger, "p1", "EUR", "cat")
    payout.record_payment_results(world.ledger, "p1", None, paid=True, by="bob")
    world.confirm(steps.reverse(world.ledger, sid, pids["ben"], 3_000_000, "fraud", "ann").seq)
    return sid, pids["ben"]


def test_an_administrator_alone_erases_no_contributor_who_owes_money(world):
    _, ben = owing(world)
    with pytest.raises(ConflictError, match=r"still has 3\.00 EUR of debt open"):
        erase_contributor(world.ledger, ben)
    body = {"reason": "request", "also": [], "kept": [], "proposal": 0}
    with pytest.raises(ConflictError, match="this step needs two people"):
        world.ledger.write(lambda tx: tx.append(kinds.ERASED, "e", ben, body, by="eve"))
    asked = erase_contributor(world.ledger, ben, by="eve", anyway=True)["proposal"]
    (shown,) = world.ledger.rehearse(lambda tx: steps.confirmation(tx, [asked], "bob"))["items"]
    assert "with 3.000000 EUR owed by them still open" in steps.describe_proposal(shown)
    with pytest.raises(ConflictError, match="'eve' proposed this; a second person must confirm it"):
        world.confirm(asked, by="eve")
    world.confirm(asked)
    assert verify(world.ledger).problems == []


def test_an_erased_debtor_does_not_return_without_the_debt(world):
    _, ben = owing(world)
    world.erase(ben)
    world.reopen()
    again = world.register("run", ["benjamin"])["benjamin"]
    with pytest.raises(ConflictError, match=f"belongs to contributor {ben}, who was erased with a debt"):
        world.pay_to(again, {"name": "Benjamin", "iban": IBAN})
    made = world.ledger.write(lambda tx: two_people.propose(tx, kinds.MERGED, ben, {"into": again}, "ann"))
    world.confirm(made.seq)
    world.pay_to(again, {"name": "Benjamin", "iban": IBAN})
    with world.ledger.read() as connection:
        assert balance(connection, f"payable:{again}", "EUR") == -3_000_000
    assert verify(world.ledger).problems == []
    # The second erasure takes the keyed hash along as long as the debt stands.
    world.erase(again)
    assert verify(world.ledger).problems == []


def test_the_kept_hash_is_checked_and_names_nothing_else(world):
    _, ben = owing(world)
    asked = world.ledger.write(
        lambda tx: two_people.propose(tx, kinds.ERASED, ben, {"reason": "request", "also": []}, "ann")
    ).seq
    body = {"reason": "request", "also": [], "kept": [], "proposal": asked}
    with pytest.raises(IntegrityError, match="the keyed hashes of the bank accounts stay"):
        world.ledger.write(lambda tx: tx.append(kinds.ERASED, "e", ben, body, by="bob"))


def test_who_owes_nothing_leaves_no_bank_account_behind(world):
    pids = world.establish("ann")
    world.pay_to(pids["ann"], {"name": "Ann", "iban": IBAN})
    world.erase(pids["ann"])
    again = world.register("run", ["anna"])["anna"]
    world.pay_to(again, {"name": "Anna", "iban": IBAN})
    assert verify(world.ledger).problems == []


def test_an_erased_person_without_debt_is_not_merged(world):
    pids = world.establish("ann", "ben")
    world.erase(pids["ann"])
    with pytest.raises(AnmlError, match="was erased"):
        world.confirm(
            world.ledger.write(
                lambda tx: two_people.propose(tx, kinds.MERGED, pids["ann"], {"into": pids["ben"]}, "ann")
            ).seq
        )


def test_what_is_held_hides_no_debt_and_a_pending_reversal_needs_two_people(world):
    sid, ben = owing(world)
    world.post(world.run(simple_rows({"ben": 1})), "3")
    with pytest.raises(ConflictError, match=r"3\.00 EUR, 3\.00 EUR of debt open"):
        erase_contributor(world.ledger, ben)
    ann = world.establish("ann")["ann"]
    steps.reverse(world.ledger, sid, ann, 5_000_000, "fraud", "ann")
    with pytest.raises(ConflictError, match="a reversal open"):
        erase_contributor(world.ledger, ann)


def test_a_settlement_is_replaced_in_its_own_currency_only(world):
    sid, _ = owing(world)
    run = world.run(simple_rows({"ann": 1, "ben": 2}))
    with pytest.raises(
        ConflictError, match=f"settlement {sid} is in EUR, and only one in EUR can replace it"
    ):
        world.draft(run, "10", supersedes=sid, currency="USD")
    assert verify(world.ledger).problems == []


def test_who_approves_a_replacement_is_shown_what_becomes_a_debt(world):
    sid, ben = owing(world)
    made = world.draft(world.run(simple_rows({"ann": 1, "ben": 2})), "10", supersedes=sid)
    shown = world.ledger.rehearse(lambda tx: steps.approval(tx, made.id, "bob"))
    # Of Ben's 5 euros 3 were taken back; the other 2 and Ann's 5 are paid already.
    assert shown["debts"] == {"ann": 5_000_000, "Ben": 2_000_000}
    assert "Ben got 2.00 EUR of it already, which becomes a debt." in draft_shown(shown)
    settle.approve_settlement(world.ledger, made.id, "bob", seen=steps.content_digest(shown))
    with world.ledger.read() as connection:
        assert balance(connection, f"payable:{ben}", "EUR") == -5_000_000


def test_a_batch_as_a_table_has_a_reference_that_the_bank_gives_back(world):
    owing(world)
    batch = payout.batches(world.ledger)[0]
    rows = list(csv.DictReader(io.StringIO(payout.payout_csv(batch, {}), newline="")))
    assert {row["payment"] for row in rows} == {f"p1-{item.seq}" for item in batch.payments}
