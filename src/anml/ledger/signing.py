"""Keys of people, found by who they are, in a file or in a running SSH agent; and what they sign.

That is DSSE envelopes around in-toto statements (Ed25519): checked before parsing; `keyid` decides nothing.
"""

import base64
import json
import os
import socket
import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from anml.core.canonical import canonical, sha256
from anml.core.errors import InputError, IntegrityError
from anml.ledger import keys
from anml.ledger.identifiers import staff_id
from anml.ledger.log import Event, format_timestamp, parse_timestamp
from anml.ledger.state_people import Staff
from anml.signals.policy import DEFAULT_LEVELS

FOLDER = "staff"


class Signer(NamedTuple):
    """Somebody's key, wherever it is kept: the public part, and a function that signs."""

    public: bytes
    sign: Callable[[bytes], bytes]


def signature(signer: Signer, message: bytes) -> str:
    """A signature as text."""
    return base64.b64encode(signer.sign(message)).decode()


@dataclass
class SignerLookup:
    """Lookup of signing keys: `file`, `folders`, then the agent; `name` is the default actor."""

    folders: tuple[Path, ...] = ()
    file: Path | None = None
    name: str | None = None
    password: keys.Password = keys.from_environment
    _known: dict[bytes, Signer] = field(default_factory=dict)

    def acting(self, staff: Staff, by: str | None = None) -> str:
        """Return the actor: as named here or in ANML_BY, else the owner of the only available key."""
        named = by if by is not None else self.name or os.environ.get("ANML_BY") or None
        if named is not None:
            return staff_id(named)
        if self.file:
            # Only the provided key file signs; its password is requested once.
            own = from_file(self.file, self.password)
            self._known[own.public] = own
            could = [member.name for member in staff.active if member.public == own.public]
        else:
            could = sorted(m.name for m in staff.active if self._files(m.name) or from_agent(m.public))
        if len(could) != 1:
            named = f": the keys of {' and '.join(could)} are at hand" if could else ""
            raise InputError(f"say who you are with --by: a staff identifier{named}")
        return could[0]

    def _files(self, name: str) -> list[Path]:
        own = (folder / f"{name}.pem" for folder in self.folders)
        return [path for path in own if path.is_file()]

    def find(self, name: str, public: bytes) -> Signer:
        """The key registered for somebody; an error where it is not at hand."""
        if public in self._known:
            return self._known[public]
        files = [self.file] if self.file else self._files(name)
        found = from_file(files[0], self.password) if files else from_agent(public)
        if found is None:
            place = f"{self.folders[0] / name}.pem, " if self.folders else ""
            raise InputError(f"the key of {name!r} is not at hand: not in {place}--sign FILE or an SSH agent")
        if found.public != public:
            raise IntegrityError(f"{files[0]} is not the key that is registered for {name!r}")
        self._known[public] = found
        return found


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
            with line.makefile("rb") as answer:
                # Where the agent hung up there is less: no answer, or one that nothing is found in.
                return answer.read(struct.unpack(">I", answer.read(4))[0])
    except (OSError, struct.error):
        return b""


INTOTO = "application/vnd.in-toto+json"
STATEMENT = "https://in-toto.io/Statement/v1"
SVR = "https://in-toto.io/attestation/svr/v0.1"


class Attestation(NamedTuple):
    """A simple verification result, read from a verified envelope."""

    subjects: tuple[tuple[str, str], ...]
    verifier: str
    created: datetime
    properties: tuple[str, ...]


def pre_authentication_encoding(kind: str, payload: bytes) -> bytes:
    """The bytes that are signed."""
    name = kind.encode()
    return b"DSSEv1 %d %b %d %b" % (len(name), name, len(payload), payload)


def sign_envelope(kind: str, payload: bytes, *signers: Signer) -> dict[str, Any]:
    """Sign a payload into an envelope."""
    message = pre_authentication_encoding(kind, payload)
    signed = [{"keyid": sha256(one.public)[:16], "sig": signature(one, message)} for one in signers]
    return {"payload": base64.b64encode(payload).decode(), "payloadType": kind, "signatures": signed}


