"""Signed checkpoints, as transparency logs write them (C2SP tlog-checkpoint, signed-note), to keep.

And the seal on the log's end, made with every write: its key signs number and hash of the last entry.
"""

import base64
import hashlib
from typing import NamedTuple

import sqlalchemy as sa

from anml.core.errors import InputError, IntegrityError
from anml.ledger import keys
from anml.ledger.log import log_head
from anml.ledger.schema import head

_ED25519 = b"\x01"


class Checkpoint(NamedTuple):
    """Content of a checkpoint: log name, size and root."""

    origin: str
    size: int
    root: bytes


def sign_checkpoint(ring: keys.KeyRing, size: int, root: bytes) -> str:
    """A signed checkpoint as text."""
    text = f"{ring.origin}\n{size}\n{base64.b64encode(root).decode()}\n"
    signature = _key_hash(ring.origin, ring.public) + ring.log.sign(text.encode())
    return f"{text}\n— {ring.origin} {base64.b64encode(signature).decode()}\n"


def read_checkpoint(note: str, public: bytes) -> Checkpoint:
    """Check the signature, then read."""
    # What was signed ends at the last empty line before signatures, whatever stands before it.
    text, gap, signatures = note.rpartition("\n\n— ")
    text += "\n"
    lines = f"— {signatures}".splitlines()
    if not gap or not any(_signed(line, text, public) for line in lines if line.startswith("— ")):
        raise IntegrityError("the checkpoint is not signed by this ledger's key")
    lines = text.split("\n")
    try:
        found = Checkpoint(lines[0], int(lines[1]), base64.b64decode(lines[2], validate=True))
    except (IndexError, ValueError):
        found = Checkpoint("", -1, b"")
    # One spelling of each number: others that read it would disagree about the rest.
    if found.size < 0 or lines[1] != str(found.size) or len(found.root) != 32 or not found.origin:
        raise InputError("a checkpoint has origin, size and root on its first three lines")
    return found


def note_verifier_key(origin: str, public: bytes) -> str:
    """The ledger's key as other programs that read signed notes and transparency logs want it."""
    return f"{origin}+{_key_hash(origin, public).hex()}+{base64.b64encode(_ED25519 + public).decode()}"


def _signed(line: str, text: str, public: bytes) -> bool:
    name, _, encoded = line.removeprefix("— ").rpartition(" ")
    try:
        raw = base64.b64decode(encoded, validate=True)
    except ValueError:
        return False
    return raw[:4] == _key_hash(name, public) and keys.verify(public, raw[4:], text.encode())


def _key_hash(name: str, public: bytes) -> bytes:
    return hashlib.sha256(name.encode() + b"\n" + _ED25519 + public).digest()[:4]


def _sealed_bytes(origin: str, seq: int, hashed: str) -> bytes:
    return f"anml-head/1\n{origin}\n{seq}\n{hashed}\n".encode()


def sign_head(connection: sa.Connection, ring: keys.KeyRing, seq: int, hashed: str) -> None:
    """Seal the end of the log."""
    signed = ring.log.sign(_sealed_bytes(ring.origin, seq, hashed))
    values = {"seq": seq, "hash": bytes.fromhex(hashed), "sig": signed}
    if not connection.execute(sa.update(head).where(head.c.id == 1).values(**values)).rowcount:
        connection.execute(sa.insert(head).values(id=1, **values))


def head_signature_problem(
    connection: sa.Connection, public: bytes, origin: str, last: tuple[int, bytes] | None = None
) -> str | None:
    """Describe an error of the head signature; None if it covers the last entry (`last`: number, hash)."""
    seq, hashed = last or log_head(connection)[:2]
    rows = connection.execute(sa.select(head)).all()
    if not seq and not rows:
        return None
    if len(rows) != 1 or (rows[0].id, rows[0].seq, rows[0].hash) != (1, seq, hashed):
        return (
            f"entry {seq}, the last, is not the one that the ledger's key sealed: some were added or cut off"
        )
    if not keys.verify(public, rows[0].sig, _sealed_bytes(origin, seq, hashed.hex())):
        return f"the seal on entry {seq} was not made by this ledger's key"
    return None


def require_signed_head(
    connection: sa.Connection, public: bytes, origin: str, last: tuple[int, bytes]
) -> None:
    """An error unless the last entry is sealed."""
    if why := head_signature_problem(connection, public, origin, last):
        raise IntegrityError(f"{why}; nothing may be added until `anml-ledger verify` was run and understood")
