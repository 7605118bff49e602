"""Payout batches: what is payable, rounded down to what a bank can move, sent, and later confirmed."""

import re
from collections.abc import Collection
from typing import NamedTuple

import sqlalchemy as sa

from anml.core.errors import ConflictError, InputError
from anml.core.money import check_currency, floor_minor
from anml.ledger.book import balances
from anml.ledger.log import Event, Posting, Writer, check_name, events


class Payment(NamedTuple):
    """One payment of a batch: sent, paid or failed."""

    pid: str
    amount: int
    state: str
    seq: int


class Batch(NamedTuple):
    """A payout batch; amounts in micro-units, each a whole number of the bank's smallest unit."""

    id: str
    currency: str
    by: str
    at: str
    payments: tuple[Payment, ...]

    @property
    def total(self) -> int:
        """The sum of its payments."""
        return sum(payment.amount for payment in self.payments)


def due(connection: sa.Connection, currency: str, threshold: int = 0) -> dict[str, int]:
    """What could be paid now: the part of each payable that a bank can move, from the threshold on."""
    check_currency(currency)
    payable = balances(connection, "payable:", currency)
    floored = {pid: floor_minor(amount, currency) for pid, amount in sorted(payable.items())}
    return {pid: amount for pid, amount in floored.items() if amount and amount >= threshold}


def create(
    tx: Writer, batch: str, currency: str, by: str, threshold: int = 0, only: Collection[str] | None = None
) -> Event:
    """Move what is due from payable to clearing; what a bank cannot move stays payable.

    `only` limits the batch to contributors who can be paid (who have given an account).
    """
    if not re.fullmatch(r"[A-Za-z0-9-]{1,20}", batch):
        raise InputError(f"a batch is named by 1 to 20 letters, digits or dashes, got {batch!r}")
    body = {"currency": check_currency(currency), "by": check_name(by), "threshold": threshold}
    if repeated := tx.repeated("payout.created", f"payout/{batch}", batch, body):
        return repeated
    amounts = due(tx.connection, currency, threshold)
    payable = {pid: amount for pid, amount in amounts.items() if only is None or pid in only}
    if not payable:
        raise ConflictError(f"nothing can be paid in {currency}: no released amount reaches the threshold")
    made = tx.append("payout.created", f"payout/{batch}", batch, body)
    for pid, amount in payable.items():
        moves = (Posting(f"payable:{pid}", currency, -amount), Posting(f"clearing:{batch}", currency, amount))
        tx.append("payout.sent", f"payout/{batch}/{pid}", pid, {"batch": batch, "amount": amount}, moves)
    return made


def close(tx: Writer, batch: str, pids: Collection[str], *, paid: bool) -> list[Event]:
    """Confirm payments, or record that they came back; each payment is closed once."""
    found = get(tx.connection, batch)
    payments = {payment.pid: payment for payment in found.payments}
    kind = "payout.paid" if paid else "payout.failed"
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
        moves = (
            Posting(f"clearing:{batch}", found.currency, -payments[pid].amount),
            Posting(f"paid:{pid}" if paid else f"payable:{pid}", found.currency, payments[pid].amount),
        )
        made.append(tx.append(kind, key, pid, body, moves))
    return made


def get(connection: sa.Connection, batch: str) -> Batch:
    """A batch by its identifier."""
    header = next(iter(events(connection, ["payout.created"], batch)), None)
    if header is None:
        raise InputError(f"there is no payout batch {batch!r} in this ledger")
    states: dict[str, Payment] = {}
    for e in events(connection, ["payout.sent", "payout.paid", "payout.failed"]):
        if e.body["batch"] == batch:
            # The number of the first entry is the payment's reference at the bank.
            seq = states[e.subject].seq if e.subject in states else e.seq
            states[e.subject] = Payment(e.subject, e.body["amount"], e.kind.removeprefix("payout."), seq)
    payments = tuple(states[pid] for pid in sorted(states))
    return Batch(batch, header.body["currency"], header.body["by"], header.at, payments)


def batches(connection: sa.Connection) -> list[Batch]:
    """All batches, oldest first."""
    return [get(connection, e.subject) for e in events(connection, ["payout.created"])]
