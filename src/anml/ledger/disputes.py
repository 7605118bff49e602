"""Disputes, answered by somebody else, corrected by a second person; only that one's held amount waits."""

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from anml.core.canonical import canonical
from anml.core.errors import ConflictError, InputError
from anml.ledger import kinds, people
from anml.ledger.log import Event
from anml.ledger.money_parts import Answer, Dispute, Disputes
from anml.ledger.state import loaded
from anml.ledger.writer import Writer

LONGEST_TEXT = 4_000


def everything(connection: sa.Connection) -> list[Dispute]:
    """All disputes of all settlements, oldest first."""
    found = loaded(Disputes, connection).found
    return sorted((d for by in found.values() for own in by.values() for d in own), key=lambda d: d.opened)


def open_dispute(
    tx: Writer, sid: str, pid: str, reason: str, key: str, by: str | None = None,
    *, text: str = "", recorded_by: str | None = None, own: Mapping[str, str] | None = None,
) -> Event:  # fmt: skip
    """Open a dispute; without `by` the contributor's own, written down by `recorded_by`, or signed: `own`."""
    who = tx.who(by if by is not None else recorded_by)
    body: dict[str, Any] = {"reason": reason, "opener": "contributor" if by is None else "staff"}
    if own is not None:
        body |= {"key": own["key"], "signed": own["signed"]}
    salt = None if own is None else own["salt"]
    return _append(tx, kinds.OPENED, f"dispute/{key}", pid, body, sid, who, text, salt)


def answer(tx: Writer, sid: str, pid: str, given: Answer, key: str) -> Event:
    """Answer a dispute. One that moves money stays open until a second person resolves it."""
    who = tx.who(given.by)
    body = {"outcome": given.outcome, "reason": given.reason, "correction": given.correction}
    return _append(tx, kinds.ANSWERED, f"dispute/{key}/answered", pid, body, sid, who, given.text)


def resolve(tx: Writer, sid: str, pid: str, by: str | None, key: str) -> Event:
    """Second person: post the correction of an answer, to what is held from the pool or back to it."""
    tx.verified()
    who = tx.who(by)
    last = next(reversed(tx.state.part(Disputes).found.get(sid, {}).get(pid, [])), None)
    body = {"correction": last.answer.correction if last and last.answer else 0}
    name = f"dispute/{key}/resolved"
    if last and last.resolved and (repeated := tx.repeated(kinds.RESOLVED, name, pid, body, who)):
        return repeated
    return tx.append(kinds.RESOLVED, name, pid, body, sid, who)


def _append(
    tx: Writer, kind: str, key: str, pid: str, body: dict[str, Any], sid: str, who: str, text: str,
    salt: str | None = None,
) -> Event:  # fmt: skip
    """A step with words, once: a paper differs each time it is sealed, so only the rest is compared."""

    def same(said: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in said.items() if name not in ("paper", "sealed")}

    if repeated := tx.repeated(kind, key, pid, body, who, same):
        return repeated
    return tx.append(kind, key, pid, {**body, **words(tx, pid, text, salt)._asdict()}, sid, who)


def words(tx: Writer, pid: str, text: str, salt: str | None = None) -> people.Paper:
    """What somebody wrote about a contributor, kept where it can be erased; with their own salt if given."""
    if not text.strip():
        return people.Paper()
    if len(text) > LONGEST_TEXT:
        raise InputError(f"what is written in a dispute has up to {LONGEST_TEXT} letters, got {len(text)}")
    if pid not in tx.state.people.since:
        raise ConflictError(f"there is no contributor {pid!r} in this ledger")
    if salt is not None:
        return people.attach(tx, pid, canonical({"text": text, "salt": salt}))
    return people.attach_values(tx, pid, {"text": text.strip()})