def open_envelope(envelope: bytes, publics: Iterable[bytes], kind: str = INTOTO) -> tuple[bytes, bytes]:
    """The payload and the key that signed it; an error unless one of `publics` did."""
    try:
        outer = json.loads(envelope)
        payload = base64.b64decode(outer["payload"], validate=True)
        named = outer["payloadType"]
        signatures = [base64.b64decode(item["sig"], validate=True) for item in outer["signatures"]]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise InputError("this is not a DSSE envelope: JSON with payload, payloadType, signatures") from None
    if named != kind:
        raise InputError(f"the envelope holds {named!r}, expected {kind!r}")
    signed = pre_authentication_encoding(kind, payload)
    for public in publics:
        if any(keys.verify(public, signature, signed) for signature in signatures):
            return payload, public
    raise IntegrityError("no signature of the envelope was made by a known key")


def attest(
    subjects: Iterable[tuple[str, str]],
    verifier: str,
    properties: Iterable[str],
    created: datetime,
    key: Ed25519PrivateKey,
) -> bytes:
    """A signed simple verification result about subjects given as name and SHA-256."""
    about = [{"name": name, "digest": {"sha256": value}} for name, value in subjects]
    said = {
        "verifier": {"id": verifier},
        "timeCreated": format_timestamp(created),
        "properties": sorted(properties),
    }
    statement = {"_type": STATEMENT, "subject": about, "predicateType": SVR, "predicate": said}
    return canonical(sign_envelope(INTOTO, canonical(statement), from_key(key))) + b"\n"


def read_attestation(payload: bytes) -> Attestation:
    """Read a verified payload."""
    try:
        statement = json.loads(payload)
        kinds = (statement["_type"], statement["predicateType"])
        about, said = statement["subject"], statement["predicate"]
        subjects = tuple((str(item.get("name", "")), str(item["digest"]["sha256"])) for item in about)
        verifier, created = str(said["verifier"]["id"]), parse_timestamp(said["timeCreated"])
        found = Attestation(subjects, verifier, created, tuple(map(str, said["properties"])))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(f"the statement is not a simple verification result ({error})") from None
    if kinds != (STATEMENT, SVR):
        raise InputError(f"expected an in-toto statement with predicate {SVR}, got {kinds[1]!r}")
    return found


# What a verifier can say in an attestation, and the kind of evidence it makes; two are for programs alone.
PROPERTIES: dict[str, str] = {
    f"ANML_{kind.removeprefix('admin-').upper().replace('-', '_')}": kind
    for kind in DEFAULT_LEVELS
    if kind not in ("agreement", "signature-invalid")
}

# About all of somebody's work.
ANY_SUBJECT = "*"


def batch_scope(batch: str) -> str:
    """The scope of one imported file, by its SHA-256."""
    return f"batch:{batch}"


def contributor_subject(pid: str) -> tuple[str, str]:
    """Return the subject of an attestation about a contributor: name and digest."""
    return f"anml:contributor:{pid}", sha256(pid.encode())


def check_envelope(envelope: bytes, public: bytes, e: Event) -> None:
    """An error unless the paper behind a record was signed by its key, and says what the record says."""
    said, body = read_attestation(open_envelope(envelope, [public])[0]), e.body
    spoken = {PROPERTIES.get(name, "") for name in said.properties}
    same = (said.verifier, format_timestamp(said.created)) == (body["issuer"], body["at"])
    if not same or body["kind"] not in spoken:
        raise IntegrityError("the attestation behind it says something else")
    scopes = {ANY_SUBJECT if name == contributor_subject(e.subject)[0] else batch_scope(value)
              for name, value in said.subjects}  # fmt: skip
    if body["scope"] not in scopes:
        raise IntegrityError("the attestation behind it is about something else")
