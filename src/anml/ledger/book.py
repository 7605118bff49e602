"""Every step of a settlement, its disputes and payouts: entries that sum to zero, in one transaction."""

from collections.abc import Collection, Mapping
from typing import Any

from anml.core.canonical import canonical
from anml.core.errors import ConflictError, InputError
from anml.ledger import kinds, two_people
from anml.ledger import personal_data as people
from anml.ledger.log import Event, seconds, shown_date
from anml.ledger.money import check_currency, round_down_to_minor_unit
from anml.ledger.rules_money import check_reversal, reductions_digest
from anml.ledger.state_money import Answer, Settlement
from anml.ledger.writer import Actor, Writer

MAX_TEXT = 4_000


def record_draft(tx: Writer, proposal: Settlement) -> Event:
    """Propose a settlement; a draft that it supersedes is withdrawn, a posted one reversed on approval."""
    tx.verified()
    who = tx.who(proposal.by)
    fields = kinds.ENTRY_KINDS[kinds.DRAFTED].fields
    body = {name: value for name, value in proposal._asdict().items() if name in fields}
    body |= {"terms": proposal.terms} if proposal.terms else {}
    key = f"settlement/{proposal.id}"
    if repeated := tx.repeated(kinds.DRAFTED, key, proposal.id, body, who):
        return repeated
    replaced = proposal.supersedes
    if replaced is not None and tx.state.settlements.get(replaced).state == "drafted":
        withdraw(tx, replaced, who, proposal.id)
    return tx.append(kinds.DRAFTED, key, proposal.id, body, by=who)


def free_id(tx: Writer, name: str) -> str:
    """An identifier for a settlement on this manifest: another one where an earlier try was taken back."""
    known = tx.state.settlements.found
    sid, number = f"s{name[:24]}", 1
    while sid in known and known[sid].state in ("withdrawn", "reversed"):
        number += 1
        sid = f"s{name[:21]}-{number}"
    return sid


def withdraw(tx: Writer, sid: str, by: Actor = None, superseded_by: str | None = None) -> Event:
    """Take back a draft; it can never be approved again."""
    body = {"superseded_by": superseded_by}
    return tx.append(kinds.WITHDRAWN, f"settlement/{sid}/withdrawn", sid, body, by=tx.who(by))


def approve(tx: Writer, sid: str, by: Actor, because: str = "") -> Event:
    """Second person: fund the settlement and hold each amount; `because` of a reason where some get less."""
    tx.verified()
    who = tx.who(by)
    found = tx.state.settlements.get(sid)
    body = {"manifest": found.manifest, "head": found.head, "because": because.strip(),
            "below": reductions_digest(tx.state.below(found))}  # fmt: skip
    key = f"settlement/{sid}/approved"
    if repeated := tx.repeated(kinds.APPROVED, key, sid, body, who):
        return repeated
    if found.supersedes and tx.state.settlements.get(found.supersedes).state == "posted":
        _reverse_all(tx, found.supersedes, sid)
    made = tx.append(kinds.APPROVED, key, sid, body, sid, who)
    for pid, (_, facts) in sorted(tx.state.owed.credits.items()) if tx.state.owed else ():
        tx.append(kinds.CREDITED, f"credit/{sid}/{pid}", pid, facts, sid)
    if tx.state.owed is not None:
        tx.append(kinds.UNALLOCATED, f"settlement/{sid}/unallocated", sid, {}, sid)
    return made


def release(
    tx: Writer, sid: str, reputations: Mapping[str, int], by: Actor,
    kept: Mapping[str, dict[str, Any]] | None = None,
) -> list[Event]:  # fmt: skip
    """Make what is held payable at `reputations`; open disputes and what is `kept` by decision stay held."""
    tx.verified()
    who = tx.who(by)
    found = tx.state.settlements.expect(sid, "posted")
    held = tx.state.balances.of_kind("held:", found.currency, sid)
    waiting = tx.state.disputes.waiting(sid)
    made = []
    for pid, r in sorted(reputations.items()):
        if held.get(pid) and pid not in waiting:
            # Nothing held means nothing to do, so a repeat has no effect; the key only has to be new.
            made.append(tx.append(kinds.RELEASED, f"release/{sid}/{pid}/{tx.next_seq}", pid, {"r": r}, sid))
    for pid, body in sorted((kept or {}).items()):
        tx.append(kinds.KEPT, f"keep/{sid}/{pid}/{tx.next_seq}", pid, body, sid)
    if made or kept:
        tx.append(kinds.RELEASED_ALL, f"release/{sid}/{tx.next_seq}", sid, {}, sid, who)
    return made


def propose_reversal(tx: Writer, sid: str, pid: str, amount: int, reason: str, by: Actor) -> Event:
    """Ask to take back an amount: of what is held, then of what is payable, and then of later credits."""
    check_reversal(tx.state, sid, pid, amount, reason)
    body = {"reason": reason, "amount": amount}
    return two_people.propose(tx, kinds.REVERSED, pid, body, by, settlement=sid)


