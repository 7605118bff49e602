"""Vouching: make signed attestations, and take them into the ledger."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from anml.core.canonical import sha256
from anml.core.checks import one_of
from anml.core.errors import InputError, IntegrityError
from anml.core.files import read_bytes
from anml.ledger import evidence, keys, signing
from anml.ledger.identifiers import is_contributor
from anml.ledger.log import Event
from anml.ledger.store import Ledger, as_transaction, utc_now
from anml.ledger.writer import Actor, Writer


def sign_attestation(
    key: Path, verifier: str, properties: Sequence[str], created: datetime,
    contributors: Sequence[str] = (), batches: Sequence[Path] = (),
) -> bytes:  # fmt: skip
    """A signed attestation about contributors, or about files by their hash."""
    for name in properties:
        one_of("property", name, signing.PROPERTIES)
    subjects = [signing.contributor_subject(pid) for pid in contributors]
    subjects += [(path.name, sha256(read_bytes(path, "file"))) for path in batches]
    if not subjects or not properties:
        raise InputError("an attestation needs something to be about and something to say")
    return signing.attest(subjects, verifier, properties, created, keys.read_private(key))


def sign_about(key: Path, verifier: str, properties: Sequence[str], about: Sequence[str]) -> bytes:
    """A signed attestation of now, about contributors by their identifiers and files by their contents."""
    files = [Path(name) for name in about if Path(name).is_file()]
    people = [name for name in about if not Path(name).is_file()]
    # Without a ledger at hand nobody can look a contributor up, but a slip in a file's name shows.
    for name in people:
        if not is_contributor(name):
            raise InputError(f"--about names a contributor (c and 32 hex digits) or a file, got {name!r}")
    return sign_attestation(key, verifier, properties, utc_now(), people, files)


def record_attestation_files(
    ledger: Ledger, paths: Sequence[Path], until: str | None = None, by: Actor = None
) -> list[Event]:
    """Verify attestations and record them, all or none; what is wrong with one is said by its name."""
    return record_attestations(
        ledger, {f"{path}: ": read_bytes(path, "attestation") for path in paths}, until, by
    )


@as_transaction
def record_attestations(
    tx: Writer, envelopes: dict[str, bytes], until: str | None = None, by: Actor = None
) -> list[Event]:
    """Verify attestations, by what is said before what is wrong with one, and record all of them or none."""
    made: list[Event] = []
    for name, envelope in envelopes.items():
        try:
            made += evidence.add_envelope(tx, envelope, until)
        except (InputError, IntegrityError) as error:
            raise type(error)(f"{name}{error}") from None
    evidence.sign_records(tx, "attestation", sha256(next(iter(envelopes.values()))), by)
    return made
