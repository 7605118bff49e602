"""Pay what is released: a batch for the bank, then word of what was paid and what came back."""

from typing import Any, NamedTuple

import sqlalchemy as sa

from anml.core.checks import one_of
from anml.core.payee import bank_name, check_bic, check_iban
from anml.ledger import payouts, people
from anml.ledger.log import Writer
from anml.ledger.payouts import Batch
from anml.ledger.store import Ledger

# What a payee must have given before a rail can pay them.
RAILS: dict[str, tuple[str, ...]] = {"csv": (), "pain001": ("name", "iban")}


class Payouts(NamedTuple):
    """A batch, who gets it, and who could not be put into it."""

    batch: Batch
    payees: dict[str, dict[str, Any]]
    left_out: dict[str, str]


def create(
    ledger: Ledger,
    batch: str,
    currency: str,
    by: str,
    threshold: int = 0,
    rail: str = "csv",
    *,
    dry_run: bool = False,
) -> Payouts:
    """Make a payout batch of everything that is due and can be paid this way."""
    needed = RAILS[one_of("payment rail", rail, RAILS)]

    def work(tx: Writer) -> Payouts:
        due = payouts.due(tx.connection, currency)
        payees = {pid: payee(tx.connection, ledger, pid) for pid in due}
        reasons = {pid: _missing(payees[pid], needed, due[pid] < threshold) for pid in due}
        able = {pid for pid, reason in reasons.items() if not reason}
        payouts.create(tx, batch, currency, by, threshold, able)
        made = payouts.get(tx.connection, batch)
        chosen = {payment.pid: payee(tx.connection, ledger, payment.pid) for payment in made.payments}
        left = {pid: reason for pid, reason in reasons.items() if reason}
        return Payouts(made, chosen, left)

    return ledger.carry_out(work, dry_run=dry_run)


def load(ledger: Ledger, batch: str) -> Payouts:
    """A batch made earlier, with its payees as they are now."""
    with ledger.read() as connection:
        made = payouts.get(connection, batch)
        payees = {payment.pid: payee(connection, ledger, payment.pid) for payment in made.payments}
    return Payouts(made, payees, {})


def close(ledger: Ledger, batch: str, pids: list[str] | None, *, paid: bool, dry_run: bool = False) -> Batch:
    """Record that payments (all open ones where none are named) were paid, or came back."""

    def work(tx: Writer) -> Batch:
        found = payouts.get(tx.connection, batch)
        chosen = pids or [payment.pid for payment in found.payments if payment.state == "sent"]
        payouts.close(tx, batch, chosen, paid=paid)
        return payouts.get(tx.connection, batch)

    return ledger.carry_out(work, dry_run=dry_run)


def payee(connection: sa.Connection, ledger: Ledger, pid: str) -> dict[str, Any]:
    """Whom to pay for this contributor: themselves, or the one they were merged into."""
    found = people.profile(connection, ledger.ring, people.resolve(pid, people.merges(connection)))
    return {name: found[name] for name in ("name", "iban", "bic") if found.get(name)} | (
        {} if found else {"erased": True}
    )


def set_payee(ledger: Ledger, pid: str, changes: dict[str, str]) -> None:
    """Change a contributor's name, e-mail or bank details, in the erasable place."""
    checks = {"iban": check_iban, "bic": check_bic}
    values = {name: checks.get(name, str)(value) for name, value in changes.items()}
    ledger.write(lambda tx: people.update_profile(tx, ledger, pid, values))


def _missing(known: dict[str, Any], needed: tuple[str, ...], small: bool) -> str:
    if known.get("erased"):
        return "erased: the amount stays on the books"
    if small:
        return "below the threshold: carried"
    lacking = [name for name in needed if name not in known]
    if lacking:
        return f"no {lacking[0]} given"
    return "no name in Latin letters given" if "name" in needed and not bank_name(known["name"]) else ""
