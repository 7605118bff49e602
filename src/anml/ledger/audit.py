"""Verify the whole ledger: every hash and link, every step by the rules it was written by, every table.

A chain alone does not see that its end was cut off or that it is an old copy; a checkpoint kept elsewhere
does.
"""

from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import sqlalchemy as sa

from anml.core.canonical import sha256
from anml.core.errors import AnmlError
from anml.core.merkle import Tree, leaf_hash
from anml.ledger import holdings, kinds, seal
from anml.ledger.checkpoint import Checkpoint
from anml.ledger.log import GENESIS, Event, Posting, decode, encode
from anml.ledger.money_parts import Settlements
from anml.ledger.parts import People
from anml.ledger.schema import VERSION, document, event, meta, posting
from anml.ledger.state import State
from anml.ledger.times import stamp

_UNREADABLE = (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError)
MANIFEST = "manifest"
# How far the clocks of two honest machines may lie apart.
SKEW = timedelta(minutes=10)


class Findings(NamedTuple):
    """What verification saw; sound where `problems` is empty."""

    entries: int
    root: bytes
    problems: list[str]


def verify(
    connection: sa.Connection,
    checkpoints: tuple[Checkpoint, ...] = (),
    public: bytes | None = None,
    now: datetime | None = None,
) -> Findings:
    """Read everything once and report every problem found, in order.

    `public` is the ledger's key as the asker knows it; without it the one that the log names is taken.
    `now` is the time by the asker's clock; an entry of later is one whose writer's clock was set ahead.
    """
    documents = {row.sha256: row for row in connection.execute(sa.select(document))}
    bodies = {name: row.body for name, row in documents.items() if sha256(row.body) == name}
    replay = _Replay(State(bodies.get), _postings(connection))
    query = sa.select(event).order_by(event.c.seq).execution_options(yield_per=2000)
    for place, row in enumerate(connection.execute(query), start=1):
        replay.step(row, place)
    replay.end()
    state, problems = replay.state, replay.problems
    if now is not None and (ahead := replay.first_after(stamp(now + SKEW))):
        problems.append(f"entry {ahead} is dated later than it is here: windows and waits would end early")
    problems += _table_problems(connection, state, documents)
    problems += holdings.problems(connection, replay.held, state.part(People).erased)
    problems += _seal_problems(connection, state, public)
    for older in checkpoints:
        problems += _checkpoint_problems(older, replay.hashes, state.staff.origin)
    return Findings(len(replay.hashes), Tree(replay.hashes).root, problems)


