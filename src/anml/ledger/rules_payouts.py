"""Rules of payouts: what can be sent, to which account, and how a payment ends."""

import re

from anml.core.errors import ConflictError, InputError, IntegrityError
from anml.core.money import check_currency, minor_unit
from anml.ledger import kinds
from anml.ledger.log import Event, Posting
from anml.ledger.money_parts import Payouts
from anml.ledger.parts import Payees
from anml.ledger.rules_money import move
from anml.ledger.rules_staff import apart
from anml.ledger.state import State
from anml.ledger.times import seconds, shown_date


def _sent(state: State, e: Event) -> list[Posting]:
    pid, amount, batch = e.subject, e.body["amount"], e.body["batch"]
    currency = e.key.rpartition("/")[2]
    state.people.require(pid)
    if batch in state.part(Payouts).heads or e.key != f"payout/{batch}/{pid}/{currency}":
        raise IntegrityError(f"the payment belongs to no batch {batch} that is being made")
    if amount <= 0 or amount % minor_unit(currency):
        raise IntegrityError(f"no bank can move {amount} micro-units of {currency}")
    # The profile can be changed by whoever holds the keys; what two people signed cannot.
    if e.body["paper"] != state.part(Payees).paper.get(pid, ""):
        raise IntegrityError(f"it does not pay {pid} under the bank details that two people agreed on")
    if state.strict and not e.body["paper"]:
        raise ConflictError(f"two people have agreed on no name or bank details to pay {pid} under")
    free = state.part(Payees).free(pid, state.staff.payee_wait_days)
    if seconds(e.at) < free:
        raise ConflictError(f"the bank details of {pid} are new; they can be paid from {shown_date(free)}")
    return move(f"payable:{pid}", f"clearing:{batch}", currency, amount)


def _batched(state: State, e: Event) -> None:
    batch, currency = e.subject, check_currency(e.body["currency"])
    if not re.fullmatch(r"[A-Za-z0-9-]{1,20}", batch):
        raise InputError(f"a batch is named by 1 to 20 letters, digits or hyphens, got {batch!r}")
    if batch in state.part(Payouts).heads:
        raise ConflictError(f"there is a batch {batch} already")
    if not state.open:
        raise ConflictError(f"nothing can be paid in {currency}: nothing is released and not yet paid")
    for one in state.open:
        if one.body["batch"] != batch or one.postings[0].currency != currency:
            raise IntegrityError(f"entry {one.seq} is of another batch or currency")
        # Whoever says so of others' batches could pay a friend twice as well.
        for said in state.part(Payouts).came_back.get((one.subject, currency), ()) if state.strict else ():
            apart(
                state, said, e, f"recorded that a payment to {one.subject} came back; another sends it again"
            )


def _closed(state: State, e: Event) -> None:
    batch = state.part(Payouts).get(e.subject)
    if any(one.body["batch"] != e.subject for one in state.open):
        raise IntegrityError("it closes payments of another batch")
    if not state.open:
        raise IntegrityError("it closes no payment")
    # What came back is paid again: whoever says so of their own batch could pay a friend twice.
    if any(one.kind == kinds.FAILED for one in state.open):
        apart(state, batch.by, e, "made this batch; a second person must record what came back")


def _settled(state: State, e: Event) -> list[Posting]:
    """A payment that was paid, or came back."""
    batch, pid = e.body["batch"], e.subject
    known = state.part(Payouts)
    payment = known.payments.get(batch, {}).get(pid)
    if payment is None or batch not in known.heads:
        raise InputError(f"batch {batch} has no payment to {pid!r}")
    if payment.state != "sent" or payment.amount != e.body["amount"]:
        raise ConflictError(
            f"the payment to {pid} in {batch} is {payment.state} already, or of another amount"
        )
    target = f"paid:{pid}" if e.kind == kinds.PAID else f"payable:{state.people.resolve(pid)}"
    return move(f"clearing:{batch}", target, known.heads[batch][0], payment.amount)


PAYOUT_RULES = {
    kinds.SENT: _sent,
    kinds.BATCHED: _batched,
    kinds.PAID: _settled,
    kinds.FAILED: _settled,
    kinds.CLOSED: _closed,
}
