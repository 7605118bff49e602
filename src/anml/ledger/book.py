"""Double entry: every step of a settlement as entries that sum to zero, each in one transaction."""

from collections.abc import Mapping
from typing import Any

from anml.ledger import kinds, two_people
from anml.ledger.log import Event
from anml.ledger.money_parts import Disputes, Settlement, Settlements
from anml.ledger.rules_money import REASONS, below_digest, check_reversal
from anml.ledger.state import POOL
from anml.ledger.writer import Writer

__all__ = ["POOL", "REASONS", "Settlement"]


def draft(tx: Writer, proposal: Settlement) -> Event:
    """Propose a settlement; a draft that it supersedes is withdrawn, a posted one reversed on approval."""
    tx.verified()
    who = tx.who(proposal.by)
    fields = kinds.KINDS[kinds.DRAFTED].fields
    body = {name: value for name, value in proposal._asdict().items() if name in fields}
    key = f"settlement/{proposal.id}"
    if repeated := tx.repeated(kinds.DRAFTED, key, proposal.id, body, who):
        return repeated
    replaced = proposal.supersedes
    if replaced is not None and tx.state.part(Settlements).get(replaced).state == "drafted":
        withdraw(tx, replaced, who, proposal.id)
    return tx.append(kinds.DRAFTED, key, proposal.id, body, by=who)


def free_id(tx: Writer, name: str) -> str:
    """An identifier for a settlement on this manifest: another one where an earlier try was taken back."""
    known = tx.state.part(Settlements).found
    sid, number = f"s{name[:24]}", 1
    while sid in known and known[sid].state in ("withdrawn", "reversed"):
        number += 1
        sid = f"s{name[:21]}-{number}"
    return sid


def withdraw(tx: Writer, sid: str, by: str | None, superseded_by: str | None = None) -> Event:
    """Take back a draft; it can never be approved again."""
    body = {"superseded_by": superseded_by}
    return tx.append(kinds.WITHDRAWN, f"settlement/{sid}/withdrawn", sid, body, by=tx.who(by))


def approve(tx: Writer, sid: str, by: str | None, because: str = "") -> Event:
    """Second person: fund the settlement and hold each amount; `because` of a reason where some get less."""
    tx.verified()
    who = tx.who(by)
    found = tx.state.part(Settlements).get(sid)
    body = {"manifest": found.manifest, "head": found.head, "because": because.strip(),
            "below": below_digest(tx.state.below(found))}  # fmt: skip
    key = f"settlement/{sid}/approved"
    if repeated := tx.repeated(kinds.APPROVED, key, sid, body, who):
        return repeated
    if found.supersedes and tx.state.part(Settlements).get(found.supersedes).state == "posted":
        _reverse_all(tx, found.supersedes, sid)
    made = tx.append(kinds.APPROVED, key, sid, body, sid, who)
    for pid, (_, facts) in sorted(tx.state.owed.credits.items()) if tx.state.owed else ():
        tx.append(kinds.CREDITED, f"credit/{sid}/{pid}", pid, facts, sid)
    if tx.state.owed is not None:
        tx.append(kinds.UNALLOCATED, f"settlement/{sid}/unallocated", sid, {}, sid)
    return made


def release(
    tx: Writer, sid: str, reputations: Mapping[str, int], by: str | None,
    kept: Mapping[str, dict[str, Any]] | None = None,
) -> list[Event]:  # fmt: skip
    """Make what is held payable at `reputations`; open disputes and what is `kept` by decision stay held."""
    tx.verified()
    who = tx.who(by)
    found = tx.state.part(Settlements).expect(sid, "posted")
    held = tx.state.balances.of_kind("held:", found.currency, sid)
    waiting = tx.state.part(Disputes).waiting(sid)
    made = []
    for pid, r in sorted(reputations.items()):
        if held.get(pid) and pid not in waiting:
            # Nothing held means nothing to do, so a repeat has no effect; the key only has to be new.
            key = f"release/{sid}/{pid}/{tx.next_seq}"
            made.append(tx.append(kinds.RELEASED, key, pid, {"r": r}, sid))
    for pid, body in sorted((kept or {}).items()):
        tx.append(kinds.KEPT, f"keep/{sid}/{pid}/{tx.next_seq}", pid, body, sid)
    if made or kept:
        tx.append(kinds.RELEASED_ALL, f"release/{sid}/{tx.next_seq}", sid, {}, sid, who)
    return made


def propose_reversal(tx: Writer, sid: str, pid: str, amount: int, reason: str, by: str | None) -> Event:
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
