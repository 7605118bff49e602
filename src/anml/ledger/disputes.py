"""Disputes: opened in the window, answered by somebody else, and paid for by a second person's word.

    opened -> answered: rejected, or upheld without money: closed, and released after the window
           -> answered: upheld with a correction -> resolved by a second person, who posts it

While a dispute is open only that contributor's held amount waits. Every step is an entry; nothing is
changed.
"""

from datetime import UTC, datetime
from typing import Any, NamedTuple

import sqlalchemy as sa

from anml.core.checks import one_of
from anml.core.errors import ConflictError, InputError
from anml.core.signals.track_record import DAY
from anml.ledger import book
from anml.ledger.log import Event, Posting, Writer, check_name, events
from anml.ledger.store import seconds

OPENED, ANSWERED, RESOLVED = "dispute.opened", "dispute.answered", "dispute.resolved"
OUTCOMES = ("upheld", "rejected")
# Codes rather than text: what is in the log stays there, and people write names into text.
ANSWERS = (
    "as-computed",
    "count-corrected",
    "weight-corrected",
    "evidence-corrected",
    "reputation-corrected",
    "not-shown",
    "other",
)


class Answer(NamedTuple):
    """What somebody decided: the outcome, why, and micro-units to add to what is held (or to take)."""

    outcome: str
    reason: str
    by: str
    correction: int = 0


class Dispute(NamedTuple):
    """A dispute as its entries leave it."""

    pid: str
    opened: str
    reason: str
    by: str
    answered: str | None = None
    answer: Answer | None = None
    resolved: str | None = None
    resolved_by: str | None = None

    @property
    def closed(self) -> bool:
        """Nothing waits for it any more."""
        return self.resolved is not None or (self.answer is not None and not self.answer.correction)


def window_end(found: book.Settlement) -> float:
    """When the dispute window of a posted settlement is over, in seconds."""
    return seconds(found.posted or "") + found.window_days * DAY


def disputes(connection: sa.Connection, sid: str) -> dict[str, list[Dispute]]:
    """All disputes of a settlement by contributor, oldest first."""
    found: dict[str, list[Dispute]] = {}
    for e in events(connection, [OPENED, ANSWERED, RESOLVED]):
        if e.settlement != sid:
            continue
        own, body = found.setdefault(e.subject, []), e.body
        if e.kind == OPENED:
            own.append(Dispute(e.subject, e.at, body["reason"], body["by"]))
        elif e.kind == ANSWERED:
            own[-1] = own[-1]._replace(answered=e.at, answer=Answer(**body))
        else:
            own[-1] = own[-1]._replace(resolved=e.at, resolved_by=body["by"])
    return found


def open_dispute(tx: Writer, sid: str, pid: str, reason: str, key: str, by: str | None = None) -> Event:
    """Open a dispute: freezes this contributor's held amount, nobody else's. Without `by` it is theirs."""
    body = {"reason": one_of("reason", reason, book.REASONS), "by": check_name(by or pid)}
    if repeated := tx.repeated(OPENED, f"dispute/{key}", pid, body):
        return repeated
    found = book.settlement(tx.connection, sid)
    book.expect(found, "posted")
    book.held_since(tx.connection, sid, pid)
    ends = window_end(found)
    if seconds(tx.now) >= ends:
        raise ConflictError(
            f"the dispute window of settlement {sid} ended on {_date(ends)}; what is wrong can still be "
            "corrected by a reversal or by a settlement that supersedes it"
        )
    if pid in book.disputed(tx.connection, sid):
        raise ConflictError(f"contributor {pid} has an open dispute in {sid} already")
    return tx.append(OPENED, f"dispute/{key}", pid, body, (), sid)


def answer(tx: Writer, sid: str, pid: str, given: Answer, key: str) -> Event:
    """Answer a dispute. One that moves money stays open until a second person resolves it."""
    one_of("outcome", given.outcome, OUTCOMES)
    one_of("reason of an answer", given.reason, ANSWERS)
    check_name(given.by)
    if given.correction and given.outcome != "upheld":
        raise InputError("only a dispute that is upheld can change an amount")
    body: dict[str, Any] = given._asdict()
    if repeated := tx.repeated(ANSWERED, f"dispute/{key}/answered", pid, body):
        return repeated
    current = _open(tx.connection, sid, pid)
    if given.by == current.by:
        raise ConflictError(f"{given.by!r} opened this dispute; another person must answer it")
    _check_held(tx.connection, sid, pid, given.correction)
    return tx.append(ANSWERED, f"dispute/{key}/answered", pid, body, (), sid)


def resolve(tx: Writer, sid: str, pid: str, by: str, key: str) -> Event:
    """Second person: post the correction of an answer, to what is held from the pool or back to it."""
    check_name(by)
    earlier = disputes(tx.connection, sid).get(pid, [])
    last = earlier[-1] if earlier else None
    done = last is not None and last.resolved is not None
    correction = last.answer.correction if last is not None and last.answer is not None else 0
    body = {"by": by, "correction": correction}
    if done and (repeated := tx.repeated(RESOLVED, f"dispute/{key}/resolved", pid, body)):
        return repeated
    current = _open(tx.connection, sid, pid)
    if current.answer is None:
        raise ConflictError(f"the dispute of {pid} in {sid} has no answer yet; it is answered first")
    if by in (current.answer.by, current.by):
        part = "answered" if by == current.answer.by else "opened"
        raise ConflictError(f"{by!r} {part} this dispute; a second person must resolve it")
    _check_held(tx.connection, sid, pid, correction)
    currency = book.settlement(tx.connection, sid).currency
    move = (Posting(book.POOL, currency, -correction), Posting(f"held:{pid}", currency, correction))
    return tx.append(RESOLVED, f"dispute/{key}/resolved", pid, body, move, sid)


def _open(connection: sa.Connection, sid: str, pid: str) -> Dispute:
    book.expect(book.settlement(connection, sid), "posted")
    earlier = disputes(connection, sid).get(pid, [])
    if not earlier or earlier[-1].closed:
        raise ConflictError(f"contributor {pid} has no open dispute in {sid}")
    return earlier[-1]


def _check_held(connection: sa.Connection, sid: str, pid: str, correction: int) -> None:
    held = book.balance(connection, f"held:{pid}", book.settlement(connection, sid).currency, sid)
    if held + correction < 0:
        raise ConflictError(f"the correction {correction} is more than what is held in {sid}")


def _date(timestamp: float) -> str:
    return datetime.fromtimestamp(timestamp, UTC).strftime("%Y-%m-%d %H:%M UTC")
