"""Disputes: opened in the window, answered by somebody else, and paid for by a second person's word.

    opened -> answered: rejected, or upheld without money: closed, and released after the window
           -> answered: upheld with a correction -> resolved by a second person, who posts it

While a dispute is open only that contributor's held amount waits. Every step is an entry; nothing is
changed. What people write lies where it can be erased, and the log holds its salted hash.
"""

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from anml.core.canonical import canonical
from anml.core.errors import ConflictError, InputError
from anml.ledger import kinds, people
from anml.ledger.log import Event
from anml.ledger.money_parts import Answer, Dispute, Disputes
from anml.ledger.rules_disputes import ANSWERS, OUTCOMES
from anml.ledger.state import loaded
from anml.ledger.store import Ledger
from anml.ledger.writer import Writer

__all__ = ["ANSWERS", "OUTCOMES", "Answer", "Dispute", "answer", "disputes", "open_dispute", "resolve"]

LONGEST_TEXT = 4_000


def disputes(connection: sa.Connection, sid: str) -> dict[str, list[Dispute]]:
    """All disputes of a settlement by contributor, oldest first."""
    return loaded(Disputes, connection).found.get(sid, {})


def everything(connection: sa.Connection) -> list[Dispute]:
    """All disputes of all settlements, oldest first."""
    found = loaded(Disputes, connection).found
    return sorted((d for by in found.values() for own in by.values() for d in own), key=lambda d: d.opened)


def open_dispute(
    tx: Writer, sid: str, pid: str, reason: str, key: str, by: str | None = None,
    *, text: str = "", ledger: Ledger | None = None, recorded_by: str | None = None,
    own: Mapping[str, str] | None = None,
) -> Event:  # fmt: skip
    """Open a dispute: freezes this contributor's held amount, nobody else's.

    Without `by` it is the contributor's own, and `recorded_by` of the staff writes it down; `own` is their
    signature, with the key's name and the salt of their words.
    """
    who = tx.who(by if by is not None else recorded_by)
    body: dict[str, Any] = {"reason": reason, "opener": "contributor" if by is None else "staff"}
    if own is not None:
        body |= {"key": own["key"], "signed": own["signed"]}
    if repeated := tx.repeated(kinds.OPENED, f"dispute/{key}", pid, body, who, _without_paper):
        return repeated
    paper = words(tx, ledger, pid, text, None if own is None else own["salt"])
    return tx.append(kinds.OPENED, f"dispute/{key}", pid, {**body, **paper._asdict()}, sid, who)


def answer(tx: Writer, sid: str, pid: str, given: Answer, key: str, *, ledger: Ledger | None = None) -> Event:
    """Answer a dispute. One that moves money stays open until a second person resolves it."""
    who = tx.who(given.by)
    body = {"outcome": given.outcome, "reason": given.reason, "correction": given.correction}
    if repeated := tx.repeated(kinds.ANSWERED, f"dispute/{key}/answered", pid, body, who, _without_paper):
        return repeated
    paper = words(tx, ledger, pid, given.text)
    return tx.append(kinds.ANSWERED, f"dispute/{key}/answered", pid, {**body, **paper._asdict()}, sid, who)


def resolve(tx: Writer, sid: str, pid: str, by: str | None, key: str) -> Event:
    """Second person: post the correction of an answer, to what is held from the pool or back to it."""
    tx.verified("corrected in")
    who = tx.who(by)
    earlier = tx.state.part(Disputes).found.get(sid, {}).get(pid, [])
    last = earlier[-1] if earlier else None
    done = last is not None and last.resolved is not None
    correction = last.answer.correction if last is not None and last.answer is not None else 0
    body = {"correction": correction}
    if done and (repeated := tx.repeated(kinds.RESOLVED, f"dispute/{key}/resolved", pid, body, who)):
        return repeated
    return tx.append(kinds.RESOLVED, f"dispute/{key}/resolved", pid, body, sid, who)


def _without_paper(body: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in body.items() if name not in ("paper", "sealed")}


def words(tx: Writer, ledger: Ledger | None, pid: str, text: str, salt: str | None = None) -> people.Paper:
    """What somebody wrote about a contributor, kept where it can be erased; with their own salt if given."""
    if not text.strip() or ledger is None:
        return people.Paper()
    if len(text) > LONGEST_TEXT:
        raise InputError(f"what is written in a dispute has up to {LONGEST_TEXT} letters, got {len(text)}")
    if pid not in tx.state.people.since:
        raise ConflictError(f"there is no contributor {pid!r} in this ledger")
    if salt is not None:
        return people.attach(tx, ledger, pid, canonical({"text": text, "salt": salt}))
    return people.attach_values(tx, ledger, pid, {"text": text.strip()})
