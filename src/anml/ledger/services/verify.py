"""Verify a ledger as a whole and statements of it, watch it by checkpoints, and prove that it only grew."""

import base64
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from anml.core.canonical import MerkleTree, canonical
from anml.core.errors import AnmlError, InputError, IntegrityError, os_error_message
from anml.core.files import read_text, write_file
from anml.ledger import checkpoint, keys, signing
from anml.ledger import replay as audit
from anml.ledger.checkpoint import Checkpoint
from anml.ledger.log import format_timestamp
from anml.ledger.reading import LedgerReader
from anml.ledger.replay import VerificationReport
from anml.ledger.store import Ledger

# When a checkpoint was made, in the name of its file.
_WHEN = "%Y%m%dT%H%M%SZ"


def verify(
    ledger: Ledger, checkpoints: Sequence[Checkpoint] = (), public: bytes | None = None
) -> VerificationReport:
    """Every problem of the ledger; with its keys at hand, every attestation's own signature too."""
    known = public if public is not None or ledger.keys is None else ledger.ring.public
    with ledger.read() as connection:
        return audit.verify(connection, checkpoints, known, ledger.clock(), ledger.keys)


@contextmanager
def verified(ledger: Ledger, what: str) -> Iterator[LedgerReader]:
    """The whole ledger as one transaction reads it; an error unless it verifies."""
    known, ring = ledger.remembered(), ledger.ring
    with ledger.read() as connection:
        found = audit.read_and_verify(connection, ring.public, ledger.clock(), known, ring=ring)
        audit.require_sound(found, what)
        ledger.memory[:] = [found]
        yield found


def verify_files(
    ledger: Ledger, checkpoints: Sequence[Path] = (), public_key: str | None = None
) -> tuple[VerificationReport, bool]:
    """Verify against checkpoints and a public key (text or file); also whether only the log named its key."""
    public = keys.read_public(public_key) if public_key else None
    signed = public or (ledger.ring.public if checkpoints else b"")
    older = [checkpoint.read_checkpoint(read_text(path, "checkpoint"), signed) for path in checkpoints]
    return verify(ledger, older, public), public is None and ledger.keys is None


# The key of a witness, and its address.
Witness = tuple[str, str]


def _signed_note(ledger: Ledger, tree: MerkleTree, witness: Witness | None) -> str:
    """A checkpoint of a tree, cosigned by a witness if one is named."""
    from anml.ledger.witness import cosign  # it needs the outsider's program from here

    note = checkpoint.sign_checkpoint(ledger.ring, len(tree), tree.root)
    return note if witness is None else cosign(note, tree, *witness)


def sign_checkpoint(ledger: Ledger, witness: Witness | None = None) -> dict[str, Any]:
    """A signed state of the log as it is now, once all of it was verified; and the key to check it with."""
    with verified(ledger, "signed of") as reading:
        tree, ring = MerkleTree(reading.hashes), ledger.ring
    note, key = _signed_note(ledger, tree, witness), checkpoint.note_verifier_key(ring.origin, ring.public)
    return {"note": note, "size": len(tree), "root": tree.root.hex(), "verifier_key": key}


def check_against_checkpoints(
    ledger: Ledger, folder: Path, witness: Witness | None = None
) -> VerificationReport:
    """Hold the log against all checkpoints in a folder, and add one of now where all is well.

    What was not in the log at the time in a file's name must not be dated before it now.
    """
    if not folder.is_dir():
        # A folder that was moved or not mounted would look like one without any checkpoint.
        raise InputError(f"there is no folder {folder}; make it once, where checkpoints are to be kept")
    with os_error_message(f"{folder} cannot be read"):
        older = sorted(path for path in folder.iterdir() if path.suffix == ".txt")
    seen: dict[Checkpoint, None] = {}
    problems: list[str] = []
    for path in older:
        try:
            seen[checkpoint.read_checkpoint(read_text(path, "checkpoint"), ledger.ring.public)] = None
        except AnmlError as error:
            problems.append(f"{path.name}: {error}")
    with ledger.read() as connection:
        reading = audit.read_and_verify(connection, ledger.ring.public, ledger.clock(), ring=ledger.ring)
        problems += reading.problems
        if reading.hashes:
            for one in seen:
                problems += audit.checkpoint_problems(one, reading.hashes, reading.state.staff.origin)
            # What cannot be read has no date.
            problems += [] if reading.problems else _backdated_entries(reading, {path.name for path in older})
    tree, now = MerkleTree(reading.hashes), ledger.clock().astimezone(UTC).strftime(_WHEN)
    if not problems:
        kept = folder / f"{len(tree):012d}-{now}-{tree.root.hex()[:16]}.txt"
        write_file(kept, _signed_note(ledger, tree, witness))
        # The same state at a later time says all that the earlier note did.
        for path in set(folder.glob(f"{len(tree):012d}-*-{tree.root.hex()[:16]}.txt")) - {kept}:
            with suppress(OSError):
                path.unlink()
    return VerificationReport(len(tree), tree.root, problems, len(older))


