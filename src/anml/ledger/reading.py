"""One reading of a ledger in one transaction; whatever moves money works from what it saw alone.

And whether the rows that hold what is personal are those that the log vouches for by their hashes.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import sqlalchemy as sa

from anml.core.canonical import leaf_hash, sha256
from anml.core.errors import AnmlError, IntegrityError
from anml.ledger import kinds
from anml.ledger.keys import KeyRing, decrypt
from anml.ledger.log import COLUMNS, GENESIS, Event, Posting, decode_event, encode_event
from anml.ledger.records import ErasableRows
from anml.ledger.schema import ERASABLE, alias, document, event, person, person_document, person_key, posting
from anml.ledger.signing import check_envelope
from anml.ledger.state import State
from anml.ledger.state_people import TrustedKey


def record_digest(pid: str, wrapped: bytes, sealed: bytes) -> str:
    """Digest of a profile in the log; the nonce salts the ciphertext, so the hash reveals no content."""
    return sha256(b"record\x00" + pid.encode() + wrapped + sealed)


def alias_digest(handle: str, pid: str, salt: str) -> str:
    """Digest of an account name in the log."""
    return sha256(f"alias\x00{handle}\x00{pid}\x00{salt}".encode())


def decrypt_document(ring: KeyRing, pid: str, name: str, wrapped: bytes, sealed: bytes) -> bytes:
    """A paper about somebody, with their own key; an error where it is not the one of this hash."""
    data = decrypt(decrypt(ring.master, wrapped, f"key/{pid}"), sealed, f"document/{pid}/{name}")
    # Whoever has the master key can seal anything under any name; what people signed for is the hash.
    if sha256(data) != name:
        raise IntegrityError(
            f"the paper {name[:16]} of contributor {pid} holds something else than was signed"
        )
    return data


def table_problems(
    connection: sa.Connection, held: ErasableRows, erased: set[str], trusted: Mapping[str, TrustedKey],
    agreed: Mapping[str, str], ring: KeyRing | None,
) -> Iterator[str]:  # fmt: skip
    """Every row that is missing, changed, moved or nobody's; names, profiles and `agreed` details are kept.

    With the `ring` papers are opened, and attestations held against the `trusted` keys that they name.
    """
    for table in (table for table in ERASABLE if table is not alias):
        for pid in connection.scalars(sa.select(table.c.pid).distinct().order_by(table.c.pid)):
            if pid in erased:
                yield f"the table {table.name} holds rows of contributor {pid}, who was erased"
    yield from _records(connection, held, erased)
    stays = {pid: names & held.kept[pid] if pid in erased else names for pid, names in held.names.items()}
    expected = {(pid, name) for pid, names in stays.items() for name in names}
    rows = connection.execute(sa.select(alias)).all()
    held.owners = {row.handle: row.pid for row in rows}
    found = {(row.pid, alias_digest(row.handle, row.pid, row.salt)) for row in rows}
    for pid in sorted({pid for pid, _ in expected ^ found}):
        if pid in erased:
            yield f"the table alias holds rows of contributor {pid}, who was erased"
        else:
            yield f"the names in the table alias of contributor {pid} are not those on record"
    papers = connection.execute(sa.select(person_document)).all()
    sealed = {(row.sha256, row.pid): row.sealed for row in papers if row.pid not in erased}
    places = [(paper, pid) for pid, paper in agreed.items()]
    held.details = {place: sealed[place] for place in places if place in sealed}
    yield from _document_problems(sealed, held, erased)
    if ring is not None:
        yield from _attestations(sealed, held, trusted, ring)


def _records(connection: sa.Connection, held: ErasableRows, erased: set[str]) -> Iterator[str]:
    wrapped = {row.pid: row.wrapped for row in connection.execute(sa.select(person_key))}
    sealed = {row.pid: row.sealed for row in connection.execute(sa.select(person))}
    expected = {pid: digest for pid, digest in held.records.items() if pid not in erased}
    for pid, digest in sorted(expected.items()):
        if record_digest(pid, wrapped.get(pid, b""), sealed.get(pid, b"")) != digest:
            yield f"the record of contributor {pid} in person or person_key is not the one in the log"
    for pid in sorted((wrapped.keys() | sealed.keys()) - expected.keys()):
        yield f"person or person_key holds a record of {pid!r}, whom the log does not know"
    held.profiles = {pid: (wrapped[pid], sealed[pid]) for pid in expected if pid in wrapped and pid in sealed}


def _document_problems(
    sealed: Mapping[tuple[str, str], bytes], held: ErasableRows, erased: set[str]
) -> Iterator[str]:
    found = {place: sha256(data) for place, data in sealed.items()}
    expected = {place: digest for place, digest in held.papers.items() if place[1] not in erased}
    for place in sorted(found.keys() | expected.keys() | held.sealed_anew):
        if found.get(place) != expected.get(place) or place in held.sealed_anew:
            yield f"the paper {place[0][:16]} of contributor {place[1]} is not the one in the log"


def _attestations(
    sealed: Mapping[tuple[str, str], bytes],
    held: ErasableRows,
    trusted: Mapping[str, TrustedKey],
    ring: KeyRing,
) -> Iterator[str]:
    """Evidence whose paper was not signed by the key that it names, or says something else."""
    waiting, held.signed = held.signed, []
    for e in waiting:
        place = (e.body["paper"], e.subject)
        if place not in sealed or e.subject not in held.profiles:
            # Erased; what is missing otherwise was named above.
            continue
        try:
            envelope = decrypt_document(ring, e.subject, place[0], held.profiles[e.subject][0], sealed[place])
            check_envelope(envelope, trusted[e.body["key"]].public, e)
        except AnmlError as error:
            held.signed.append(e)
            yield f"entry {e.seq}, {e.kind}: {error}"


# What reading an entry that no program wrote may end in.
PARSE_ERRORS = (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError)
Booked = dict[int, list[tuple[Posting, str]]]


class LedgerReader:
    """The log so far: meaning, hashes and problems; it goes on where it stopped, and sees what changed."""

    def __init__(self, connection: sa.Connection) -> None:
        self.connection = connection
        self.state = State(self.document)
        self.held = self.state.held
        self.problems: list[str] = []
        self.hashes: list[bytes] = []
        self.keys: dict[str, int] = {}
        # When each entry that is later than all before it was made, since the clock was last mended.
        self.times: list[tuple[str, int]] = []

    @property
    def head(self) -> bytes:
        """The hash of the last entry."""
        return self.hashes[-1] if self.hashes else b""

    def document(self, name: str) -> bytes | None:
        """A document by its hash; None where there is none, or another one in its place."""
        body = self.connection.scalar(sa.select(document.c.body).where(document.c.sha256 == name))
        return body if body is not None and sha256(body) == name else None

    def go_on(self, *, whole: bool = True) -> None:
        """Read what is in the log beyond what was read before; a `whole` one ends with a signature."""
        booked, known = _postings(self.connection, len(self.hashes)), len(self.hashes)
        query = sa.select(event).where(event.c.seq > known) if known else sa.select(event)
        rows = self.connection.execute(query.order_by(event.c.seq).execution_options(yield_per=2000))
        for place, row in enumerate(rows, start=known + 1):
            self._step(row, place, booked)
        try:
            if whole:
                self.state.finish()
        except AnmlError as error:
            self.problems.append(str(error))
        self.problems += [f"posting of entry {seq} belongs to no entry" for seq in sorted(booked)]

    def took(self, e: Event) -> None:
        """Follow an entry that was checked, accepted and written in this transaction."""
        self.hashes.append(e.hash)
        self._note(e)

    def find(self, key: str) -> Event | None:
        """The entry with this key."""
        return next(self.entries([self.keys[key]])) if key in self.keys else None

    def entries(self, numbers: Iterable[int]) -> Iterator[Event]:
        """Entries by their numbers, sorted; each is the one that was read before, or an error."""
        wanted = sorted(numbers)
        for start in range(0, len(wanted), 500):
            part = wanted[start : start + 500]
            query = sa.select(event.c.seq, event.c.entry).where(event.c.seq.in_(part)).order_by(event.c.seq)
            rows = self.connection.execute(query).all()
            if [row.seq for row in rows] != part:
                raise IntegrityError("the database does not give the entries again that it gave before")
            for row in rows:
                hashed = leaf_hash(row.entry)
                if hashed != self.hashes[row.seq - 1]:
                    raise IntegrityError(f"the database gives another entry {row.seq} than before")
                yield decode_event(row.entry, hashed)

    def _step(self, row: sa.Row[Any], place: int, booked: Booked) -> None:
        hashed = leaf_hash(row.entry)
        prev = self.head.hex() if self.hashes else GENESIS
        self.hashes.append(hashed)
        if row.seq != place:
            self.problems.append(f"entry {place} is missing or out of order (found {row.seq})")
        if hashed != row.hash:
            self.problems.append(f"entry {row.seq} was changed: its hash does not match")
        try:
            found = decode_event(row.entry, hashed)
            whole = encode_event(found) == row.entry
        except PARSE_ERRORS:
            self.problems.append(f"entry {row.seq} cannot be read")
            return
        if not whole:
            self.problems.append(f"entry {row.seq} is not in canonical form")
        if found.prev != prev:
            self.problems.append(f"entry {row.seq} does not follow the entry before it")
        if any(getattr(row, name) != getattr(found, name) for name in COLUMNS):
            self.problems.append(f"the columns of entry {row.seq} differ from its bytes")
        if [(item, found.settlement) for item in found.postings] != booked.pop(row.seq, []):
            self.problems.append(f"the postings of entry {row.seq} differ from its bytes")
        if found.key in self.keys:
            self.problems.append(f"entry {row.seq} uses the key of an earlier one")
        self._note(found)
        try:
            moved = self.state.check(found)
            self.state.check_signature(found)
            if tuple(moved) != found.postings:
                raise ValueError("it moves other money than its step does")
            self.state.accept(found)
        except AnmlError as error:
            self._refuse(row.seq, found, str(error))
        except PARSE_ERRORS as error:
            self._refuse(row.seq, found, f"it makes no sense ({error})")

    def _note(self, found: Event) -> None:
        self.keys[found.key] = found.seq
        if found.kind == kinds.CLOCK:
            self.times = []
        if not self.times or found.at > self.times[-1][0]:
            self.times.append((found.at, found.seq))

    def _refuse(self, seq: int, found: Event, why: str) -> None:
        self.problems.append(f"entry {seq}, {found.kind}: {why}")
        # What went wrong once is not said again for every entry after it.
        if found.kind in kinds.ENTRY_KINDS and not self.state.is_covered(found):
            self.state.open = []
        self.state.balances.fold(found)


def _postings(connection: sa.Connection, after: int) -> Booked:
    found: Booked = defaultdict(list)
    query = sa.select(posting).order_by(posting.c.seq, posting.c.line)
    query = query.where(posting.c.seq > after) if after else query
    for place, (seq, line, account, currency, amount, settlement) in enumerate(connection.execute(query)):
        # A line out of its place fits no entry.
        fits = line == len(found[seq])
        found[seq if fits else -1 - place].append((Posting(account, currency, amount), settlement))
    return found