def _reverse_all(tx: Writer, sid: str, superseded_by: str) -> None:
    """Take back a whole posted settlement, contributor by contributor, for the one that replaces it."""
    for pid, left in tx.state.credits.left(sid).items():
        body = {"reason": "other", "amount": left, "proposal": 0}
        tx.append(kinds.REVERSED, f"reverse/{sid}/{pid}/all", pid, body, sid)
    body = {"superseded_by": superseded_by}
    tx.append(kinds.REVERSED_ALL, f"settlement/{sid}/reversed", sid, body, sid)


def open_dispute(
    tx: Writer, sid: str, pid: str, reason: str, key: str, by: Actor = None,
    *, text: str = "", recorded_by: Actor = None, own: Mapping[str, str] | None = None,
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


def resolve(tx: Writer, sid: str, pid: str, by: Actor, key: str) -> Event:
    """Second person: post the correction of an answer, to what is held from the pool or back to it."""
    tx.verified()
    who = tx.who(by)
    last = next(reversed(tx.state.disputes.of(sid, pid)), None)
    body = {"correction": last.answer.correction if last and last.answer else 0}
    name = f"dispute/{key}/resolved"
    if last and last.resolved and (repeated := tx.repeated(kinds.RESOLVED, name, pid, body, who)):
        return repeated
    return tx.append(kinds.RESOLVED, name, pid, body, sid, who)


def _append(
    tx: Writer, kind: str, key: str, pid: str, body: dict[str, Any], sid: str, who: str, text: str,
    salt: str | None = None,
) -> Event:  # fmt: skip
    """A step with words, once."""
    if repeated := tx.repeated(kind, key, pid, body, who):
        return repeated
    return tx.append(kind, key, pid, {**body, **store_free_text(tx, pid, text, salt)}, sid, who)


def store_free_text(tx: Writer, pid: str, text: str, salt: str | None = None) -> people.Paper:
    """Store a text about a contributor as an erasable document, with the provided salt if any."""
    if not text.strip():
        return people.NO_DOCUMENT
    if len(text) > MAX_TEXT:
        raise InputError(f"what is written in a dispute has up to {MAX_TEXT} letters, got {len(text)}")
    if pid not in tx.state.people.since:
        raise ConflictError(f"there is no contributor {pid!r} in this ledger")
    if salt is not None:
        return people.store_document(tx, pid, canonical({"text": text, "salt": salt}))
    return people.store_values(tx, pid, {"text": text.strip()})


def amounts_due(tx: Writer, currency: str, threshold: int = 0) -> dict[str, int]:
    """Amounts that can be paid now: payables rounded down to minor units, at or above the threshold."""
    check_currency(currency)
    payable = tx.verified().state.balances.of_kind("payable:", currency)
    floored = {pid: round_down_to_minor_unit(amount, currency) for pid, amount in sorted(payable.items())}
    return {pid: amount for pid, amount in floored.items() if amount and amount >= threshold}


def payout_block_reason(tx: Writer, pid: str) -> str:
    """Return the reason why new bank details cannot be paid yet; empty if they can."""
    free = tx.state.payees.free(pid, tx.state.staff.payee_wait_days)
    return f"new bank details: paid from {shown_date(free)}" if seconds(tx.now) < free else ""


def create_payout_batch(
    tx: Writer, batch: str, currency: str, by: Actor, threshold: int, papers: Mapping[str, people.Paper],
    amounts: Mapping[str, int] | None = None,
) -> Event:  # fmt: skip
    """Send what is due to those in `papers`, each batch once; `amounts` were sent already."""
    tx.verified()
    who = tx.who(by)
    body = {"currency": check_currency(currency), "threshold": threshold}
    if repeated := tx.repeated(kinds.BATCHED, f"payout/{batch}", batch, body, who):
        return repeated
    for pid, amount in (amounts_due(tx, currency, threshold) if amounts is None else amounts).items():
        if pid in papers:
            sent = {"batch": batch, "amount": amount, **papers[pid]}
            tx.append(kinds.SENT, f"payout/{batch}/{pid}/{currency}", pid, sent)
    return tx.append(kinds.BATCHED, f"payout/{batch}", batch, body, by=who)


def close_payments(
    tx: Writer, batch: str, pids: Collection[str], by: Actor, *, paid: bool, bank: str = ""
) -> list[Event]:
    """Confirm payments, or record that they came back, by the file of this hash; each is closed once."""
    tx.verified()
    payments = {payment.pid: payment for payment in tx.state.payouts.get(batch).payments}
    kind = kinds.PAID if paid else kinds.FAILED
    made = []
    for pid in sorted(pids):
        if pid not in payments:
            raise InputError(f"batch {batch} has no payment to {pid!r}")
        body = {"batch": batch, "amount": payments[pid].amount}
        key = f"payout/{batch}/{pid}/{'paid' if paid else 'failed'}"
        if payments[pid].state != "sent" and not (bank and not paid and payments[pid].state == "paid"):
            # Closed already: the same way is a repeat, another way is a conflict.
            if tx.repeated(kind, key, pid, body) is None:
                was = payments[pid].state
                raise ConflictError(f"the payment to {pid} was used before for another request: it is {was}")
            continue
        made.append(tx.append(kind, key, pid, body))
    if made:
        key = f"payout/{batch}/closed/{tx.next_seq}"
        tx.append(kinds.CLOSED, key, batch, {"bank": bank}, by=tx.who(by))
    return made
