"""Forget a person: everything personal goes, the books stay and still verify."""

from typing import NamedTuple

from anml.core.errors import ConflictError
from anml.ledger import book, people
from anml.ledger.kinds import CONTRIBUTION, CREDITED
from anml.ledger.log import events
from anml.ledger.parts import People
from anml.ledger.state import loaded
from anml.ledger.store import Ledger


class Erased(NamedTuple):
    """What an erasure leaves behind, for the record given to the person; `unreached` is still there."""

    contributor: str
    also: list[str]
    settlements: list[str]
    runs: list[str]
    batches: list[str]
    unpaid: dict[str, int]
    unreached: list[str]


def erase(
    ledger: Ledger,
    pid: str,
    reason: str = "request",
    *,
    by: str | None = None,
    anyway: bool = False,
    dry_run: bool = False,
) -> Erased:
    """Erase a contributor's personal data, all that was merged with it, and list where their work was used.

    With money still held or payable it is refused unless `anyway`: nobody can be paid afterwards.
    """
    found = _uses(ledger, pid)
    if found.unpaid and not anyway:
        open_ = ", ".join(f"{amount} micro-units of {currency}" for currency, amount in found.unpaid.items())
        raise ConflictError(f"contributor {pid} still has {open_} open; pay it first, or erase anyway")
    if dry_run:
        return found
    return found._replace(unreached=people.erase(ledger, pid, reason, by))


def _uses(ledger: Ledger, pid: str) -> Erased:
    with ledger.read() as connection:
        known = loaded(People, connection)
        known.require(pid)
        whole, everybody = known.resolve(pid), known.same(pid)
        settlements: list[str] = []
        batches: list[str] = []
        for one in everybody:
            settlements += [e.settlement for e in events(connection, [CREDITED], one)]
            batches += [e.body["batch"] for e in events(connection, [CONTRIBUTION], one)]
        settled = {s.id: s for s in book.settlements(connection)}
        runs = [settled[sid].run for sid in settlements]
        currencies = sorted({settled[sid].currency for sid in settlements})
        unpaid = {
            currency: sum(
                book.balance(connection, f"{kind}:{one}", currency)
                for kind in ("held", "payable")
                for one in everybody
            )
            for currency in currencies
        }
    also = [one for one in everybody if one != whole]
    left = {name: value for name, value in unpaid.items() if value}
    return Erased(whole, also, settlements, runs, batches, left, [])