def _backdated_entries(reading: LedgerReader, names: Iterable[str]) -> Iterator[str]:
    """Entries that are dated earlier than the log was last seen without them."""
    latest: dict[int, datetime] = {}
    matches = (re.fullmatch(r"(\d{12})-([\dT]{15}Z)-[\da-f]{16}\.txt", name) for name in names)
    for known in filter(None, matches):
        # What is no day is nobody's checkpoint.
        with suppress(ValueError):
            size, seen = int(known[1]), datetime.strptime(known[2], _WHEN).replace(tzinfo=UTC)
            latest[size] = max(latest.get(size, seen), seen)
    for e in reading.entries(size + 1 for size in latest if size < len(reading.hashes)):
        seen = latest[e.seq - 1]
        if e.at < format_timestamp(seen - audit.MAX_CLOCK_SKEW):
            yield f"entry {e.seq} is dated {e.at[:19]}Z, and was not in the log on {seen:%Y-%m-%d %H:%M}"


def make_consistency_proof(ledger: Ledger, older: str) -> bytes:
    """A proof, for somebody without the ledger, that it only grew since an older checkpoint."""
    seen = checkpoint.read_checkpoint(older, ledger.ring.public)
    with verified(ledger, "proved of") as reading:
        tree = MerkleTree(reading.hashes)
    if seen.size > len(tree) or MerkleTree(reading.hashes[: seen.size]).root != seen.root:
        raise IntegrityError("this log does not start with what the older checkpoint saw")
    path = [base64.b64encode(node).decode() for node in tree.consistency(seen.size)]
    note = checkpoint.sign_checkpoint(ledger.ring, len(tree), tree.root)
    return canonical({"older": older, "newer": note, "path": path}) + b"\n"


def check_consistency_proof(proof: bytes, public_key: str) -> tuple[int, int]:
    """Check such a proof with the public key alone, text or a file with it; returns the two sizes."""
    public = keys.read_public(public_key)
    try:
        said = json.loads(proof)
        path = [base64.b64decode(node, validate=True) for node in said["path"]]
        notes = (str(said["older"]), str(said["newer"]))
    except (ValueError, KeyError, TypeError, RecursionError):
        raise InputError("a proof of growth is JSON with older, newer and path") from None
    older, newer = (checkpoint.read_checkpoint(note, public) for note in notes)
    if older.origin != newer.origin or not verifier().grew(older[1:], newer[1:], path):
        raise IntegrityError("the newer checkpoint does not continue the older one: history was rewritten")
    return older.size, newer.size


@cache
def verifier() -> ModuleType:
    """The program that checks statements; it runs alone, and outsiders get it as a file."""
    return import_module("anml.ledger.templates.verify_statement")


def check_statement(envelope: bytes, public: bytes) -> dict[str, Any]:
    """Read a statement whose signatures, checkpoint, entries, staff and sums all hold."""
    program = verifier()
    payload, _ = signing.open_envelope(envelope, [public], program.STATEMENT)
    try:
        found: dict[str, Any] = json.loads(payload)
        if found.get("format") != program.FORMAT:
            raise InputError(f"this is not a statement of format {program.FORMAT}; ask for a new one")
        program.check_statement(found, envelope, public)
    except InputError:
        raise
    except program.No as no:
        raise IntegrityError(f"the statement does not hold: {no}") from None
    except program.UNREADABLE as error:
        raise InputError(f"the statement is not whole ({error})") from None
    return found
