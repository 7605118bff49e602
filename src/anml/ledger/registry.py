"""Who may vouch with which key, from when to when. Trusting a key is itself an entry of the log."""

from collections.abc import Iterable
from typing import NamedTuple

import sqlalchemy as sa

from anml.core.canonical import sha256
from anml.core.checks import one_of
from anml.core.errors import ConflictError, InputError
from anml.core.signals.policy import KINDS
from anml.ledger import keys
from anml.ledger.log import Writer, check_name, events
from anml.ledger.store import moment, stamp

# A key may vouch for all of these unless told otherwise. Flags and their lifting, and approving
# settlements, are granted one by one.
DEFAULT_MAY = frozenset({"self", "affiliation", "review-accepted", "publication", "reproduced", "correction"})
APPROVE = "approve"


class TrustedKey(NamedTuple):
    """A registered key. `owner` is an organisation's address, a staff name, or a contributor."""

    id: str
    owner: str
    public: bytes
    may: frozenset[str]
    since: str
    until: str | None
    revoked: str | None = None
    compromised: bool = False

    def stands(self, at: str, received: str) -> bool:
        """Did a signature made at `at`, and seen by us at `received`, count?

        The signer chooses the first time; the second is ours. A key that leaked counts for nothing,
        ever: its thief can choose any date.
        """
        inside = self.since <= at and (self.until is None or at < self.until)
        in_time = self.revoked is None or received < self.revoked
        return inside and in_time and not self.compromised


def trust(
    tx: Writer,
    owner: str,
    public: bytes,
    may: Iterable[str] = DEFAULT_MAY,
    since: str | None = None,
    until: str | None = None,
) -> TrustedKey:
    """Register a key; the same key twice is one registration."""
    allowed = sorted({one_of("right of a key", name, [*KINDS, APPROVE]) for name in may})
    check_name(owner)
    first = stamp(moment(since)) if since else tx.now
    last = stamp(moment(until)) if until else None
    if last is not None and last <= first:
        raise InputError(f"a key is valid until a time after {first}, got {until!r}")
    body = {
        "owner": owner,
        "public": keys.public_text(public),
        "may": allowed,
        "since": first,
        "until": last,
    }
    name = sha256(public)[:16]
    known = registered(tx.connection).get(name)
    if known is not None:
        if (known.owner, known.may, known.until) != (owner, frozenset(allowed), last):
            raise ConflictError(f"the key {name} is registered for {known.owner!r} with other rights")
        return known
    tx.append("key.trusted", f"key/{name}", name, body)
    return registered(tx.connection)[name]


def revoke(tx: Writer, name: str, *, compromised: bool = False) -> None:
    """Stop trusting a key from now on, or altogether where it leaked."""
    if name not in registered(tx.connection):
        raise InputError(f"there is no key {name!r} in this ledger")
    mark = "compromised" if compromised else "revoked"
    tx.once("key.revoked", f"key/{name}/{mark}", name, {"compromised": compromised})


def registered(connection: sa.Connection) -> dict[str, TrustedKey]:
    """All keys ever trusted, by their short name."""
    found: dict[str, TrustedKey] = {}
    for e in events(connection, ["key.trusted", "key.revoked"]):
        if e.kind == "key.trusted":
            body = e.body
            found[e.subject] = TrustedKey(
                e.subject,
                body["owner"],
                keys.read_public(body["public"]),
                frozenset(body["may"]),
                body["since"],
                body["until"],
            )
        else:
            old = found[e.subject]
            found[e.subject] = old._replace(
                revoked=old.revoked or e.at, compromised=old.compromised or e.body["compromised"]
            )
    return found
