"""Components of the ledger state; each applies entries one by one, for writers, verifiers and readers.

Each component names the `KINDS` of entries that it follows. Entries are validated before.
"""

from typing import NamedTuple

from anml.core.errors import ConflictError, InputError
from anml.ledger import keys, kinds
from anml.ledger.log import Event, seconds
from anml.signals.track_record import DAY


class Member(NamedTuple):
    """A member of staff: who, with which key, for what, and since when or until when."""

    name: str
    public: bytes
    roles: frozenset[str]
    since: str
    until: str | None = None

    @property
    def public_key(self) -> str:
        """Their key as text."""
        return keys.public_text(self.public)


class Staff:
    """Staff members, and the settings of the ledger from its first entry."""

    KINDS = (kinds.CREATED, kinds.STAFF_ADDED, kinds.STAFF_REMOVED, kinds.STAFF_RENEWED)

    def __init__(self) -> None:
        self.origin, self.public, self.recovery, self.appeals = "", b"", b"", ""
        self.single_person = self.decisions = False
        self.payee_wait_days = 0
        self.members: dict[str, Member] = {}
        # Former keys of staff members, which are never assigned again.
        self.former: set[bytes] = set()

    def fold(self, e: Event) -> None:
        """Take in one entry."""
        if e.kind == kinds.CREATED:
            self.origin, self.single_person = e.body["origin"], e.body["single_person"]
            self.public, self.appeals = keys.parse_public(e.body["public"]), e.body["appeals"]
            self.payee_wait_days, self.decisions = e.body["payee_wait_days"], e.body.get("decisions", False)
            self.recovery = keys.parse_public(e.body["recovery"]) if e.body.get("recovery") else b""
            founder = keys.parse_public(e.body["founder_key"])
            self.members[e.body["founder"]] = Member(e.body["founder"], founder, frozenset(kinds.ROLES), e.at)
        elif e.kind == kinds.STAFF_ADDED:
            public = keys.parse_public(e.body["public"])
            self.members[e.subject] = Member(e.subject, public, frozenset(e.body["roles"]), e.at)
        elif e.kind == kinds.STAFF_RENEWED:
            old, public = self.members[e.subject], keys.parse_public(e.body["public"])
            self.former.add(old.public)
            self.members[e.subject] = old._replace(public=public)
        else:
            self.members[e.subject] = self.members[e.subject]._replace(until=e.at)

    @property
    def active(self) -> list[Member]:
        """Those who may act now."""
        return [member for member in self.members.values() if member.until is None]

    def is_taken(self, public: bytes) -> bool:
        """True if a key is or was that of a staff member, or is the log key or the recovery key."""
        own = {member.public for member in self.members.values()}
        return public in {self.public, self.recovery} | self.former | own

    def member(self, name: str) -> Member:
        """Somebody by their identifier; an error unless they may act."""
        found = self.members.get(name)
        if found is None:
            known = ", ".join(sorted(self.members)) or "nobody"
            raise InputError(f"{name!r} is not a member of staff of this ledger; known: {known}")
        if found.until is not None:
            raise ConflictError(f"{name!r} was removed from the staff on {found.until[:10]}")
        return found


class Contributors:
    """Registered, merged and erased contributors, and recognised reviewers."""

    KINDS = (kinds.REGISTERED, kinds.MERGED, kinds.ERASED, kinds.REVIEWER_NAMED, kinds.CLOCK)

    def __init__(self) -> None:
        self.since: dict[str, str] = {}
        self.merged: dict[str, str] = {}
        self.erased: set[str] = set()
        self.reviewers: set[str] = set()

    def fold(self, e: Event) -> None:
        """Take in one entry."""
        if e.kind == kinds.REGISTERED:
            self.since[e.subject] = e.at
        elif e.kind == kinds.MERGED:
            self.merged[e.subject] = e.body["into"]
        elif e.kind == kinds.ERASED:
            self.erased |= {e.subject, *e.body["also"]}
        elif e.kind == kinds.CLOCK:
            self.since = {pid: min(at, e.at) for pid, at in self.since.items()}
        else:
            (self.reviewers.add if e.body["on"] else self.reviewers.discard)(e.subject)

    def resolve(self, pid: str) -> str:
        """Follow merges to the end."""
        while pid in self.merged:
            pid = self.merged[pid]
        return pid

    def same(self, pid: str) -> list[str]:
        """All identifiers of the person behind one, sorted."""
        whole = self.resolve(pid)
        return sorted({whole, *(one for one in self.merged if self.resolve(one) == whole)})

    def require(self, pid: str) -> None:
        """An error unless there is such a contributor, not erased."""
        if pid not in self.since:
            raise InputError(f"there is no contributor {pid!r} in this ledger")
        if pid in self.erased:
            raise ConflictError(f"contributor {pid} was erased")


