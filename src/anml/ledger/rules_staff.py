"""Rules of who acts: staff, keys that vouch, and steps that need two people."""

from anml.core.canonical import canonical, sha256
from anml.core.checks import one_of
from anml.core.errors import ConflictError, InputError, IntegrityError
from anml.ledger import keys, kinds
from anml.ledger.ed25519 import is_sound_key
from anml.ledger.identifiers import key_owner_id, staff_id
from anml.ledger.log import Event, format_timestamp, parse_timestamp, seconds
from anml.ledger.state import State
from anml.signals.policy import DEFAULT_LEVELS as EVIDENCE_KINDS
from anml.signals.track_record import DAY

# What a second person's step adds to what was proposed.
_ADDED = ("proposal", "record", "account", "payee", "recovery", "kept")
MAX_WAIT_DAYS = 365
# What nobody confirmed in this time is asked for again: who reads it then may know nothing of it.
PROPOSAL_EXPIRY_DAYS = 60


def require_different_people(state: State, first: str, e: Event, said: str) -> None:
    """An error unless two identities take the two parts, or the ledger says that one person keeps it."""
    if e.by == first and not state.staff.single_person:
        raise ConflictError(f"{e.by!r} {said}")


def second_person(state: State, first: str, e: Event, said: str) -> None:
    """The same of what one begins and another ends.

    What somebody began who is no longer of the staff lapses: their key may be why they left, and whoever
    came back under another name would be the second person of their own step.
    """
    require_different_people(state, first, e, said)
    if first in state.staff.members:
        state.staff.member(first)


def require_proposal(state: State, e: Event) -> None:
    """An error unless somebody else proposed exactly this."""
    number = e.body.get("proposal")
    if not number:
        raise ConflictError("this step needs two people: one proposes it and another confirms it")
    found = state.proposals.open(number)
    same = (found.body["step"], found.subject, found.settlement) == (e.kind, e.subject, e.settlement)
    if not same or any(e.body.get(name) != value for name, value in found.body["body"].items()):
        raise IntegrityError(f"it is not what proposal {number} says")
    if state.strict and seconds(e.at) > seconds(found.at) + PROPOSAL_EXPIRY_DAYS * DAY:
        raise ConflictError(f"proposal {number} is of {found.at[:10]} and has lapsed; propose it again")
    second_person(state, found.by, e, "proposed this; a second person must confirm it")


def _created(state: State, e: Event) -> None:
    body = e.body
    if staff_id(body["founder"]) != body["founder"]:
        raise IntegrityError(f"{body['founder']!r} is not how a staff identifier is spelt")
    if sound_key(body["founder_key"]) == sound_key(body["public"]):
        raise IntegrityError("the founder's key is the log's")
    spare = body.get("recovery")
    if spare and sound_key(spare) in (sound_key(body["founder_key"]), sound_key(body["public"])):
        raise IntegrityError("the key for recovery is the founder's or the log's")
    if not 0 <= body["payee_wait_days"] <= MAX_WAIT_DAYS:
        raise InputError(f"new bank details wait 0 to {MAX_WAIT_DAYS} days, got {body['payee_wait_days']}")


def _staff_added(state: State, e: Event) -> None:
    staff = state.staff
    if staff_id(e.subject) != e.subject:
        raise IntegrityError(f"{e.subject!r} is not how a staff identifier is spelt")
    if e.subject in staff.members:
        raise ConflictError(f"there is, or was, a member of staff {e.subject!r}; choose another identifier")
    _check_own(state, sound_key(e.body["public"]))
    if not e.body["roles"]:
        raise InputError(f"give a role: {', '.join(kinds.ROLES)}")
    for role in e.body["roles"]:
        one_of("role", role, kinds.ROLES)
    if e.body["roles"] != sorted(set(e.body["roles"])):
        raise IntegrityError("roles are sorted and named once")
    # The founder brings in the second person alone: there is nobody else to ask.
    if e.body["proposal"] or len(staff.members) > 1:
        require_proposal(state, e)


def _check_own(state: State, public: bytes) -> None:
    """A key that can be somebody's: nobody else has or had it."""
    if state.staff.is_taken(public):
        raise ConflictError("this key belongs to somebody else already; each person has a key of their own")
    if sha256(public)[:16] in state.keys.known:
        raise ConflictError("this key vouches for contributors already; a member of staff needs another one")


def recovery_bytes(origin: str, name: str, public: str, prev: str) -> bytes:
    """Return the bytes that the recovery key signs: staff member, new key, and position in the log."""
    return b"anml-recovery/1\n" + canonical({"ledger": origin, "name": name, "public": public, "prev": prev})


