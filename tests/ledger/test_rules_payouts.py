"""Rules of payouts: what can be sent, to which account, and how a payment ends."""

import pytest

from anml.core.errors import AnmlError, ConflictError, InputError, IntegrityError
from anml.ledger import kinds
from anml.ledger.money import MINOR_DIGITS, minor_unit
from ledger.ledger_hand import Hand, line, pid

CURRENCIES = ["EUR", *sorted(MINOR_DIGITS)]


@pytest.fixture
def hand() -> Hand:
    """Two contributors with 60 and 20 euros payable."""
    return funded()


def funded(currency: str = "EUR", pool: int = 80_000_000, **charter) -> Hand:
    made = Hand(**charter)
    made.register(1, 2)
    made.post("s", [line(pid(1), 3), line(pid(2), 1)], pool, currency=currency)
    made.days = 15
    made.release("s", pid(1), pid(2))
    return made


def send(hand: Hand, number: int, amount: int, batch: str = "b", currency: str = "EUR", **changes) -> None:
    body = {"batch": batch, "amount": amount, "paper": "", "sealed": "", **changes}
    hand.add(kinds.SENT, pid(number), body, key=f"payout/{batch}/{pid(number)}/{currency}")


def sign(hand: Hand, batch: str = "b", currency: str = "EUR") -> None:
    hand.add(kinds.BATCHED, batch, {"currency": currency, "threshold": 0}, by="cat")


@pytest.mark.parametrize("currency", CURRENCIES)
def test_in_every_currency_a_bank_moves_whole_units_only(currency):
    unit = minor_unit(currency)
    hand = funded(currency)
    for amount in (0, -unit, unit - 1, unit + 1, unit // 10):
        with pytest.raises(IntegrityError, match=f"no bank can move {amount} micro-units of {currency}"):
            send(hand, 1, amount, currency=currency)
    send(hand, 1, 3 * unit, currency=currency)
    sign(hand, currency=currency)
    assert hand.balance("clearing:b", currency) == 3 * unit


@pytest.mark.parametrize("batch", ["", "a b", "b" * 21, "b/c", "é"])
def test_names_of_batches(hand, batch):
    send(hand, 1, 10_000, batch=batch)
    with pytest.raises(InputError, match="a batch is named by 1 to 20 letters, digits or hyphens, got"):
        sign(hand, batch)


def test_a_batch_is_made_once_and_not_empty(hand):
    with pytest.raises(ConflictError, match="nothing can be paid in EUR"):
        sign(hand)
    send(hand, 1, 10_000)
    sign(hand)
    with pytest.raises(ConflictError, match="there is a batch b already"):
        sign(hand)
    with pytest.raises(IntegrityError, match="belongs to no batch b that is being made"):
        send(hand, 2, 10_000)


def test_a_signature_is_for_one_batch_in_one_currency(hand):
    send(hand, 1, 10_000, batch="other")
    with pytest.raises(IntegrityError, match="is of another batch or currency"):
        sign(hand)
    hand = funded()
    send(hand, 1, 10_000)
    with pytest.raises(IntegrityError, match="is of another batch or currency"):
        sign(hand, currency="USD")


def test_the_key_of_a_payment_names_it_so_that_nobody_is_paid_twice_in_a_batch(hand):
    body = {"batch": "b", "amount": 10_000, "paper": "", "sealed": ""}
    for key in (f"payout/b/{pid(2)}/EUR", f"payout/c/{pid(1)}/EUR", "anything/EUR"):
        with pytest.raises(IntegrityError, match="belongs to no batch b"):
            hand.add(kinds.SENT, pid(1), body, key=key)


def test_nobody_is_paid_more_than_is_payable(hand):
    with pytest.raises(IntegrityError, match="below zero"):
        send(hand, 2, 20_010_000)
    send(hand, 2, 20_000_000)


# --- bank details
def test_payments_go_to_the_details_that_two_people_agreed_on(hand):
    hand.by_two(kinds.PAYEE_SET, pid(1), {"digest": "agreed"}, record="r", payee="")
    for paper in ("", "mine"):
        with pytest.raises(IntegrityError, match="under the bank details that two people agreed on"):
            send(hand, 1, 10_000, paper=paper)
    send(hand, 1, 10_000, paper="agreed")
    with pytest.raises(IntegrityError, match="two people agreed on"):
        send(hand, 2, 10_000, paper="agreed")


def test_new_bank_details_wait():
    hand = funded(payee_wait_days=3)
    hand.by_two(kinds.PAYEE_SET, pid(1), {"digest": "new"}, record="r", payee="")
    hand.days = 17.99
    with pytest.raises(
        ConflictError, match=r"the bank details of .* are new; they can be paid from 2026-01-19"
    ):
        send(hand, 1, 10_000, paper="new")
    hand.days = 18
    send(hand, 1, 10_000, paper="new")


# --- how a payment ends
def close(hand: Hand, kind: str, number: int, amount: int = 10_000, batch: str = "b") -> None:
    hand.add(kind, pid(number), {"batch": batch, "amount": amount})


@pytest.mark.parametrize("kind", [kinds.PAID, kinds.FAILED])
def test_a_payment_ends_once(hand, kind):
    send(hand, 1, 10_000)
    sign(hand)
    close(hand, kind, 1)
    state = kind.removeprefix("payout.")
    # What was paid may come back later, by the bank's file: see test_bank_results.
    for again in (kinds.PAID, *[kinds.FAILED] * (kind == kinds.FAILED)):
        with pytest.raises(ConflictError, match=f"in b is {state} already, or of another amount"):
            close(hand, again, 1)
    hand.add(kinds.CLOSED, "b", {"bank": ""}, by="dan")
    hand.state.finish()


def test_a_payment_that_was_not_made_does_not_end(hand):
    send(hand, 1, 10_000)
    with pytest.raises(InputError, match="batch b has no payment to"):
        close(hand, kinds.PAID, 1)
    sign(hand)
    for number, batch in ((2, "b"), (1, "c")):
        with pytest.raises(InputError, match=f"batch {batch} has no payment to '{pid(number)}'"):
            close(hand, kinds.PAID, number, batch=batch)
    with pytest.raises(ConflictError, match="or of another amount"):
        close(hand, kinds.PAID, 1, amount=20_000)


def test_what_came_back_is_payable_to_the_whole_person(hand):
    send(hand, 1, 10_000)
    sign(hand)
    hand.by_two(kinds.MERGED, pid(1), {"into": pid(2)})
    before = hand.balance(f"payable:{pid(2)}")
    close(hand, kinds.FAILED, 1)
    assert hand.balance(f"payable:{pid(2)}") == before + 10_000
    assert hand.balance("clearing:b") == 0


def test_a_signature_closes_its_own_batch_only(hand):
    send(hand, 1, 10_000)
    sign(hand)
    close(hand, kinds.PAID, 1)
    with pytest.raises(InputError, match="there is no payout batch 'c'"):
        hand.add(kinds.CLOSED, "c", {"bank": ""}, by="cat")
    hand.add(kinds.CLOSED, "b", {"bank": ""}, by="dan")
    send(hand, 1, 10_000, batch="c")
    sign(hand, "c")
    close(hand, kinds.PAID, 1, batch="c")
    with pytest.raises(IntegrityError, match="it closes payments of another batch"):
        hand.add(kinds.CLOSED, "b", {"bank": ""}, by="cat")


def test_who_was_erased_is_not_sent_to(hand):
    hand.by_two(kinds.ERASED, pid(1), {"reason": "asked", "also": []}, kept=[])
    with pytest.raises(AnmlError, match="was erased"):
        send(hand, 1, 10_000)
