"""DSSE envelopes around in-toto statements (Ed25519); checked before parsing, and `keyid` decides nothing."""

import base64
import json
from collections.abc import Iterable
from datetime import datetime
from typing import Any, NamedTuple

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from anml.core.canonical import canonical, sha256
from anml.core.errors import InputError, IntegrityError
from anml.ledger import dsse, keys
from anml.ledger.log import Event, moment, stamp
from anml.ledger.signing import Signer, from_key, signature

INTOTO = "application/vnd.in-toto+json"
STATEMENT = "https://in-toto.io/Statement/v1"
SVR = "https://in-toto.io/attestation/svr/v0.1"


class Attestation(NamedTuple):
    """A simple verification result, read from a verified envelope."""

    subjects: tuple[tuple[str, str], ...]
    verifier: str
    created: datetime
    properties: tuple[str, ...]


def pae(kind: str, payload: bytes) -> bytes:
    """The bytes that are signed."""
    name = kind.encode()
    return b"DSSEv1 %d %b %d %b" % (len(name), name, len(payload), payload)


def wrap(kind: str, payload: bytes, *signers: Signer) -> dict[str, Any]:
    """Sign a payload into an envelope."""
    message = pae(kind, payload)
    return {
        "payload": base64.b64encode(payload).decode(),
        "payloadType": kind,
        "signatures": [
            {"keyid": sha256(signer.public)[:16], "sig": signature(signer, message)} for signer in signers
        ],
    }


def unwrap(envelope: bytes, publics: Iterable[bytes], kind: str = INTOTO) -> tuple[bytes, bytes]:
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
    signed = pae(kind, payload)
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
    statement = {
        "_type": STATEMENT,
        "subject": [{"name": name, "digest": {"sha256": value}} for name, value in subjects],
        "predicateType": SVR,
        "predicate": {
            "verifier": {"id": verifier},
            "timeCreated": stamp(created),
            "properties": sorted(properties),
        },
    }
    return canonical(wrap(INTOTO, canonical(statement), from_key(key))) + b"\n"


def read_attestation(payload: bytes) -> Attestation:
    """Read a verified payload."""
    try:
        statement = json.loads(payload)
        kinds = (statement["_type"], statement["predicateType"])
        predicate = statement["predicate"]
        found = Attestation(
            tuple(
                (str(item.get("name", "")), str(item["digest"]["sha256"])) for item in statement["subject"]
            ),
            str(predicate["verifier"]["id"]),
            moment(predicate["timeCreated"]),
            tuple(str(name) for name in predicate["properties"]),
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(f"the statement is not a simple verification result ({error})") from None
    if kinds != (STATEMENT, SVR):
        raise InputError(f"expected an in-toto statement with predicate {SVR}, got {kinds[1]!r}")
    return found


# What a verifier can say in an attestation, and the kind of evidence it makes.
PROPERTIES: dict[str, str] = {
    "ANML_SELF": "self",
    "ANML_AFFILIATION": "affiliation",
    "ANML_REVIEW_ACCEPTED": "review-accepted",
    "ANML_REVIEW_REJECTED": "review-rejected",
    "ANML_PUBLICATION": "publication",
    "ANML_REPRODUCED": "reproduced",
    "ANML_RETRACTED": "retracted",
    "ANML_REINSTATED": "reinstated",
    "ANML_CONCERN": "concern",
    "ANML_CORRECTION": "correction",
    "ANML_FLAG": "admin-flag",
    "ANML_FLAG_LIFTED": "flag-lifted",
}

# About all of somebody's work.
EVERYTHING = "*"


def batch_scope(batch: str) -> str:
    """The scope of one imported file, by its SHA-256."""
    return f"batch:{batch}"


def contributor_subject(pid: str) -> tuple[str, str]:
    """How an attestation names a contributor."""
    return f"anml:contributor:{pid}", sha256(pid.encode())


def check_envelope(envelope: bytes, public: bytes, e: Event) -> None:
    """An error unless the paper behind a record was signed by its key, and says what the record says."""
    said, body = dsse.read_attestation(dsse.unwrap(envelope, [public])[0]), e.body
    spoken = {PROPERTIES.get(name, "") for name in said.properties}
    same = (said.verifier, stamp(said.created)) == (body["issuer"], body["at"])
    if not same or body["kind"] not in spoken:
        raise IntegrityError("the attestation behind it says something else")
    scopes = {EVERYTHING if name == contributor_subject(e.subject)[0] else batch_scope(value)
              for name, value in said.subjects}  # fmt: skip
    if body["scope"] not in scopes:
        raise IntegrityError("the attestation behind it is about something else")
