"""Forget a person: everything personal goes, the books stay and still verify."""

from typing import NamedTuple

from anml.core.errors import ConflictError
from anml.ledger import book, people
from anml.ledger.log import events
from anml.ledger.store import Ledger


class Erased(NamedTuple):
    """What an erasure leaves behind, for the record given to the person."""

    contributor: str
    settlements: list[str]
    runs: list[str]
    batches: list[str]
    unpaid: dict[str, int]


def erase(
    ledger: Ledger, pid: str, reason: str = "request", *, anyway: bool = False, dry_run: bool = False
) -> Erased:
    """Erase a contributor's personal data and list where their work was used.

    With money still held or payable it is refused unless `anyway`: nobody can be paid afterwards.
    """
    found = _uses(ledger, pid)
    if found.unpaid and not anyway:
        open_ = ", ".join(f"{amount} micro-units of {currency}" for currency, amount in found.unpaid.items())
        raise ConflictError(f"contributor {pid} still has {open_} open; pay it first, or erase anyway")
    if not dry_run:
        people.erase(ledger, pid, reason)
    return found


def _uses(ledger: Ledger, pid: str) -> Erased:
    with ledger.read() as connection:
        people.require(connection, pid)
        credits = list(events(connection, ["credit.held"], pid))
        settlements = [e.settlement for e in credits]
        runs = [book.settlement(connection, sid).run for sid in settlements]
        batches = [e.body["batch"] for e in events(connection, ["contribution"], pid)]
        currencies = sorted({book.settlement(connection, sid).currency for sid in settlements})
        unpaid = {
            currency: sum(book.balance(connection, f"{kind}:{pid}", currency) for kind in ("held", "payable"))
            for currency in currencies
        }
    return Erased(pid, settlements, runs, batches, {name: value for name, value in unpaid.items() if value})
