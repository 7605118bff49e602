"""Whether the rows that hold what is personal are those that the log vouches for by their hashes."""

from collections import defaultdict
from collections.abc import Iterator

import sqlalchemy as sa

from anml.core.canonical import sha256
from anml.ledger import kinds
from anml.ledger.log import Event
from anml.ledger.schema import ERASABLE, alias, person, person_document, person_key


def record_digest(pid: str, wrapped: bytes, sealed: bytes) -> str:
    """What the log holds of a profile: ciphertext is salted by its nonce, so the hash tells nothing."""
    return sha256(b"record\x00" + pid.encode() + wrapped + sealed)


def alias_digest(handle: str, pid: str, salt: str) -> str:
    """What the log holds of an account name."""
    return sha256(f"alias\x00{handle}\x00{pid}\x00{salt}".encode())


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
        self.records: dict[str, str] = {}
        self.names: dict[str, set[str]] = defaultdict(set)
        self.papers: dict[tuple[str, str], str] = {}
        self.sealed_anew: set[tuple[str, str]] = set()

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


def problems(connection: sa.Connection, held: Holdings, erased: set[str]) -> Iterator[str]:
    """Every row that is missing, changed, moved or nobody's; names and profiles are kept as read."""
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
    yield from _papers(connection, held, erased)


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


def _papers(connection: sa.Connection, held: Holdings, erased: set[str]) -> Iterator[str]:
    rows = connection.execute(sa.select(person_document)).all()
    found = {(row.sha256, row.pid): sha256(row.sealed) for row in rows if row.pid not in erased}
    expected = {place: digest for place, digest in held.papers.items() if place[1] not in erased}
    for place in sorted(found.keys() | expected.keys() | held.sealed_anew):
        if found.get(place) != expected.get(place) or place in held.sealed_anew:
            yield f"the paper {place[0][:16]} of contributor {place[1]} is not the one in the log"
