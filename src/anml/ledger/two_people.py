"""Steps that one person proposes and another confirms; what is personal lies in sealed papers."""

from collections.abc import Callable, Sequence
from typing import Any

from anml.core.canonical import sha256
from anml.core.checks import one_of
from anml.core.errors import ConflictError, InputError
from anml.ledger import keys, kinds
from anml.ledger import personal_data as people
from anml.ledger.identifiers import key_owner_id, staff_id
from anml.ledger.log import Event, format_timestamp, parse_timestamp
from anml.ledger.rules_staff import recovery_bytes, sound_key
from anml.ledger.signing import Signer, signature
from anml.ledger.writer import Actor, Writer
from anml.signals.policy import EVIDENCE

# A key may vouch for all of these unless told otherwise. Flags and their lifting are granted one by one.
DEFAULT_MAY = frozenset(name for name, kind in EVIDENCE.items() if kind.default)


def propose(
    tx: Writer, step: str, subject: str, body: dict[str, Any], by: Actor,
    paper: people.Paper = people.NO_DOCUMENT, settlement: str = "",
) -> Event:  # fmt: skip
    """Ask for a second person's word; the same question twice, while it is open, is one."""
    who = tx.who(by)
    for found in tx.state.proposals.waiting:
        same = (found.body["step"], found.subject, found.body["body"], found.settlement, found.by)
        if same == (step, subject, body, settlement, who):
            tx.flush()
            return next(tx.reading.entries([found.seq]))
    whole = {"step": step, "body": body, **paper}
    return tx.append(kinds.PROPOSED, f"proposal/{tx.next_seq}", subject, whole, settlement, who)


def withdraw_proposal(tx: Writer, number: int, by: Actor) -> Event:
    """Take a proposal off the list."""
    found = tx.state.proposals.open(number)
    key = f"proposal/{number}/dropped"
    return tx.append(kinds.DROPPED, key, found.subject, {"proposal": number}, by=tx.who(by))


def confirm(tx: Writer, number: int, by: Actor) -> Event:
    """Carry out a proposal as the second person."""
    found = tx.verified().state.proposals.open(number)
    step = found.body["step"]
    added = _CARRY_OUT[step](tx, found) if step in _CARRY_OUT else {}
    body = {**found.body["body"], "proposal": number, **added}
    return tx.append(step, f"proposal/{number}/confirmed", found.subject, body, found.settlement, tx.who(by))


def _proposal_document(tx: Writer, found: Event) -> dict[str, Any]:
    tx.state.people.require(found.subject)
    return people.read_values(tx.connection, tx.ring, found.subject, found.body["paper"])


def _set_payee(tx: Writer, found: Event) -> dict[str, Any]:
    pid, changes = found.subject, _proposal_document(tx, found)
    old = people.profile(tx.reading, tx.ring, pid)
    claim, iban = "", changes.get("iban")
    if iban and iban != old.get("iban") and not _confirmed_account(tx, iban, pid):
        claim = people.add_alias(tx, people.PAYEE_KIND, iban, pid)
    return {"record": people.store_profile(tx, pid, {**old, **changes}), "payee": claim}


def _confirmed_account(tx: Writer, iban: str, pid: str) -> bool:
    """True if a bank account is registered for this contributor; an error if for another one."""
    owner = tx.reading.held.owners.get(tx.ring.handle(people.PAYEE_KIND, iban))
    if owner in tx.state.people.erased and tx.state.people.resolve(owner) == owner:
        raise ConflictError(
            f"this bank account belongs to contributor {owner}, who was erased with a debt; merge {owner} "
            f"into {pid} first, so that the debt follows"
        )
    if owner is not None and tx.state.people.resolve(owner) != tx.state.people.resolve(pid):
        raise ConflictError(
            f"this bank account belongs to contributor {owner}; map the two together instead of paying both"
        )
    return owner is not None


def _map(tx: Writer, found: Event) -> dict[str, Any]:
    pid, said = found.subject, _proposal_document(tx, found)
    source, name = said["source"], said["account"]
    if people.lookup_all(tx.reading, tx.ring, source, [name]):
        raise ConflictError("this account has a record of its own by now; map it again")
    account = people.add_alias(tx, people.ACCOUNT, f"{source}\x00{name}", pid)
    old = people.profile(tx.reading, tx.ring, pid)
    accounts = [*old.get("accounts", []), f"{source}:{name}"]
    return {"record": people.store_profile(tx, pid, {**old, "accounts": accounts}), "account": account}


def _erase(tx: Writer, found: Event) -> dict[str, Any]:
    return people.delete_personal_rows(tx, found.subject)


# What a step does and adds to its entry when it is confirmed, beside what was proposed.
_CARRY_OUT: dict[str, Callable[[Writer, Event], dict[str, Any]]] = {
    kinds.PAYEE_SET: _set_payee,
    kinds.MAPPED: _map,
    kinds.ERASED: _erase,
    kinds.STAFF_RENEWED: lambda *_: {"recovery": ""},
}


