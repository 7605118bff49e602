"""One reading of a ledger in one transaction; whatever moves money works from what it saw alone."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

import sqlalchemy as sa

from anml.core.canonical import sha256
from anml.core.errors import AnmlError, IntegrityError
from anml.core.merkle import leaf_hash
from anml.ledger import kinds
from anml.ledger.holdings import Holdings
from anml.ledger.log import GENESIS, Event, Posting, decode, encode
from anml.ledger.schema import document, event, posting
from anml.ledger.state import State

# What reading an entry that no program wrote may end in.
UNREADABLE = (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError)
Booked = dict[int, list[tuple[Posting, str]]]


class Reading:
    """The log so far: meaning, hashes and problems; it goes on where it stopped, and sees what changed."""

    def __init__(self, connection: sa.Connection) -> None:
        self.connection = connection
        self.state, self.held = State(self.document), Holdings()
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
        if e.kind in Holdings.KINDS:
            self.held.fold(e)

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
                yield decode(row.entry, hashed)

    def _step(self, row: sa.Row[Any], place: int, booked: Booked) -> None:
        hashed = leaf_hash(row.entry)
        prev = self.head.hex() if self.hashes else GENESIS
        self.hashes.append(hashed)
        if row.seq != place:
            self.problems.append(f"entry {place} is missing or out of order (found {row.seq})")
        if hashed != row.hash:
            self.problems.append(f"entry {row.seq} was changed: its hash does not match")
        try:
            found = decode(row.entry, hashed)
            whole = encode(found) == row.entry
        except UNREADABLE:
            self.problems.append(f"entry {row.seq} cannot be read")
        else:
            self._entry(row, found, whole, prev, booked)

    def _entry(self, row: sa.Row[Any], found: Event, whole: bool, prev: str, booked: Booked) -> None:
        if not whole:
            self.problems.append(f"entry {row.seq} is not in canonical form")
        if found.prev != prev:
            self.problems.append(f"entry {row.seq} does not follow the entry before it")
        if any(
            getattr(row, name) != getattr(found, name) for name in ("seq", "kind", "key", "subject", "at")
        ):
            self.problems.append(f"the columns of entry {row.seq} differ from its bytes")
        if [(item, found.settlement) for item in found.postings] != booked.pop(row.seq, []):
            self.problems.append(f"the postings of entry {row.seq} differ from its bytes")
        if found.key in self.keys:
            self.problems.append(f"entry {row.seq} uses the key of an earlier one")
        self._note(found)
        try:
            self._follow(found)
        except AnmlError as error:
            self._refuse(row.seq, found, str(error))
        except UNREADABLE as error:
            self._refuse(row.seq, found, f"it makes no sense ({error})")

    def _note(self, found: Event) -> None:
        self.keys[found.key] = found.seq
        if found.kind == kinds.CLOCK:
            self.times = []
        if not self.times or found.at > self.times[-1][0]:
            self.times.append((found.at, found.seq))

    def _follow(self, found: Event) -> None:
        moved = self.state.check(found)
        self.state.check_signature(found)
        if tuple(moved) != found.postings:
            raise ValueError("it moves other money than its step does")
        self.state.accept(found)
        if found.kind in Holdings.KINDS:
            self.held.fold(found)

    def _refuse(self, seq: int, found: Event, why: str) -> None:
        self.problems.append(f"entry {seq}, {found.kind}: {why}")
        # What went wrong once is not said again for every entry after it.
        if found.kind in kinds.KINDS and not self.state.is_covered(found):
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