def _staff_renewed(state: State, e: Event) -> None:
    staff, body = state.staff, e.body
    staff.member(e.subject)
    _check_own(state, sound_key(body["public"]))
    if not body["recovery"]:
        require_proposal(state, e)
        return
    if body["proposal"] or not staff.recovery:
        raise ConflictError("this ledger has no recovery key; two people renew the key of a third")
    message = recovery_bytes(staff.origin, e.subject, body["public"], e.prev)
    if not keys.verify_text(staff.recovery, body["recovery"], message):
        raise IntegrityError("the recovery key did not sign it")


def _clock(state: State, e: Event) -> None:
    began = min((member.since for member in state.staff.members.values()), default="")
    if not min(began, state.at) <= e.at < state.at:
        raise ConflictError(f"the last entry is dated {state.at[:19]}Z, which is not ahead of {e.at[:19]}Z")
    require_proposal(state, e)


def _staff_removed(state: State, e: Event) -> None:
    state.staff.member(e.subject)
    left = [member for member in state.staff.active if member.name != e.subject]
    enough = 1 if state.staff.single_person else 2
    if len(left) < enough or not any(kinds.ADMIN in member.roles for member in left):
        raise ConflictError(f"{e.subject!r} cannot be removed: {enough} must stay, one of them an admin")


def sound_key(text: str) -> bytes:
    """A public key that can stand for somebody."""
    public = keys.parse_public(text)
    if keys.public_text(public) != text or not is_sound_key(public):
        raise InputError(f"{text[:24]}… is no sound Ed25519 key: anybody could sign for it")
    return public


def _key_trusted(state: State, e: Event) -> None:
    body = e.body
    public = sound_key(body["public"])
    if e.subject != sha256(public)[:16]:
        raise IntegrityError("the name of the key is not that of its bytes")
    if known := state.keys.known.get(e.subject):
        was = f"was revoked on {known.revoked[:10]}; make a new one" if known.revoked else ""
        raise ConflictError(f"the key {e.subject} {was or f'is registered for {known.owner!r}'}")
    if key_owner_id(body["owner"]) != body["owner"]:
        raise IntegrityError(f"{body['owner']!r} is not how an owner is spelt")
    if state.staff.is_taken(public):
        raise ConflictError("this key signs for a member of staff or for the log; vouching needs its own")
    for name in body["may"]:
        one_of("right of a key", name, EVIDENCE_KINDS)
    if body["owner"] in state.people.since and set(body["may"]) != {"self"}:
        raise InputError("a contributor's key vouches for nobody else: it may say 'self' only")
    for when in filter(None, (body["since"], body["until"])):
        if format_timestamp(parse_timestamp(when)) != when:
            raise IntegrityError(f"{when!r} is not how a time is spelt")
    if body["until"] is not None and body["until"] <= body["since"]:
        raise InputError(f"a key is valid until a time after {body['since']}, got {body['until']!r}")
    require_proposal(state, e)


def _key_revoked(state: State, e: Event) -> None:
    known = state.keys.known.get(e.subject)
    if known is None:
        raise InputError(f"there is no key {e.subject!r} in this ledger")
    if known.revoked and (known.compromised or not e.body["compromised"]):
        raise ConflictError(f"the key {e.subject} was revoked on {known.revoked[:10]} already")


def _proposed(state: State, e: Event) -> None:
    step = e.body["step"]
    one_of("step for two people", step, kinds.TWO_PEOPLE)
    wanted = {name: kind for name, kind in kinds.ENTRY_KINDS[step].fields.items() if name not in _ADDED}
    if fault := kinds.fields_fault(wanted, e.body["body"]):
        raise IntegrityError(f"a proposal of {step} {fault}")
    # Who confirms it reads the paper, and what is carried out goes by its hash: they are one.
    if e.body["paper"] != e.body["body"].get("digest", ""):
        raise IntegrityError("the paper of this proposal is not the one that it is about")


def _dropped(state: State, e: Event) -> None:
    state.proposals.open(e.body["proposal"])


STAFF_RULES = {
    kinds.CREATED: _created,
    kinds.STAFF_ADDED: _staff_added,
    kinds.STAFF_REMOVED: _staff_removed,
    kinds.STAFF_RENEWED: _staff_renewed,
    kinds.CLOCK: _clock,
    kinds.KEY_TRUSTED: _key_trusted,
    kinds.KEY_REVOKED: _key_revoked,
    kinds.PROPOSED: _proposed,
    kinds.DROPPED: _dropped,
}