def propose_payee(tx: Writer, pid: str, changes: dict[str, str], by: Actor) -> Event:
    """Propose a name and bank details to pay somebody under."""
    tx.state.people.require(pid)
    if iban := changes.get("iban"):
        _confirmed_account(tx, iban, pid)
    # The paper holds all of it, so that the last one that two people signed is all there is.
    agreed = tx.state.payees.paper.get(pid, "")
    whole = {**people.read_values(tx.connection, tx.ring, pid, agreed), **changes}
    return _propose_sealed(tx, kinds.PAYEE_SET, pid, whole, by)


def propose_account(tx: Writer, source: str, name: str, pid: str, by: Actor) -> Event | None:
    """Propose that an account belongs to a contributor; one that has its own record is merged into it."""
    tx.state.people.require(pid)
    old = people.lookup_all(tx.reading, tx.ring, source, [name]).get(name)
    into = tx.state.people.resolve(pid)
    if old is None:
        return _propose_sealed(tx, kinds.MAPPED, into, {"source": source, "account": name}, by)
    return None if old == into else propose(tx, kinds.MERGED, old, {"into": into}, by)


def _propose_sealed(tx: Writer, step: str, pid: str, values: dict[str, Any], by: Actor) -> Event:
    paper = people.store_values(tx, pid, values)
    return propose(tx, step, pid, {"digest": paper["paper"]}, by, paper)


def propose_staff(
    tx: Writer, name: str, public: bytes, roles: Sequence[str] | None, by: Actor = None
) -> Event:
    """Bring in a member of staff: the second one at once, later ones when another person confirms."""
    who, text = staff_id(name), keys.public_text(public)
    sound_key(text)
    chosen = kinds.ROLES if roles is None else roles
    body = {"public": text, "roles": sorted({one_of("role", role, kinds.ROLES) for role in chosen})}
    if len(tx.state.staff.members) < 2:
        tx.verified()
        return tx.append(kinds.STAFF_ADDED, f"staff/{who}", who, {**body, "proposal": 0}, by=tx.who(by))
    if who in tx.state.staff.members:
        raise ConflictError(f"there is, or was, a member of staff {who!r}; choose another identifier")
    return propose(tx, kinds.STAFF_ADDED, who, body, by)


def propose_key_renewal(
    tx: Writer, name: str, public: bytes, recovery: Signer | None, by: Actor = None
) -> Event:
    """Propose another key for a member of staff; by the recovery key, where nobody else is left, at once."""
    who, text = staff_id(name), keys.public_text(public)
    sound_key(text)
    if recovery is None:
        return propose(tx, kinds.STAFF_RENEWED, tx.state.staff.member(who).name, {"public": text}, by)
    tx.verified()
    signed = signature(recovery, recovery_bytes(tx.state.staff.origin, who, text, tx.prev))
    body = {"public": text, "proposal": 0, "recovery": signed}
    return tx.append(kinds.STAFF_RENEWED, f"staff/{who}/renewed/{tx.next_seq}", who, body, by=tx.who(by))


def remove_staff(tx: Writer, name: str, by: Actor = None, *, compromised: bool = False) -> Event:
    """From now on somebody may act no more; with `compromised`, because their key leaked."""
    who = staff_id(name)
    body = {"compromised": compromised}
    return tx.append(kinds.STAFF_REMOVED, f"staff/{who}/removed", who, body, by=tx.who(by))


def propose_key(
    tx: Writer, owner: str, public: bytes, may: Sequence[str] | None, since: str | None, until: str | None,
    by: Actor,
) -> Event:  # fmt: skip
    """Propose to trust a key that vouches."""
    who, text = key_owner_id(owner), keys.public_text(public)
    sound_key(text)
    default = {"self"} if who in tx.state.people.since else DEFAULT_MAY
    allowed = sorted({one_of("right of a key", name, EVIDENCE) for name in (may or default)})
    first = format_timestamp(parse_timestamp(since)) if since else tx.now
    last = format_timestamp(parse_timestamp(until)) if until else None
    if last is not None and last <= first:
        raise InputError(f"a key is valid until a time after {first}, got {until!r}")
    name = sha256(public)[:16]
    if known := tx.state.keys.known.get(name):
        was = f"was revoked on {known.revoked[:10]}; make a new one" if known.revoked else "is known"
        raise ConflictError(f"the key {name}, registered for {known.owner!r}, {was}")
    body = {"owner": who, "public": text, "may": allowed, "since": first, "until": last}
    return propose(tx, kinds.KEY_TRUSTED, name, body, by)


def revoke_key(tx: Writer, name: str, by: Actor = None, *, compromised: bool = False) -> Event:
    """Stop trusting a key from now on, or altogether where it leaked."""
    mark = "compromised" if compromised else "revoked"
    body = {"compromised": compromised}
    return tx.append(kinds.KEY_REVOKED, f"key/{name}/{mark}", name, body, by=tx.who(by))
