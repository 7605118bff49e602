"""Keys: the ledger's own, those of people and organisations that vouch, and whom they are trusted for."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from anml.ledger import two_people
from anml.ledger.keys import create_signer, from_environment, public_text, read_public
from anml.ledger.log import Event
from anml.ledger.store import Ledger

password_from_environment = from_environment


def new_key(path: Path, password: str = "") -> str:
    """Make a signing key for a person or an organisation; returns the public part as text."""
    return create_signer(path, password)


def public_key(ledger: Ledger) -> str:
    """The key that everybody checks this ledger with, as text."""
    return public_text(ledger.ring.public)


def trust_key(
    ledger: Ledger,
    public: str,
    owner: str,
    may: Sequence[str] | None = None,
    since: str | None = None,
    until: str | None = None,
    by: str | None = None,
) -> Event:
    """Propose to trust a public key, given as text or as a file; somebody else confirms it."""
    raw, allowed = read_public(public), None if may is None else list(may)
    return ledger.write(lambda tx: two_people.propose_key(tx, owner, raw, allowed, since, until, by))


def revoke_key(ledger: Ledger, name: str, by: str | None = None, *, compromised: bool = False) -> Event:
    """Stop trusting a key from now on, or altogether where it leaked."""
    return ledger.write(lambda tx: two_people.revoke_key(tx, name, by, compromised=compromised))


def known_keys(ledger: Ledger) -> list[dict[str, Any]]:
    """Every key that was ever trusted, as plain values."""
    with ledger.read() as connection:
        known = two_people.registered(connection).values()
    return [{**key._asdict(), "public": public_text(key.public), "may": sorted(key.may)} for key in known]