class _Replay:
    """The log, entry by entry, through the state machine that wrote it."""

    def __init__(self, state: State, booked: dict[int, list[tuple[Posting, str]]]) -> None:
        self.state, self.booked, self.held = state, booked, holdings.Holdings()
        self.problems: list[str] = []
        self.hashes: list[bytes] = []
        self._prev = GENESIS
        self._keys: set[str] = set()
        self._times: list[tuple[str, int]] = []

    def step(self, row: sa.Row[Any], place: int) -> None:
        hashed = leaf_hash(row.entry)
        self.hashes.append(hashed)
        if row.seq != place:
            self.problems.append(f"entry {place} is missing or out of order (found {row.seq})")
        if hashed != row.hash:
            self.problems.append(f"entry {row.seq} was changed: its hash does not match")
        try:
            found = decode(row.entry, row.hash)
            whole = encode(found) == row.entry
        except _UNREADABLE:
            self.problems.append(f"entry {row.seq} cannot be read")
        else:
            self._entry(row, found, whole)
        self._prev = hashed.hex()

    def first_after(self, latest: str) -> int | None:
        """The number of the first entry that is dated later than this."""
        return next((seq for at, seq in self._times if at > latest), None)

    def _entry(self, row: sa.Row[Any], found: Event, whole: bool) -> None:
        if not whole:
            self.problems.append(f"entry {row.seq} is not in canonical form")
        if found.prev != self._prev:
            self.problems.append(f"entry {row.seq} does not follow the entry before it")
        columns = (row.seq, row.kind, row.key, row.subject, row.at)
        if columns != (found.seq, found.kind, found.key, found.subject, found.at):
            self.problems.append(f"the columns of entry {row.seq} differ from its bytes")
        if [(item, found.settlement) for item in found.postings] != self.booked.pop(row.seq, []):
            self.problems.append(f"the postings of entry {row.seq} differ from its bytes")
        if found.key in self._keys:
            self.problems.append(f"entry {row.seq} uses the key of an earlier one")
        self._keys.add(found.key)
        if not self._times or found.at > self._times[-1][0]:
            self._times.append((found.at, row.seq))
        try:
            self._follow(found)
        except AnmlError as error:
            self._refuse(row.seq, found, str(error))
        except _UNREADABLE as error:
            self._refuse(row.seq, found, f"it makes no sense ({error})")

    def _follow(self, found: Event) -> None:
        moved = self.state.check(found)
        self.state.check_signature(found)
        if tuple(moved) != found.postings:
            raise ValueError("it moves other money than its step does")
        self.state.accept(found)
        if found.kind in holdings.Holdings.KINDS:
            self.held.fold(found)

    def _refuse(self, seq: int, found: Event, why: str) -> None:
        self.problems.append(f"entry {seq}, {found.kind}: {why}")
        # What went wrong once is not said again for every entry after it.
        if found.kind in kinds.KINDS and not self.state.is_covered(found):
            self.state.open = []
        self.state.balances.fold(found)

    def end(self) -> None:
        try:
            self.state.finish()
        except AnmlError as error:
            self.problems.append(str(error))
        self.problems += [f"posting of entry {seq} belongs to no entry" for seq in sorted(self.booked)]


def _postings(connection: sa.Connection) -> dict[int, list[tuple[Posting, str]]]:
    found: dict[int, list[tuple[Posting, str]]] = defaultdict(list)
    columns = (posting.c.seq, posting.c.line, posting.c.account, posting.c.currency, posting.c.amount)
    query = sa.select(*columns, posting.c.settlement).order_by(posting.c.seq, posting.c.line)
    for place, (seq, line, account, currency, amount, settlement) in enumerate(connection.execute(query)):
        known = found[seq]
        if line != len(known):
            # A line out of its place fits no entry.
            found[-1 - place].append((Posting(account, currency, amount), settlement))
        else:
            known.append((Posting(account, currency, amount), settlement))
    return found


def _table_problems(
    connection: sa.Connection, state: State, documents: dict[str, sa.Row[Any]]
) -> Iterator[str]:
    said = {row.name: row.value for row in connection.execute(sa.select(meta))}
    if said != {"schema": str(VERSION), "origin": state.staff.origin}:
        yield "the table meta differs from the first entry of the log"
    wanted = {found.manifest for found in state.part(Settlements).found.values()}
    for name, row in sorted(documents.items()):
        if sha256(row.body) != name:
            yield f"the document {name[:16]} was changed"
        elif name not in wanted or row.kind != MANIFEST:
            yield f"the document {name[:16]} is of no settlement, or of another kind"


def _seal_problems(connection: sa.Connection, state: State, public: bytes | None) -> Iterator[str]:
    own = state.staff.public
    if public is not None and public != own:
        yield "the log names another public key than the one you gave: it is another ledger"
    if found := seal.fault(connection, public or own or bytes(32), state.staff.origin):
        yield found


def _checkpoint_problems(older: Checkpoint, hashes: list[bytes], origin: str) -> Iterator[str]:
    if older.origin != origin:
        yield f"the checkpoint is of {older.origin!r}, and this ledger is {origin!r}"
    if older.size > len(hashes):
        size = len(hashes)
        yield f"the log has {size} entries, and had {older.size}: its end was cut off, or it is an old copy"
    elif Tree(hashes[: older.size]).root != older.root:
        yield f"the first {older.size} entries are not those that the checkpoint saw"