class Proposals:
    """Steps that one person proposed and another has to confirm, and what became of them."""

    KINDS = (kinds.PROPOSED, kinds.DROPPED, *kinds.TWO_PEOPLE)

    def __init__(self) -> None:
        self.made: dict[int, Event] = {}
        self.ended: dict[int, str] = {}

    def fold(self, e: Event) -> None:
        """Take in one entry."""
        if e.kind == kinds.PROPOSED:
            self.made[e.seq] = e
        elif e.body.get("proposal"):
            self.ended[e.body["proposal"]] = "dropped" if e.kind == kinds.DROPPED else "confirmed"
        if e.kind == kinds.CLOCK:
            # What was proposed ahead of time lapses from now on.
            self.made = {seq: one._replace(at=min(one.at, e.at)) for seq, one in self.made.items()}

    @property
    def waiting(self) -> list[Event]:
        """Those that nobody confirmed or dropped, oldest first."""
        return [one for seq, one in self.made.items() if seq not in self.ended]

    def open(self, number: int) -> Event:
        """An open proposal by the number of its entry."""
        if number not in self.made:
            raise InputError(f"there is no proposal {number} in this ledger")
        if number in self.ended:
            raise ConflictError(f"proposal {number} was {self.ended[number]} already")
        return self.made[number]


class Payees:
    """Bank details of each contributor that two people agreed on, by hash, since then or since a merger."""

    KINDS = (kinds.PAYEE_SET, kinds.MERGED, kinds.CLOCK)

    def __init__(self) -> None:
        self.changed: dict[str, str] = {}
        self.paper: dict[str, str] = {}

    def fold(self, e: Event) -> None:
        """Take in one entry."""
        if e.kind == kinds.MERGED:
            self.changed[e.body["into"]] = e.at
        elif e.kind == kinds.CLOCK:
            # Waits that began ahead of time begin now.
            self.changed = {pid: min(at, e.at) for pid, at in self.changed.items()}
        else:
            self.changed[e.subject], self.paper[e.subject] = e.at, e.body["digest"]

    def free(self, pid: str, wait_days: int) -> float:
        """From when on somebody can be paid, in seconds."""
        changed = self.changed.get(pid)
        return seconds(changed) + wait_days * DAY if changed else 0.0


class TrustedKey(NamedTuple):
    """A key that vouches. `owner` is an organisation's address, a name, or a contributor."""

    id: str
    owner: str
    public: bytes
    may: frozenset[str]
    since: str
    until: str | None
    revoked: str | None = None
    compromised: bool = False

    def stands(self, at: str, received: str) -> bool:
        """Did a signature count? When we `received` it decides, not the signer; of a leaked key none does."""
        inside = self.since <= min(at, received)
        inside &= self.until is None or max(at, received) < self.until
        in_time = self.revoked is None or received < self.revoked
        return inside and in_time and not self.compromised


class Keys:
    """All keys ever trusted to vouch, by their short name."""

    KINDS = (kinds.KEY_TRUSTED, kinds.KEY_REVOKED, kinds.CLOCK)

    def __init__(self) -> None:
        self.known: dict[str, TrustedKey] = {}
        self.owners: set[str] = set()
        self._trusted: dict[str, str] = {}

    def fold(self, e: Event) -> None:
        """Take in one entry."""
        body = e.body
        if e.kind == kinds.KEY_TRUSTED:
            self.owners.add(body["owner"])
            self._trusted[e.subject] = e.at
            public, may, span = keys.parse_public(body["public"]), body["may"], (body["since"], body["until"])
            self.known[e.subject] = TrustedKey(e.subject, body["owner"], public, frozenset(may), *span)
        elif e.kind == kinds.CLOCK:
            # What was revoked or trusted ahead of time is so from now on, not only once that time comes.
            for name, old in self.known.items():
                since = min(old.since, e.at) if self._trusted[name] > e.at else old.since
                self.known[name] = old._replace(since=since, revoked=old.revoked and min(old.revoked, e.at))
        else:
            old = self.known[e.subject]
            leaked = old.compromised or body["compromised"]
            self.known[e.subject] = old._replace(revoked=old.revoked or e.at, compromised=leaked)
