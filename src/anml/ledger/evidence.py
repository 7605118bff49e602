"""Evidence records in the log: who says what about which contribution, and what stands behind it."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from anml.core.canonical import digest, sha256
from anml.core.checks import one_of
from anml.core.errors import InputError, IntegrityError
from anml.ledger import kinds
from anml.ledger import personal_data as people
from anml.ledger.log import Event, format_timestamp, parse_timestamp, seconds
from anml.ledger.reading import LedgerReader
from anml.ledger.records import EvidenceLog, EvidenceRecord
from anml.ledger.signing import (
    ANY_SUBJECT,
    PROPERTIES,
    Attestation,
    batch_scope,
    open_envelope,
    read_attestation,
)
from anml.ledger.state import Where, load_component
from anml.ledger.state_people import Contributors, Keys
from anml.ledger.writer import Actor, Writer
from anml.signals.eigentrust import reachable, trust_event_counts
from anml.signals.policy import EVIDENCE, AttestationRecord, EvidenceEntry, TrustRule


def item_scope(batch: str, item: str) -> str:
    """The scope of one item of an imported batch; a hash, since an item's name may be personal."""
    return f"item:{sha256(f'{batch}/{item}'.encode())[:32]}"


def add_records(tx: Writer, records: Iterable[EvidenceRecord]) -> list[Event]:
    """Append records that are not there yet, and return them; they count once `taken` signs for them."""
    bodies: dict[str, tuple[str, dict[str, Any]]] = {}
    for record in records:
        if record.at:
            parse_timestamp(record.at)
        body = {name: getattr(record, name) for name in kinds.ENTRY_KINDS[kinds.EVIDENCE].fields}
        # The key is a hash of the record, so the same key is the same record.
        name = f"evidence/{digest({**body, 'pid': record.pid, 'sealed': ''})[:32]}"
        bodies[name] = (record.pid, {**body, "at": min(record.at, tx.now) if record.at else tx.now})
    new = {key: about for key, about in bodies.items() if key not in tx.reading.keys}
    return [tx.append(kinds.EVIDENCE, key, pid, body) for key, (pid, body) in new.items()]


def sign_records(tx: Writer, what: str, about: str, by: Actor) -> Event | None:
    """Sign for the records that were appended in this transaction; nothing where there are none."""
    if not tx.state.open:
        return None
    return tx.append(kinds.RECORDS_SIGNED, f"taken/{tx.next_seq}", about, {"what": what}, by=tx.who(by))


def add_envelope(tx: Writer, envelope: bytes, until: str | None = None) -> list[Event]:
    """Record what an attestation by a trusted key says; what does not verify is refused and flags nobody."""
    known = tx.state.keys.known
    payload, public = open_envelope(envelope, [key.public for key in known.values()])
    signer = next(key for key in known.values() if key.public == public)
    said = read_attestation(payload)
    created = format_timestamp(said.created)
    if said.verifier != signer.owner:
        raise IntegrityError(f"the key of {signer.owner!r} signed in the name of {said.verifier!r}")
    if created > tx.now:
        raise IntegrityError(f"the attestation is dated {created}, in the future")
    kinds_said = [PROPERTIES[one_of("property", name, PROPERTIES)] for name in said.properties]
    records = []
    for pid, scope in _subjects(tx, said):
        paper = people.store_document(tx, pid, envelope)
        behind = ("signature", signer.id, paper["paper"], paper["sealed"])
        records += [
            EvidenceRecord(kind, pid, signer.owner, created, scope, until, *behind) for kind in kinds_said
        ]
    return add_records(tx, records)


def unfiltered_records(where: Where) -> dict[str, list[AttestationRecord]]:
    """All evidence by contributor as it was recorded; what a leaked or revoked key signed is nobody's."""
    known, known_people = load_component(Keys, where).known, load_component(Contributors, where)
    found: dict[str, list[AttestationRecord]] = defaultdict(list)
    for e in load_component(EvidenceLog, where).found:
        pid, vouched = known_people.resolve(e.pid), e.vouched
        if e.key and not known[e.key].stands(e.at, e.received):
            vouched = "nobody"
        until = None if e.until is None else seconds(e.until)
        issuer = known_people.resolve(e.issuer)
        kind = one_of("kind of evidence", e.kind, EVIDENCE)
        found[pid].append(AttestationRecord(e.seq, kind, pid, issuer, seconds(e.at), until, vouched, e.scope))
    return found


