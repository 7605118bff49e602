"""The state machine of the log, its only rules: what may come next, who signs it, what money it moves."""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, cast

import sqlalchemy as sa

from anml.core.canonical import MerkleTree
from anml.core.errors import ConflictError, InputError, IntegrityError
from anml.ledger import keys, kinds
from anml.ledger.identifiers import staff_id
from anml.ledger.log import (
    Event,
    Posting,
    check_balanced,
    decode_event,
    format_timestamp,
    parse_timestamp,
    signed_bytes,
)
from anml.ledger.money import MAX_MICRO
from anml.ledger.records import AuditTrail, Balances, Credits, ErasableRows, EvidenceLog, ScoreLog, account_of
from anml.ledger.schema import event
from anml.ledger.state_money import AgreedTerms, Disputes, Payouts, Settlement, Settlements, read_manifest
from anml.ledger.state_people import Contributors, Keys, Member, Payees, Proposals, Staff
from anml.settlement import manifest

P = TypeVar("P")
POOL = "source:pool"
# Accounts that never fall below zero; payables may, by a recorded reversal or with a person only.
_NEVER_NEGATIVE = ("held:", "clearing:", "funding:", "paid:", "payable:")
_CARRIES = (kinds.REVERSED, kinds.MERGED)
_COVERED = {member for kind in kinds.ENTRY_KINDS.values() for member in kind.covers}
# A rule refuses an entry, or says what money it moves; None where it moves none.
Rule = Callable[["State", Event], list[Posting] | None]

Credited = dict[str, tuple[int, dict[str, Any]]]


class PendingCredits(NamedTuple):
    """Credits that an approval owes: they follow from its manifest, and come next."""

    sid: str
    currency: str
    credits: Credited
    rest: int

    def without(self, e: Event) -> "PendingCredits | None":
        """Return the pending credits after one entry; None after the last."""
        self.credits.pop(e.subject, None)
        return self if e.kind != kinds.UNALLOCATED and (self.credits or self.rest) else None


