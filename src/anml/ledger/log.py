"""The log: events as canonical bytes, each bound to the one before, and the money they move.

The bytes that are hashed are the bytes that are stored, so no database ever decides how an entry is
spelt. The columns beside them repeat parts of the entry for searching, and `check` compares them.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

from anml.core.canonical import canonical
from anml.core.errors import ConflictError, InputError, IntegrityError
from anml.core.merkle import leaf_hash
from anml.core.money import LARGEST
from anml.ledger.schema import document, event, posting

GENESIS = "0" * 64


class Posting(NamedTuple):
    """One line of an entry: micro-units into (plus) or out of (minus) an account."""

    account: str
    currency: str
    amount: int


class Event(NamedTuple):
    """One entry of the log, read back."""

    seq: int
    kind: str
    key: str
    subject: str
    at: str
    body: dict[str, Any]
    settlement: str
    postings: tuple[Posting, ...]
    prev: str
    hash: bytes


class Writer:
    """Appends to the log inside one transaction.

    Rows are gathered and written by `flush`, which the ledger calls before it commits and every read
    of this class calls first.
    """

    def __init__(self, connection: sa.Connection, now: str) -> None:
        self._connection = connection
        last = connection.execute(
            sa.select(event.c.seq, event.c.hash, event.c.at).order_by(event.c.seq.desc()).limit(1)
        ).first()
        self._seq: int = last.seq if last else 0
        self._prev: str = last.hash.hex() if last else GENESIS
        # A clock that was set back must not make the log run backwards.
        self.now = max(now, last.at) if last else now
        self._events: list[dict[str, Any]] = []
        self._postings: list[dict[str, Any]] = []

    @property
    def connection(self) -> sa.Connection:
        """The connection, with everything appended so far visible on it."""
        self.flush()
        return self._connection

    @property
    def next_seq(self) -> int:
        """The number of the entry that comes next."""
        return self._seq + 1

    def append(
        self,
        kind: str,
        key: str,
        subject: str,
        body: dict[str, Any],
        postings: Sequence[Posting] = (),
        settlement: str = "",
    ) -> Event:
        """Append one event; the key must be new (see `repeated`)."""
        check_balanced(postings, f"{kind} {key}")
        made = Event(
            self.next_seq, kind, key, subject, self.now, body, settlement, tuple(postings), self._prev, b""
        )
        entry = encode(made)
        made = made._replace(hash=leaf_hash(entry))
        self._seq, self._prev = made.seq, made.hash.hex()
        self._events.append(
            {
                "seq": made.seq,
                "kind": kind,
                "key": key,
                "subject": subject,
                "at": self.now,
                "entry": entry,
                "hash": made.hash,
            }
        )
        self._postings += [
            {"seq": made.seq, "line": line, "settlement": settlement, **item._asdict()}
            for line, item in enumerate(postings)
        ]
        return made

    def repeated(self, kind: str, key: str, subject: str, body: dict[str, Any]) -> Event | None:
        """The earlier event with this key, None where the key is new; another body is a conflict."""
        found = find(self.connection, key)
        if found is None:
            return None
        if (found.kind, found.subject) != (kind, subject) or canonical(found.body) != canonical(body):
            raise ConflictError(
                f"the key {key!r} was used before for another request (entry {found.seq}); use a new key"
            )
        return found

    def once(self, kind: str, key: str, subject: str, body: dict[str, Any]) -> tuple[Event, bool]:
        """Append an event without money unless it is there already; says whether it is new."""
        found = self.repeated(kind, key, subject, body)
        return (found, False) if found else (self.append(kind, key, subject, body), True)

    def keep(self, kind: str, body: bytes, sha256: str) -> None:
        """Keep a document by its hash."""
        known = self.connection.scalar(sa.select(document.c.kind).where(document.c.sha256 == sha256))
        if known is None:
            self._connection.execute(sa.insert(document).values(sha256=sha256, kind=kind, body=body))

    def flush(self) -> None:
        """Write what was gathered."""
        if self._events:
            self._connection.execute(sa.insert(event), self._events)
            self._events = []
        if self._postings:
            self._connection.execute(sa.insert(posting), self._postings)
            self._postings = []


def check_name(name: str) -> str:
    """Return a name that may stay in the log for ever: who acts there is no address of a person."""
    if not name.strip() or "@" in name:
        raise InputError(f"name yourself by a staff identifier, not an address, got {name!r}")
    return name


def check_balanced(postings: Iterable[Posting], where: str) -> None:
    """Every entry sums to zero in each currency."""
    sums: dict[str, int] = {}
    for item in postings:
        if abs(item.amount) > LARGEST:
            raise InputError(f"{item.amount} micro-units in {where} do not fit 64 bits")
        sums[item.currency] = sums.get(item.currency, 0) + item.amount
    for currency, total in sums.items():
        if total:
            raise IntegrityError(
                f"the postings of {where} sum to {total} micro-units of {currency}, not to 0"
            )


def encode(made: Event) -> bytes:
    """The canonical bytes of an event: what is stored and hashed."""
    fields = made._asdict()
    del fields["hash"]
    fields["postings"] = [list(item) for item in made.postings]
    return canonical(fields)


def decode(entry: bytes, hashed: bytes) -> Event:
    """The reverse of `encode`."""
    fields = json.loads(entry)
    lines = tuple(Posting(*line) for line in fields.pop("postings"))
    return Event(**fields, postings=lines, hash=hashed)


def find(connection: sa.Connection, key: str) -> Event | None:
    """The event with this key."""
    row = connection.execute(sa.select(event.c.entry, event.c.hash).where(event.c.key == key)).first()
    return decode(row.entry, row.hash) if row else None


def known_keys(connection: sa.Connection, keys: Sequence[str]) -> set[str]:
    """Which of these keys are in the log."""
    found: set[str] = set()
    for start in range(0, len(keys), 500):
        part = keys[start : start + 500]
        found.update(connection.scalars(sa.select(event.c.key).where(event.c.key.in_(part))))
    return found


def events(
    connection: sa.Connection,
    kinds: Sequence[str] = (),
    subject: str | None = None,
    upto: int | None = None,
) -> Iterator[Event]:
    """Events in order, of these kinds and about this subject where given."""
    query = sa.select(event.c.entry, event.c.hash).order_by(event.c.seq)
    if kinds:
        query = query.where(event.c.kind.in_(kinds))
    if subject is not None:
        query = query.where(event.c.subject == subject)
    if upto is not None:
        query = query.where(event.c.seq <= upto)
    if subject is None:
        # Whole kinds can be long; what is about one subject is short, and a cursor would cost more.
        query = query.execution_options(yield_per=2000)
    for row in connection.execute(query):
        yield decode(row.entry, row.hash)


def leaves(connection: sa.Connection, upto: int | None = None) -> list[bytes]:
    """The hashes of the log, in order."""
    query = sa.select(event.c.hash).order_by(event.c.seq)
    if upto is not None:
        query = query.where(event.c.seq <= upto)
    return list(connection.scalars(query))


def size(connection: sa.Connection) -> int:
    """How many entries the log has."""
    return int(connection.scalar(sa.select(sa.func.coalesce(sa.func.max(event.c.seq), 0))) or 0)
