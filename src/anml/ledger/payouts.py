"""Payout batches: what is payable, rounded down to what a bank can move, sent, and later confirmed."""

from collections.abc import Collection, Mapping

from anml.core.errors import InputError
from anml.core.money import check_currency, floor_minor
from anml.ledger import kinds, people
from anml.ledger.log import Event
from anml.ledger.money_parts import Payouts
from anml.ledger.parts import Payees
from anml.ledger.times import seconds, shown_date
from anml.ledger.writer import Writer


def due(tx: Writer, currency: str, threshold: int = 0) -> dict[str, int]:
    """What could be paid now: the part of each payable that a bank can move, from the threshold on."""
    check_currency(currency)
    payable = tx.verified().state.balances.of_kind("payable:", currency)
    floored = {pid: floor_minor(amount, currency) for pid, amount in sorted(payable.items())}
    return {pid: amount for pid, amount in floored.items() if amount and amount >= threshold}


def waits(tx: Writer, pid: str) -> str:
    """Why new bank details are not paid yet; empty where they are."""
    free = tx.state.part(Payees).free(pid, tx.state.staff.payee_wait_days)
    return f"new bank details: paid from {shown_date(free)}" if seconds(tx.now) < free else ""


def create(
    tx: Writer, batch: str, currency: str, by: str | None, threshold: int, papers: Mapping[str, people.Paper],
    amounts: Mapping[str, int] | None = None,
) -> Event:  # fmt: skip
    """Send what is due to those in `papers`, each batch once; `amounts` were sent already."""
    tx.verified()
    who = tx.who(by)
    body = {"currency": check_currency(currency), "threshold": threshold}
    if repeated := tx.repeated(kinds.BATCHED, f"payout/{batch}", batch, body, who):
        return repeated
    for pid, amount in (due(tx, currency, threshold) if amounts is None else amounts).items():
        if pid in papers:
            sent = {"batch": batch, "amount": amount, **papers[pid]._asdict()}
            tx.append(kinds.SENT, f"payout/{batch}/{pid}/{currency}", pid, sent)
    return tx.append(kinds.BATCHED, f"payout/{batch}", batch, body, by=who)


def close(tx: Writer, batch: str, pids: Collection[str], by: str | None, *, paid: bool) -> list[Event]:
    """Confirm payments, or record that they came back; each payment is closed once."""
    tx.verified()
    found = tx.state.part(Payouts).get(batch)
    payments = {payment.pid: payment for payment in found.payments}
    kind = kinds.PAID if paid else kinds.FAILED
    made = []
    for pid in sorted(pids):
        if pid not in payments:
            raise InputError(f"batch {batch} has no payment to {pid!r}")
        body = {"batch": batch, "amount": payments[pid].amount}
        key = f"payout/{batch}/{pid}/closed"
        if payments[pid].state != "sent":
            # Closed already: the same way is a repeat, another way is a conflict.
            tx.repeated(kind, key, pid, body)
            continue
        made.append(tx.append(kind, key, pid, body))
    if made:
        tx.append(kinds.CLOSED, f"payout/{batch}/closed/{tx.next_seq}", batch, {}, by=tx.who(by))
    return made
