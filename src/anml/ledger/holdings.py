"""Whether the rows that hold what is personal are those that the log vouches for by their hashes."""

from collections import defaultdict
from collections.abc import Iterator, Mapping

import sqlalchemy as sa

from anml.core.canonical import sha256
from anml.core.errors import AnmlError, IntegrityError
from anml.ledger import kinds
from anml.ledger.dsse import check_envelope
from anml.ledger.keys import KeyRing, unseal
from anml.ledger.log import Event
from anml.ledger.parts import TrustedKey
from anml.ledger.schema import ERASABLE, alias, person, person_document, person_key


def record_digest(pid: str, wrapped: bytes, sealed: bytes) -> str:
    """What the log holds of a profile: ciphertext is salted by its nonce, so the hash tells nothing."""
    return sha256(b"record\x00" + pid.encode() + wrapped + sealed)


def alias_digest(handle: str, pid: str, salt: str) -> str:
    """What the log holds of an account name."""
    return sha256(f"alias\x00{handle}\x00{pid}\x00{salt}".encode())


def open_paper(ring: KeyRing, pid: str, name: str, wrapped: bytes, sealed: bytes) -> bytes:
    """A paper about somebody, with their own key; an error where it is not the one of this hash."""
    data = unseal(unseal(ring.master, wrapped, f"key/{pid}"), sealed, f"document/{pid}/{name}")
    # Whoever has the master key can seal anything under any name; what people signed for is the hash.
    if sha256(data) != name:
        raise IntegrityError(
            f"the paper {name[:16]} of contributor {pid} holds something else than was signed"
        )
    return data


class Holdings:
    """What should lie in the erasable tables, by contributor."""

    KINDS = frozenset(
        kind
        for kind, about in kinds.KINDS.items()
        if {"record", "account", "payee", "paper"}.intersection(about.fields)
    )

    def __init__(self) -> None:
        # Whom each name leads to and the profiles, sealed, as they were when the tables were last read.
        self.owners: dict[str, str] = {}
        self.profiles: dict[str, tuple[bytes, bytes]] = {}
        # Bank details that two people agreed on, sealed, by hash and contributor.
        self.details: dict[tuple[str, str], bytes] = {}
        self.records: dict[str, str] = {}
        self.names: dict[str, set[str]] = defaultdict(set)
        self.papers: dict[tuple[str, str], str] = {}
        self.sealed_anew: set[tuple[str, str]] = set()
        # Evidence that somebody signed elsewhere, until its papers were looked at.
        self.signed: list[Event] = []

    def fold(self, e: Event) -> None:
        """Take in one entry."""
        body = e.body
        if body.get("record"):
            self.records[e.subject] = body["record"]
        self.names[e.subject].update(filter(None, (body.get("account"), body.get("payee"))))
        if body.get("paper"):
            # A paper is sealed once: later entries name the same bytes, or somebody put others there.
            first = self.papers.setdefault((body["paper"], e.subject), body["sealed"])
            if first != body["sealed"]:
                self.sealed_anew.add((body["paper"], e.subject))
        if e.kind == kinds.EVIDENCE and body["key"]:
            self.signed.append(e)


def problems(
    connection: sa.Connection, held: Holdings, erased: set[str], trusted: Mapping[str, TrustedKey],
    agreed: Mapping[str, str], ring: KeyRing | None,
) -> Iterator[str]:  # fmt: skip
    """Every row that is missing, changed, moved or nobody's; names, profiles and `agreed` details are kept.

    With the `ring` papers are opened, and attestations held against the `trusted` keys that they name.
    """
    for table in ERASABLE:
        for pid in connection.scalars(sa.select(table.c.pid).distinct().order_by(table.c.pid)):
            if pid in erased:
                yield f"the table {table.name} holds rows of contributor {pid}, who was erased"
    yield from _records(connection, held, erased)
    expected = {(pid, name) for pid, names in held.names.items() if pid not in erased for name in names}
    rows = [row for row in connection.execute(sa.select(alias)) if row.pid not in erased]
    held.owners = {row.handle: row.pid for row in rows}
    found = {(row.pid, alias_digest(row.handle, row.pid, row.salt)) for row in rows}
    for pid in sorted({pid for pid, _ in expected ^ found}):
        yield f"the names in the table alias of contributor {pid} are not those on record"
    papers = connection.execute(sa.select(person_document)).all()
    sealed = {(row.sha256, row.pid): row.sealed for row in papers if row.pid not in erased}
    places = [(paper, pid) for pid, paper in agreed.items()]
    held.details = {place: sealed[place] for place in places if place in sealed}
    yield from _papers(sealed, held, erased)
    if ring is not None:
        yield from _attestations(sealed, held, trusted, ring)


def _records(connection: sa.Connection, held: Holdings, erased: set[str]) -> Iterator[str]:
    wrapped = {row.pid: row.wrapped for row in connection.execute(sa.select(person_key))}
    sealed = {row.pid: row.sealed for row in connection.execute(sa.select(person))}
    expected = {pid: digest for pid, digest in held.records.items() if pid not in erased}
    for pid, digest in sorted(expected.items()):
        if record_digest(pid, wrapped.get(pid, b""), sealed.get(pid, b"")) != digest:
            yield f"the record of contributor {pid} in person or person_key is not the one in the log"
    for pid in sorted((wrapped.keys() | sealed.keys()) - expected.keys()):
        yield f"person or person_key holds a record of {pid!r}, whom the log does not know"
    held.profiles = {pid: (wrapped[pid], sealed[pid]) for pid in expected if pid in wrapped and pid in sealed}


def _papers(sealed: Mapping[tuple[str, str], bytes], held: Holdings, erased: set[str]) -> Iterator[str]:
    found = {place: sha256(data) for place, data in sealed.items()}
    expected = {place: digest for place, digest in held.papers.items() if place[1] not in erased}
    for place in sorted(found.keys() | expected.keys() | held.sealed_anew):
        if found.get(place) != expected.get(place) or place in held.sealed_anew:
            yield f"the paper {place[0][:16]} of contributor {place[1]} is not the one in the log"


def _attestations(
    sealed: Mapping[tuple[str, str], bytes], held: Holdings, trusted: Mapping[str, TrustedKey], ring: KeyRing
) -> Iterator[str]:
    """Evidence whose paper was not signed by the key that it names, or says something else."""
    waiting, held.signed = held.signed, []
    for e in waiting:
        place = (e.body["paper"], e.subject)
        if place not in sealed or e.subject not in held.profiles:
            # Erased; what is missing otherwise was named above.
            continue
        try:
            wrapped = held.profiles[e.subject][0]
            envelope = open_paper(ring, e.subject, place[0], wrapped, sealed[place])
            check_envelope(envelope, trusted[e.body["key"]].public, e)
        except AnmlError as error:
            held.signed.append(e)
            yield f"entry {e.seq}, {e.kind}: {error}"
