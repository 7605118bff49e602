"""Keys of people: found by who they are, in a file or in a running SSH agent."""

import base64
import os
import socket
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from anml.core.errors import InputError, IntegrityError
from anml.core.identifiers import staff_id
from anml.ledger import keys
from anml.ledger.parts import Staff

FOLDER = "staff"


class Signer(NamedTuple):
    """Somebody's key, wherever it is kept: the public part, and a function that signs."""

    public: bytes
    sign: Callable[[bytes], bytes]


def signature(signer: Signer, message: bytes) -> str:
    """A signature as text."""
    return base64.b64encode(signer.sign(message)).decode()


@dataclass
class Signers:
    """Where people's keys are looked for: `file`, `folders`, then the agent; `name` acts by default."""

    folders: tuple[Path, ...] = ()
    file: Path | None = None
    name: str | None = None
    password: keys.Password = keys.from_environment
    _known: dict[bytes, Signer] = field(default_factory=dict)

    def acting(self, staff: Staff) -> str:
        """Who acts where nobody is named: by ANML_BY, or whose key alone is at hand of all of the staff."""
        if self.name or os.environ.get("ANML_BY"):
            return staff_id(self.name or os.environ["ANML_BY"])
        could = sorted(member.name for member in staff.active if self._has(member.name, member.public))
        if len(could) != 1:
            named = f": the keys of {' and '.join(could)} are at hand" if could else ""
            raise InputError(f"say who you are with --by: a staff identifier{named}")
        return could[0]

    def _has(self, name: str, public: bytes) -> bool:
        """Whether the key of somebody could sign here."""
        if any((folder / f"{name}.pem").is_file() for folder in self.folders):
            return True
        own = self.file is not None and from_file(self.file, self.password).public == public
        return own or from_agent(public) is not None

    def find(self, name: str, public: bytes) -> Signer:
        """The key registered for somebody; an error where it is not at hand."""
        if public not in self._known:
            self._known[public] = self._look(name, public)
        return self._known[public]

    def _look(self, name: str, public: bytes) -> Signer:
        own = [folder / f"{name}.pem" for folder in self.folders]
        for path in [self.file] if self.file else [path for path in own if path.is_file()]:
            found = from_file(path, self.password)
            if found.public != public:
                raise IntegrityError(f"{path} is not the key that is registered for {name!r}")
            return found
        found_there = from_agent(public)
        if found_there is None:
            place = f"{own[0]}, " if own else ""
            raise InputError(f"the key of {name!r} is not at hand: not in {place}--sign FILE or an SSH agent")
        return found_there


def from_key(key: Ed25519PrivateKey) -> Signer:
    """A key that is in memory."""
    return Signer(keys.public_bytes(key.public_key()), key.sign)


def from_file(path: Path, password: keys.Password = keys.from_environment) -> Signer:
    """A key in a file; `password` is asked for its password where it has one."""
    return from_key(keys.read_private(path, password))


# SSH agent protocol: request and answer numbers.
_LIST, _LISTED, _SIGN, _SIGNED = 11, 12, 13, 14


def from_agent(public: bytes) -> Signer | None:
    """A key in the running SSH agent; None where there is no agent or it does not have it."""
    if not os.environ.get("SSH_AUTH_SOCK"):
        return None
    blob = _text(b"ssh-ed25519") + _text(public)
    answer = _ask(bytes([_LIST]))
    if not answer or answer[0] != _LISTED or blob not in answer:
        return None

    def sign(message: bytes) -> bytes:
        said = _ask(bytes([_SIGN]) + _text(blob) + _text(message) + struct.pack(">I", 0))
        # What the agent gives is checked here: a wrong signature would spoil the log for good.
        if not said or said[0] != _SIGNED or not keys.verify(public, said[-64:], message):
            raise InputError("the SSH agent did not sign")
        return said[-64:]

    return Signer(public, sign)


def _text(data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + data


def _ask(request: bytes) -> bytes:
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
            line.settimeout(60)
            line.connect(os.environ["SSH_AUTH_SOCK"])
            line.sendall(_text(request))
            size = struct.unpack(">I", _exactly(line, 4))[0]
            return _exactly(line, size)
    except (OSError, struct.error):
        return b""


def _exactly(line: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        if not (part := line.recv(size - len(data))):
            raise OSError("the agent hung up")
        data += part
    return data
