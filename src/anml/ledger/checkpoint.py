"""Signed checkpoints: a root of the log that somebody outside can keep and hold against us later.

The text is a signed note: origin, size and root on three lines, a blank line, and a line with the
name, the first four bytes of the key's hash and the Ed25519 signature.
"""

import base64
import hashlib
from typing import NamedTuple

from anml.core.errors import InputError, IntegrityError
from anml.ledger import keys

_ED25519 = b"\x01"


class Checkpoint(NamedTuple):
    """What a checkpoint says."""

    origin: str
    size: int
    root: bytes


def sign(ring: keys.KeyRing, size: int, root: bytes) -> str:
    """A signed checkpoint as text."""
    text = f"{ring.origin}\n{size}\n{base64.b64encode(root).decode()}\n"
    signature = _key_hash(ring.origin, ring.public) + ring.log.sign(text.encode())
    return f"{text}\n— {ring.origin} {base64.b64encode(signature).decode()}\n"


def read(note: str, public: bytes, origin: str | None = None) -> Checkpoint:
    """Check the signature, then read; `origin` must match where it is given."""
    text, gap, signatures = note.partition("\n\n")
    text += "\n"
    if not gap or not any(
        _signed(line, text, public) for line in signatures.splitlines() if line.startswith("— ")
    ):
        raise IntegrityError("the checkpoint is not signed by this ledger's key")
    lines = text.splitlines()
    try:
        found = Checkpoint(lines[0], int(lines[1]), base64.b64decode(lines[2], validate=True))
    except (IndexError, ValueError):
        raise InputError("a checkpoint has origin, size and root on its first three lines") from None
    if origin is not None and found.origin != origin:
        raise IntegrityError(f"the checkpoint is of {found.origin!r}, not of {origin!r}")
    return found


def _signed(line: str, text: str, public: bytes) -> bool:
    name, _, encoded = line.removeprefix("— ").rpartition(" ")
    try:
        raw = base64.b64decode(encoded, validate=True)
    except ValueError:
        return False
    return raw[:4] == _key_hash(name, public) and keys.verify(public, raw[4:], text.encode())


def _key_hash(name: str, public: bytes) -> bytes:
    return hashlib.sha256(name.encode() + b"\n" + _ED25519 + public).digest()[:4]
