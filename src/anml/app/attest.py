"""Vouching: make signed attestations, and take them into the ledger."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from anml.core.canonical import sha256
from anml.core.checks import one_of
from anml.core.errors import InputError
from anml.ledger import dsse, evidence
from anml.ledger.keys import read_private
from anml.ledger.log import Event, Writer
from anml.ledger.store import Ledger


def make(
    key: Path,
    verifier: str,
    properties: Sequence[str],
    created: datetime,
    contributors: Sequence[str] = (),
    batches: Sequence[Path] = (),
) -> bytes:
    """A signed attestation about contributors, or about files by their hash."""
    for name in properties:
        one_of("property", name, evidence.PROPERTIES)
    subjects = [evidence.contributor_subject(pid) for pid in contributors]
    subjects += [(path.name, sha256(path.read_bytes())) for path in batches]
    if not subjects or not properties:
        raise InputError("an attestation needs something to be about and something to say")
    return dsse.attest(subjects, verifier, properties, created, read_private(key))


def take(ledger: Ledger, envelope: bytes, until: str | None = None, *, dry_run: bool = False) -> list[Event]:
    """Verify an attestation and record it; one that does not verify is refused."""

    def work(tx: Writer) -> list[Event]:
        return evidence.add_envelope(tx, ledger, envelope, until)

    return ledger.carry_out(work, dry_run=dry_run)