class State:
    """State of the ledger after the last entry of the log."""

    def __init__(self, documents: Callable[[str], bytes | None]) -> None:
        self.documents = documents
        self.balances = Balances()
        self.staff, self.people, self.keys = Staff(), Contributors(), Keys()
        self.proposals, self.payees = Proposals(), Payees()
        self.settlements, self.disputes, self.payouts = Settlements(), Disputes(), Payouts()
        self.terms = AgreedTerms()
        self.credits, self.evidence, self.scores = Credits(), EvidenceLog(), ScoreLog()
        self.trail, self.held = AuditTrail(), ErasableRows()
        self._parts: dict[type, Any] = {type(p): p for p in vars(self).values() if hasattr(p, "KINDS")}
        parts = self._parts.values()
        self._followers = {kind: [part for part in parts if kind in part.KINDS] for kind in kinds.ENTRY_KINDS}
        self.at = ""
        self.open: list[Event] = []
        self.owed: PendingCredits | None = None
        # Whether signatures name what they cover, as all do from the first that does.
        self.strict = False
        # Working credits out takes long; the hash of a manifest says all of it, so they are kept by that.
        self._worked_out: tuple[str, Credited, dict[str, list[int]]] = ("", {}, {})

    def part(self, wanted: type[P]) -> P:
        """One part of it."""
        return cast("P", self._parts[wanted])

    def credits_of(self, found: Settlement) -> Credited:
        """Return the credits of a settlement's manifest."""
        if self._worked_out[0] != found.manifest:
            made = read_manifest(self.documents, found)
            given = manifest.approval_credits(made)
            self._worked_out = (
                found.manifest,
                given,
                manifest.reduced_payouts(given, made["pool"], made["rate"]),
            )
        return self._worked_out[1]

    def below(self, found: Settlement) -> dict[str, list[int]]:
        """Contributors paid less in a settlement than by rows alone: amount, and amount by rows."""
        self.credits_of(found)
        return self._worked_out[2]

    def judged_before(self, pid: str) -> set[tuple[str, str]]:
        """Source and item of all that was counted for a person, under whichever of their identifiers."""
        own, known = self.people.same(pid) if self.people.merged else [pid], self.scores.judged
        return known.get(pid, set()) if own == [pid] else set().union(*(known.get(one, ()) for one in own))

    def check(self, e: Event) -> list[Posting]:
        """The money that this entry moves; an error where it may not come next. Nothing is changed."""
        if e.kind not in kinds.ENTRY_KINDS:
            raise IntegrityError(f"there is no kind of entry {e.kind!r}")
        if fault := kinds.body_error(e.kind, e.body):
            raise IntegrityError(f"an entry of kind {e.kind} {fault}")
        if (e.seq == 1) != (e.kind == kinds.CREATED):
            raise IntegrityError("the first entry, and no other, makes the ledger")
        if e.at != self.at and format_timestamp(parse_timestamp(e.at)) != e.at:
            raise IntegrityError(f"{e.at!r} is not how a time is spelt")
        if e.at < self.at and e.kind != kinds.CLOCK:
            raise IntegrityError("it is older than the entry before it")
        if self.owed is not None and e.kind not in kinds.REQUIRED_FOLLOW_UPS:
            raise IntegrityError(f"the credits of settlement {self.owed.sid} are not complete before it")
        if self.is_covered(e):
            if e.by or e.sig or e.first or e.root:
                raise IntegrityError(f"an entry of kind {e.kind} is not signed by itself")
        else:
            self.signer(e)
        from anml.ledger.rules import RULES

        moved = [item for item in RULES[e.kind](self, e) or () if item.amount]
        check_balanced(moved, f"{e.kind} {e.key}")
        self._check_accounts(e, moved)
        if not self.is_covered(e):
            self._check_covered(e)
        return moved

    def is_covered(self, e: Event) -> bool:
        """True if a later signature covers an entry, or an earlier entry requires it."""
        return kinds.ENTRY_KINDS[e.kind].roles is None or (e.kind in _COVERED and not e.by)

    def signer(self, e: Event) -> Member:
        """Return the signer of an entry, checked by name and role; the signature is not verified here."""
        if not e.by:
            raise InputError("say who you are with --by: a staff identifier")
        if staff_id(e.by) != e.by:
            raise IntegrityError(f"{e.by!r} is not how a staff identifier is spelt")
        if e.kind == kinds.CREATED:
            founder = keys.parse_public(e.body["founder_key"])
            return Member(e.body["founder"], founder, frozenset(kinds.ROLES), e.at)
        found = self.staff.member(e.by)
        allowed = kinds.ENTRY_KINDS[e.kind].roles or ()
        if e.kind == kinds.PROPOSED:
            allowed = kinds.TWO_PEOPLE.get(e.body["step"], ())
        if not found.roles.intersection(allowed):
            raise ConflictError(
                f"{e.by!r} is {', '.join(sorted(found.roles))}; this step needs one of {', '.join(allowed)}"
            )
        return found

    def check_signature(self, e: Event) -> None:
        """An error unless who acted signed exactly this entry."""
        if self.is_covered(e):
            return
        member = self.signer(e)
        if e.kind == kinds.CREATED and e.by != member.name:
            raise IntegrityError("the founder did not sign it")
        if not keys.verify_text(member.public, e.sig, signed_bytes(e)):
            raise IntegrityError(f"the key of {e.by!r} did not sign it")

    def accept(self, e: Event) -> None:
        """Take in an entry that was checked."""
        if not self.is_covered(e):
            self.open = []
            self.strict = self.strict or bool(e.first)
        elif e.kind not in kinds.REQUIRED_FOLLOW_UPS:
            self.open.append(e)
        if e.kind == kinds.APPROVED:
            found = self.settlements.get(e.subject)
            credits = self.credits_of(found)
            self.disputes.below[found.id] = frozenset(self.below(found))
            rest = found.pool - sum(amount for amount, _ in credits.values())
            self.owed = (
                PendingCredits(found.id, found.currency, dict(credits), rest) if credits or rest else None
            )
        elif e.kind in kinds.REQUIRED_FOLLOW_UPS and self.owed is not None:
            self.owed = self.owed.without(e)
        self.at = e.at
        self.fold(e)

    def covering(self, seq: int) -> tuple[int, str]:
        """Return the range that a signature on this entry covers: its first entry, and the Merkle root."""
        if not self.open:
            return seq, ""
        return self.open[0].seq, MerkleTree([one.hash for one in self.open]).root.hex()

    def _check_covered(self, e: Event) -> None:
        """A signature covers what came before it without one, where it may, and says from where on."""
        for one in self.open:
            if one.kind not in kinds.ENTRY_KINDS[e.kind].covers:
                raise IntegrityError(f"it does not sign for entry {one.seq}, {one.kind}")
        if (self.strict or e.first or e.root) and (e.first, e.root) != self.covering(e.seq):
            raise IntegrityError("who signed it did not sign for just the entries that it covers")

    def fold(self, e: Event) -> None:
        """Let all parts follow."""
        for part in self._followers.get(e.kind, ()):
            part.fold(e)
        if e.postings:
            self.balances.fold(e)

    def finish(self) -> None:
        """An error where something is left that nobody signed for, or that is owed."""
        if self.open:
            first = self.open[0]
            raise IntegrityError(f"nobody signed for entry {first.seq}, {first.kind}, and what follows it")
        if self.owed is not None:
            raise IntegrityError(f"the credits of settlement {self.owed.sid} are not complete")

    def _check_accounts(self, e: Event, moved: list[Posting]) -> None:
        # Only a pool gives money, so no account can hold more than it gave.
        for item in moved:
            if item.amount > 0:
                continue
            left = self.balances.get(*account_of(item, e.settlement)) + item.amount
            if item.account == POOL and left < -MAX_MICRO:
                raise InputError(f"the pool would give out more {item.currency} than 64 bits hold")
            carried = item.account.startswith("payable:") and e.kind in _CARRIES
            if left < 0 and item.account.startswith(_NEVER_NEGATIVE) and not carried:
                raise IntegrityError(f"it takes {item.account} below zero")


# Where parts come from: a state that was read and verified, or a database as it answers.
Where = State | sa.Connection


def load_component(wanted: type[P], where: Where) -> P:
    """A part as the log leaves it."""
    if isinstance(where, State):
        return where.part(wanted)
    made: Any = wanted()
    rows = sa.select(event.c.entry, event.c.hash).where(event.c.kind.in_(made.KINDS)).order_by(event.c.seq)
    try:
        for row in where.execute(rows).all():
            made.fold(decode_event(row.entry, row.hash))
    except (LookupError, TypeError, ValueError, AttributeError):
        raise IntegrityError("the log holds what no ledger writes; run `anml-ledger verify`") from None
    return cast("P", made)
