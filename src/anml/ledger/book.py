"""Double entry: every step of a settlement as entries that sum to zero.

    source:pool -> funding:<settlement> -> held:<contributor> -> payable:<contributor>
                -> clearing:<batch> -> paid:<contributor>

A step is checked and written in one transaction. Corrections are new entries; nothing is changed.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import sqlalchemy as sa

from anml.core.checks import one_of
from anml.core.errors import ConflictError, InputError, IntegrityError
from anml.ledger.log import Event, Posting, Writer, check_name, events, find
from anml.ledger.schema import posting

POOL = "source:pool"
LONGEST_WINDOW = 3_650
REASONS = ("wrong-count", "wrong-weight", "wrong-evidence", "wrong-reputation", "duplicate", "fraud", "other")


class Settlement(NamedTuple):
    """A settlement as its entries leave it.

    `accepted` is why who drafted it settles a run that is doubtful; None where it is not.
    """

    id: str
    state: str
    manifest: str
    currency: str
    pool: int
    by: str
    posted: str | None
    run: str
    window_days: int
    supersedes: str | None
    accepted: str | None = None


def balance(connection: sa.Connection, account: str, currency: str, settlement: str | None = None) -> int:
    """Micro-units on one account."""
    query = sa.select(sa.func.coalesce(sa.func.sum(posting.c.amount), 0)).where(
        posting.c.account == account, posting.c.currency == currency
    )
    if settlement is not None:
        query = query.where(posting.c.settlement == settlement)
    return int(connection.scalar(query) or 0)


def balances(
    connection: sa.Connection, prefix: str, currency: str, settlement: str | None = None
) -> dict[str, int]:
    """Micro-units on every account of one kind, by what follows the prefix."""
    query = (
        sa.select(posting.c.account, sa.func.sum(posting.c.amount).label("amount"))
        .where(posting.c.account.startswith(prefix, autoescape=True), posting.c.currency == currency)
        .group_by(posting.c.account)
    )
    if settlement is not None:
        query = query.where(posting.c.settlement == settlement)
    rows = connection.execute(query)
    return {row.account.removeprefix(prefix): int(row.amount) for row in rows}


def settlement(connection: sa.Connection, sid: str) -> Settlement:
    """A settlement by its identifier."""
    found: Settlement | None = None
    for e in events(connection, subject=sid):
        if e.kind == "settlement.drafted":
            body = e.body
            found = Settlement(id=sid, state="drafted", posted=None, **body)
        elif found is not None and e.kind in _STATE:
            found = found._replace(state=_STATE[e.kind])
            if e.kind == "settlement.approved":
                found = found._replace(posted=e.at)
    if found is None:
        raise InputError(f"there is no settlement {sid!r} in this ledger")
    return found


_STATE = {
    "settlement.approved": "posted",
    "settlement.withdrawn": "withdrawn",
    "settlement.reversed": "reversed",
}


def settlements(connection: sa.Connection) -> list[Settlement]:
    """All settlements, oldest first."""
    return [settlement(connection, e.subject) for e in events(connection, ["settlement.drafted"])]


def draft(tx: Writer, proposal: Settlement) -> Event:
    """Propose a settlement; no money moves yet.

    A run is settled once. To settle it again, the new settlement names the one it supersedes: a draft
    is withdrawn at once, a posted one is reversed when the new one is approved.
    """
    if proposal.pool <= 0:
        raise InputError(f"a pool is more than 0, got {proposal.pool} micro-units")
    if not 0 <= proposal.window_days <= LONGEST_WINDOW:
        raise InputError(f"a dispute window has 0 to {LONGEST_WINDOW} days, got {proposal.window_days}")
    check_name(proposal.by)
    body = {
        name: value for name, value in proposal._asdict().items() if name not in ("id", "state", "posted")
    }
    if proposal.accepted is None:
        del body["accepted"]
    key = f"settlement/{proposal.id}"
    if repeated := tx.repeated("settlement.drafted", key, proposal.id, body):
        return repeated
    for other in settlements(tx.connection):
        if other.run != proposal.run or other.state not in ("drafted", "posted"):
            continue
        if other.id != proposal.supersedes:
            raise ConflictError(f"this run is {other.state} as settlement {other.id}; supersede that one")
        if other.state == "drafted":
            withdraw(tx, other.id, proposal.by, proposal.id)
    return tx.append("settlement.drafted", key, proposal.id, body)


def withdraw(tx: Writer, sid: str, by: str, superseded_by: str | None = None) -> None:
    """Take back a draft; it can never be approved again."""
    expect(settlement(tx.connection, sid), "drafted")
    body = {"by": check_name(by), "superseded_by": superseded_by}
    tx.append("settlement.withdrawn", f"settlement/{sid}/withdrawn", sid, body)


def approve(
    tx: Writer, sid: str, by: str, credits: Mapping[str, tuple[int, dict[str, Any]]], signature: str = ""
) -> Event:
    """Second person: fund the settlement and hold each contributor's amount, in one transaction.

    `credits` gives each contributor's micro-units and the facts that go with them. What the shares do
    not use goes back to the pool at once.
    """
    body = {"by": check_name(by), "signature": signature}
    key = f"settlement/{sid}/approved"
    if repeated := tx.repeated("settlement.approved", key, sid, body):
        return repeated
    found = settlement(tx.connection, sid)
    expect(found, "drafted")
    if by == found.by:
        raise ConflictError(f"{by!r} drafted this settlement; a second person must approve it")
    if found.supersedes and settlement(tx.connection, found.supersedes).state == "posted":
        reverse_all(tx, found.supersedes, by, sid)
    given = sum(amount for amount, _ in credits.values())
    if given > found.pool or any(amount < 0 for amount, _ in credits.values()):
        raise IntegrityError(f"credits of {given} micro-units do not fit a pool of {found.pool}")
    funding, currency = f"funding:{sid}", found.currency
    fund = (Posting(POOL, currency, -found.pool), Posting(funding, currency, found.pool))
    made = tx.append("settlement.approved", key, sid, body, fund, sid)
    for pid, (amount, facts) in sorted(credits.items()):
        move = (Posting(funding, currency, -amount), Posting(f"held:{pid}", currency, amount))
        tx.append("credit.held", f"credit/{sid}/{pid}", pid, facts, move if amount else (), sid)
    if given < found.pool:
        rest = (Posting(funding, currency, given - found.pool), Posting(POOL, currency, found.pool - given))
        tx.append("settlement.unallocated", f"settlement/{sid}/unallocated", sid, {}, rest, sid)
    return made


def held_since(connection: sa.Connection, sid: str, pid: str) -> Event:
    """The entry that credited a contributor."""
    found = find(connection, f"credit/{sid}/{pid}")
    if found is None:
        raise InputError(f"contributor {pid} has no credit in settlement {sid}")
    return found


def disputed(connection: sa.Connection, sid: str) -> set[str]:
    """Contributors with an open dispute in a settlement; an answer that moves money closes none by itself."""
    open_: dict[str, bool] = {}
    for e in events(connection, ["dispute.opened", "dispute.answered", "dispute.resolved"]):
        if e.settlement == sid:
            waits = e.kind == "dispute.answered" and e.body["correction"] != 0
            open_[e.subject] = e.kind == "dispute.opened" or waits
    return {pid for pid, is_open in open_.items() if is_open}


def release(tx: Writer, sid: str, decisions: Mapping[str, tuple[int, dict[str, Any]]]) -> list[Event]:
    """Make what is held payable, less what goes back to the pool; who has nothing held is passed over.

    `decisions` gives, for each contributor, what goes back and the facts it rests on. Whose dispute is
    open stays held.
    """
    found = settlement(tx.connection, sid)
    expect(found, "posted")
    held = balances(tx.connection, "held:", found.currency, sid)
    frozen = disputed(tx.connection, sid)
    made = []
    for pid, (returned, facts) in sorted(decisions.items()):
        amount = held.get(pid, 0)
        if not amount or pid in frozen:
            continue
        if not 0 <= returned <= amount:
            raise InputError(f"between 0 and {amount} can go back to the pool, got {returned}")
        moves = (
            Posting(f"held:{pid}", found.currency, -amount),
            Posting(f"payable:{pid}", found.currency, amount - returned),
            Posting(POOL, found.currency, returned),
        )
        # Nothing held means nothing to do, so a repeat has no effect; the key only has to be new.
        key = f"release/{sid}/{pid}/{tx.next_seq}"
        made.append(
            tx.append("credit.released", key, pid, facts, [move for move in moves if move.amount], sid)
        )
    return made


def reverse(tx: Writer, sid: str, pid: str, amount: int, reason: str, by: str, key: str) -> Event:
    """Take back an amount: from what is held first, then from what is payable, which may go below zero.

    Money that is already paid is not pulled back; the negative balance is carried to later credits.
    """
    body = {"reason": one_of("reason", reason, REASONS), "by": check_name(by), "amount": amount}
    if repeated := tx.repeated("credit.reversed", f"reverse/{key}", pid, body):
        return repeated
    found = settlement(tx.connection, sid)
    expect(found, "posted")
    left = _net(tx.connection, sid, pid, found.currency)
    if not 0 < amount <= left:
        raise ConflictError(f"1 to {left} micro-units of {pid} in {sid} can be reversed, got {amount}")
    return _reverse(tx, sid, pid, amount, body, f"reverse/{key}", found.currency)


def reverse_all(tx: Writer, sid: str, by: str, superseded_by: str | None = None) -> None:
    """Take back a whole posted settlement, contributor by contributor."""
    found = settlement(tx.connection, sid)
    expect(found, "posted")
    pids = [e.subject for e in events(tx.connection, ["credit.held"]) if e.settlement == sid]
    for pid in pids:
        if left := _net(tx.connection, sid, pid, found.currency):
            body = {"reason": "other", "by": by, "amount": left}
            _reverse(tx, sid, pid, left, body, f"reverse/{sid}/{pid}/all", found.currency)
    body = {"by": check_name(by), "superseded_by": superseded_by}
    tx.append("settlement.reversed", f"settlement/{sid}/reversed", sid, body)


def _reverse(
    tx: Writer, sid: str, pid: str, amount: int, body: dict[str, Any], key: str, currency: str
) -> Event:
    from_held = min(amount, balance(tx.connection, f"held:{pid}", currency, sid))
    moves = (
        Posting(f"held:{pid}", currency, -from_held),
        Posting(f"payable:{pid}", currency, from_held - amount),
        Posting(POOL, currency, amount),
    )
    return tx.append("credit.reversed", key, pid, body, [move for move in moves if move.amount], sid)


def _net(connection: sa.Connection, sid: str, pid: str, currency: str) -> int:
    """What a contributor got out of a settlement after earlier returns and reversals."""
    accounts = (f"held:{pid}", f"payable:{pid}")
    return sum(balance(connection, account, currency, sid) for account in accounts)


def expect(found: Settlement, state: str) -> None:
    """An error unless the settlement is in this state."""
    if found.state != state:
        raise ConflictError(f"settlement {found.id} is {found.state}; this step needs it to be {state}")


def totals(connection: sa.Connection) -> dict[str, int]:
    """The sum of all postings by currency; zero, always."""
    rows = connection.execute(
        sa.select(posting.c.currency, sa.func.sum(posting.c.amount).label("amount")).group_by(
            posting.c.currency
        )
    )
    return {row.currency: int(row.amount) for row in rows}
