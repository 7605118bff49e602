"""The second person signs exactly the content shown: every line, old and new details."""

import pytest

from anml.core.errors import ConflictError
from anml.ledger import book
from anml.ledger.pay import disputes as disputing
from anml.ledger.pay import payout, settle
from anml.ledger.pay.settle import release_settlement
from anml.ledger.services import steps
from anml.ledger.services.steps import confirm_proposals
from ledger.ledger_world import simple_rows

IBANS = ("DE89370400440532013000", "GB29NWBK60161331926819")


def seen(world, work):
    return world.ledger.rehearse(work)


def test_a_draft_is_shown_with_every_line_and_what_it_changes(world):
    pids = world.establish("ada", "bea")
    first = world.post(world.run(simple_rows({"ada": 1, "bea": 1})), "10")
    made = world.draft(
        world.run(simple_rows({"ada": 3, "bea": 1})), "20", multipliers={"ada": 10**12, "bea": 0}
    )
    found = seen(world, lambda tx: steps.approval(tx, made.id, "bob"))
    assert (found["pool"], found["drafted_by"], found["before"], found["supersedes"]) == (
        20_000_000,
        "ann",
        first,
        None,
    )
    lines = {line["contributor"]: line for line in found["lines"]}
    # Ada got 5 before and gets all 20; by their rows they would get 15 and 5.
    assert (lines[pids["ada"]]["amount"], lines[pids["ada"]]["before"], lines[pids["ada"]]["by_rows"]) == (
        20_000_000, 5_000_000, 15_000_000,
    )  # fmt: skip
    assert (lines[pids["bea"]]["amount"], lines[pids["bea"]]["multiplier"]) == (0, 0)


def test_who_is_left_out_of_what_replaces_a_settlement_is_named(world):
    world.establish("ada", "bea")
    run = world.run(simple_rows({"ada": 1, "bea": 1}))
    first = world.post(run, "10")
    again = world.draft(world.run(simple_rows({"ada": 2})), "10", supersedes=first)
    found = seen(world, lambda tx: steps.approval(tx, again.id, "bob"))
    assert (found["supersedes"], found["gone"]) == (first, {"bea": 5_000_000})


def test_what_is_signed_is_what_was_shown(world):
    world.establish("ada", "bea")
    made = world.draft(world.run(simple_rows({"ada": 1, "bea": 1})), "10")
    shown = steps.content_digest(seen(world, lambda tx: steps.approval(tx, made.id, "bob")))
    other = world.post(world.run(simple_rows({"ada": 1, "bea": 1})), "40")
    # Another settlement was posted since: what is beside the amounts is no longer the same.
    with pytest.raises(ConflictError, match=f"not {shown}: look at it again before you sign it"):
        settle.approve_settlement(world.ledger, made.id, "bob", seen=shown)
    assert settle.settlements(world.ledger)[made.id].state == "drafted"
    again = steps.content_digest(seen(world, lambda tx: steps.approval(tx, made.id, "bob")))
    assert settle.approve_settlement(world.ledger, made.id, "bob", seen=again).subject != other


def test_bank_details_are_shown_as_they_are_and_as_they_would_be(world):
    pids = world.establish("ada")
    world.pay_to(pids["ada"], {"name": "Ada", "iban": IBANS[0]})
    number = payout.set_payees(world.ledger, {pids["ada"]: {"iban": IBANS[1]}}, "ann")[0]
    found = seen(world, lambda tx: steps.confirmation(tx, [number], "bob"))
    (one,) = found["items"]
    assert one["until_now"] == {"name": "Ada", "iban": IBANS[0]}
    assert one["details"] == {"name": "Ada", "iban": IBANS[1]}
    with pytest.raises(ConflictError, match="'ann' proposed this"):
        seen(world, lambda tx: steps.confirmation(tx, [number], "ann"))
    more = payout.set_payees(world.ledger, {pids["ada"]: {"name": "Other"}}, "ann")[0]
    with pytest.raises(ConflictError, match="look at it again"):
        confirm_proposals(world.ledger, [more], "bob", seen=steps.content_digest(found))
    confirm_proposals(world.ledger, [number], "bob", seen=steps.content_digest(found))


def test_a_correction_is_shown_with_both_sides_words(world):
    pids = world.establish("ada")
    sid = world.post(world.run(simple_rows({"ada": 1})), "10")
    words = {"text": "I did two"}
    world.ledger.write(lambda tx: book.open_dispute(tx, sid, pids["ada"], "wrong-count", "d", **words))
    with pytest.raises(ConflictError, match="has no answer yet"):
        seen(world, lambda tx: steps.resolution(tx, sid, pids["ada"], "bob"))
    disputing.answer(world.ledger, sid, pids["ada"], "upheld", "other", correction=5, text="right", by="cat")
    found = seen(world, lambda tx: steps.resolution(tx, sid, pids["ada"], "bob"))
    assert (found["words"], found["answer"]["correction"]) == ({"asked": "I did two", "answered": "right"}, 5)
    with pytest.raises(ConflictError, match="'cat' answered this dispute"):
        seen(world, lambda tx: steps.resolution(tx, sid, pids["ada"], "cat"))
    disputing.resolve(world.ledger, sid, pids["ada"], by="bob", seen=steps.content_digest(found))


def test_what_came_back_is_shown_to_a_second_person(world):
    pids = world.establish("ada")
    sid = world.post(world.run(simple_rows({"ada": 1})), "10")
    world.clock.pass_days(15)
    release_settlement(world.ledger, sid)
    payout.create_batch(world.ledger, "p1", "EUR", "cat")
    asked = ("p1", [pids["ada"]])
    with pytest.raises(ConflictError, match="'cat' made this batch"):
        seen(world, lambda tx: steps.retry_payments(tx, *asked, "cat"))
    found = seen(world, lambda tx: steps.retry_payments(tx, *asked, "bob"))
    assert [item["amount"] for item in found["payments"]] == [10_000_000]
    payout.record_payment_results(
        world.ledger, *asked, paid=False, by="bob", seen=steps.content_digest(found)
    )
