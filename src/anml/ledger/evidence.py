"""Evidence records in the log: who says what about which contribution, and what stands behind it."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any, NamedTuple

import sqlalchemy as sa

from anml.core.canonical import digest, sha256
from anml.core.checks import one_of
from anml.core.errors import InputError, IntegrityError
from anml.core.signals.policy import KINDS, VOUCHED, Evidence
from anml.ledger import dsse, people, registry
from anml.ledger.log import Event, Writer, events, known_keys
from anml.ledger.store import Ledger, moment, seconds, stamp

KIND = "evidence.added"

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

EVERYTHING = "*"


class Record(NamedTuple):
    """What is recorded: `scope` is `*` for all of a contributor's work, `batch:` or `item:` otherwise.

    `at` of "" means that nobody knows when: it is then the time of recording.
    """

    kind: str
    pid: str
    issuer: str
    at: str
    scope: str = EVERYTHING
    until: str | None = None
    vouched: str = "platform"
    key: str = ""
    paper: str = ""


def item_scope(batch: str, item: str) -> str:
    """The scope of one item of an imported batch; a hash, since an item's name may be personal."""
    return f"item:{sha256(f'{batch}/{item}'.encode())[:32]}"


def batch_scope(batch: str) -> str:
    """The scope of one imported file, by its SHA-256."""
    return f"batch:{batch}"


def contributor_subject(pid: str) -> tuple[str, str]:
    """How an attestation names a contributor."""
    return f"anml:contributor:{pid}", sha256(pid.encode())


def add(tx: Writer, records: Iterable[Record]) -> list[Event]:
    """Append records; one that is there already is not appended twice. Returns the new ones."""
    bodies: dict[str, tuple[str, dict[str, Any]]] = {}
    for record in records:
        one_of("kind of evidence", record.kind, KINDS)
        one_of("voucher", record.vouched, VOUCHED)
        # What is in the log stays there: a time that nobody can read would stop every later reading.
        for time in (record.at, record.until):
            if time:
                moment(time)
        body = {name: value for name, value in record._asdict().items() if name != "pid"}
        # The key is a hash of the record, so the same key is the same record.
        name = f"evidence/{digest(record._asdict())[:32]}"
        bodies[name] = (record.pid, {**body, "at": min(record.at, tx.now) if record.at else tx.now})
    known = known_keys(tx.connection, list(bodies))
    return [tx.append(KIND, key, pid, body) for key, (pid, body) in bodies.items() if key not in known]


def add_envelope(tx: Writer, ledger: Ledger, envelope: bytes, until: str | None = None) -> list[Event]:
    """Verify an attestation against the key registry, then record what it says.

    One that does not verify is refused, not recorded as a flag: otherwise anybody could flag anybody
    by sending rubbish about them.
    """
    known = registry.registered(tx.connection)
    payload, public = dsse.unwrap(envelope, [key.public for key in known.values()])
    signer = next(key for key in known.values() if key.public == public)
    said = dsse.read_attestation(payload)
    created = stamp(said.created)
    if said.verifier != signer.owner:
        raise IntegrityError(f"the key of {signer.owner!r} signed in the name of {said.verifier!r}")
    if not signer.stands(created, tx.now):
        raise IntegrityError(f"the key {signer.id} of {signer.owner!r} is not valid for {created}")
    if created > tx.now:
        raise IntegrityError(f"the attestation is dated {created}, in the future")
    kinds = [PROPERTIES[one_of("property", name, PROPERTIES)] for name in said.properties]
    for kind in kinds:
        if kind not in signer.may:
            raise IntegrityError(f"the key {signer.id} of {signer.owner!r} may not attest {kind!r}")
    records = []
    for pid, scope in _subjects(tx.connection, said):
        paper = people.attach(tx, ledger, pid, envelope)
        records += [
            Record(kind, pid, signer.owner, created, scope, until, "signature", signer.id, paper)
            for kind in kinds
        ]
    return add(tx, records)


def of(connection: sa.Connection, pids: Iterable[str] | None = None) -> dict[str, list[Evidence]]:
    """All evidence by contributor; what a leaked or revoked key signed no longer counts."""
    known = registry.registered(connection)
    merged = people.merges(connection)
    wanted = None if pids is None else set(pids)
    found: dict[str, list[Evidence]] = defaultdict(list)
    for e in events(connection, [KIND]):
        pid = people.resolve(e.subject, merged)
        if wanted is not None and pid not in wanted:
            continue
        body, vouched = e.body, e.body["vouched"]
        if body["key"] and not known[body["key"]].stands(body["at"], e.at):
            vouched = "nobody"
        until = None if body["until"] is None else seconds(body["until"])
        issuer = people.resolve(body["issuer"], merged)
        at = seconds(body["at"])
        found[pid].append(Evidence(e.seq, body["kind"], pid, issuer, at, until, vouched, body["scope"]))
    return found


class Entry(NamedTuple):
    """A record as a report shows it: with the state of its signature, and the envelope's SHA-256."""

    record: Evidence
    recorded: str
    signature: str
    envelope: str


def entries(ledger: Ledger, connection: sa.Connection, pids: Iterable[str]) -> dict[int, Entry]:
    """All evidence about contributors by its number in the log; signatures are checked again, here."""
    known = registry.registered(connection)
    records = {e.id: e for found in of(connection, pids).values() for e in found}
    return {
        e.seq: Entry(records[e.seq], e.at, _signature(ledger, connection, e, known), e.body["paper"])
        for e in events(connection, [KIND])
        if e.seq in records
    }


def _signature(
    ledger: Ledger, connection: sa.Connection, e: Event, known: dict[str, registry.TrustedKey]
) -> str:
    body = e.body
    if not body["key"]:
        return "none: the platform's own record" if body["vouched"] == "platform" else "none"
    key = known[body["key"]]
    if not key.stands(body["at"], e.at):
        return f"key {key.id} is no longer trusted: counts for nothing"
    envelope = people.attached(connection, ledger.keys, e.subject, body["paper"]) if ledger.keys else None
    if envelope is None:
        return f"verified with key {key.id} when it was recorded; the envelope is not at hand"
    try:
        dsse.unwrap(envelope, [key.public])
    except (InputError, IntegrityError):
        return f"DOES NOT VERIFY with key {key.id}"
    return f"verified with key {key.id}"


def _subjects(connection: sa.Connection, said: dsse.Attestation) -> list[tuple[str, str]]:
    """The contributors and scopes that an attestation is about."""
    found: list[tuple[str, str]] = []
    for name, value in said.subjects:
        if name.startswith("anml:contributor:"):
            pid = name.removeprefix("anml:contributor:")
            if value != sha256(pid.encode()):
                raise IntegrityError(f"the digest of {name!r} is not that of its identifier")
            people.require(connection, pid)
            found.append((pid, EVERYTHING))
        else:
            pids = _batch_members(connection, value)
            if not pids:
                raise InputError(f"no imported batch has the SHA-256 {value[:16]}… of subject {name!r}")
            found += [(pid, batch_scope(value)) for pid in pids]
    return found


def _batch_members(connection: sa.Connection, batch: str) -> list[str]:
    return [e.subject for e in events(connection, ["contribution"]) if e.body["batch"] == batch]