def effective_records(
    where: Where, pids: Iterable[str] | None = None, at: float | None = None, rule: TrustRule | None = None
) -> dict[str, list[AttestationRecord]]:
    """All evidence by contributor, as far as somebody with standing is behind it.

    Whom no trust reaches from those trusted beforehand may say what they like: it is nobody's word. So
    accounts that praise each other gain nothing, and harm nobody.
    """
    found, since = unfiltered_records(where), load_component(Contributors, where).since
    when = max((e.at for records in found.values() for e in records), default=0.0) if at is None else at
    # Whose word counts: the roots, and whom trust reaches from them (EigenTrust above zero).
    standing = reachable(trust_votes(found, when), trusted_roots(where, rule or TrustRule()))

    def weighed(e: AttestationRecord) -> AttestationRecord:
        unnamed = e.issuer not in since and EVIDENCE[e.kind].unnamed
        counts = e.issuer in standing or unnamed or e.kind == "agreement"
        return e if counts or e.vouched == "nobody" else e._replace(vouched="nobody")

    wanted = found if pids is None else set(pids)
    return {pid: [weighed(e) for e in records] for pid, records in found.items() if pid in wanted}


def group_by_scope(records: Iterable[AttestationRecord]) -> dict[str, list[AttestationRecord]]:
    """AttestationRecord by what it is about."""
    found: dict[str, list[AttestationRecord]] = defaultdict(list)
    for record in records:
        found[record.scope].append(record)
    return found


def verified_records(reading: LedgerReader, pids: Iterable[str]) -> dict[int, EvidenceEntry]:
    """All evidence about contributors by its number in a log that was verified, signatures and all."""
    state = reading.state
    weighed = {e.id: e for found in effective_records(state, pids).values() for e in found}
    known = (one for one in state.evidence.found if one.seq in weighed)
    return {one.seq: EvidenceEntry(weighed[one.seq], _signature(one, state.keys), one.paper) for one in known}


def _signature(record: EvidenceRecord, keys: Keys) -> str:
    if not record.key:
        return "none: the platform's own record" if record.vouched == "platform" else "none"
    if not keys.known[record.key].stands(record.at, record.received):
        return f"key {record.key} is no longer trusted: counts for nothing"
    return f"verified with key {record.key}"


def _subjects(tx: Writer, said: Attestation) -> list[tuple[str, str]]:
    """The contributors and scopes that an attestation is about."""
    found: list[tuple[str, str]] = []
    for name, value in said.subjects:
        if name.startswith("anml:contributor:"):
            pid = name.removeprefix("anml:contributor:")
            if value != sha256(pid.encode()):
                raise IntegrityError(f"the digest of {name!r} is not that of its identifier")
            tx.state.people.require(pid)
            found.append((pid, ANY_SUBJECT))
        else:
            given = tx.reading.held.files
            pids = [pid for pid, own in given.items() if value in (batch for batch, _ in own)]
            if not pids:
                raise InputError(f"no imported batch has the SHA-256 {value[:16]}… of subject {name!r}")
            found += [(pid, batch_scope(value)) for pid in pids if pid not in tx.state.people.erased]
    return found


def trust_votes(found: Mapping[str, Iterable[AttestationRecord]], at: float) -> dict[tuple[str, str], float]:
    """Trust weight of each pair at one time: accepted minus rejected attestations, at least 0."""
    sums: dict[tuple[str, str], float] = {}
    for pid, records in found.items():
        for e in records:
            stands = e.vouched != "nobody" and e.at <= at and (e.until is None or at < e.until)
            if stands and EVIDENCE[e.kind].vote and e.issuer != pid:
                sums[e.issuer, pid] = sums.get((e.issuer, pid), 0.0) + EVIDENCE[e.kind].vote
    return {pair: value for pair, value in sums.items() if value > 0}


def trusted_roots(where: Where, rule: TrustRule) -> tuple[str, ...]:
    """Everybody who is trusted beforehand."""
    people = load_component(Contributors, where)
    keys = load_component(Keys, where).known.values()
    owners = {key.owner for key in keys if not key.compromised and key.owner not in people.since}
    named = {people.resolve(pid) for pid in people.reviewers if pid not in people.erased}
    return tuple(sorted(owners | named | {people.resolve(name) for name in rule.roots}))


def endorsement_counts(
    found: Mapping[str, Iterable[AttestationRecord]], at: float, rule: TrustRule, trusted: Iterable[str]
) -> dict[str, float]:
    """Good events that the trust in each contributor stands for; none without pre-trusted people."""
    return trust_event_counts(trust_votes(found, at), trusted, rule.events, rule.restart)
