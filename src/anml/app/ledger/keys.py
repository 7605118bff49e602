"""Keys: the ledger's own, those of people and organisations that vouch, and whom they are trusted for."""

from collections.abc import Sequence
from typing import Any

from anml.ledger import two_people
from anml.ledger.keys import create_signer as new_key
from anml.ledger.keys import from_environment as password_from_environment
from anml.ledger.keys import public_text, read_public
from anml.ledger.log import Event
from anml.ledger.parts import Keys
from anml.ledger.store import Ledger, written

__all__ = ["known_keys", "new_key", "password_from_environment", "public_key", "revoke_key", "trust_key"]


revoke_key = written(two_people.revoke_key)


def public_key(ledger: Ledger) -> str:
    """The key that everybody checks this ledger with, as text."""
    return public_text(ledger.ring.public)


def trust_key(
    ledger: Ledger, public: str, owner: str, may: Sequence[str] | None = None, since: str | None = None,
    until: str | None = None, by: str | None = None,
) -> Event:  # fmt: skip
    """Propose to trust a public key, given as text or as a file; somebody else confirms it."""
    raw, allowed = read_public(public), None if may is None else list(may)
    return ledger.write(lambda tx: two_people.propose_key(tx, owner, raw, allowed, since, until, by))


def known_keys(ledger: Ledger) -> list[dict[str, Any]]:
    """Every key that was ever trusted, as plain values."""
    known = ledger.listed(Keys).known.values()
    return [{**key._asdict(), "public": public_text(key.public), "may": sorted(key.may)} for key in known]
