"""Verify the whole ledger: every hash and link, every step by its rules, every table, a kept checkpoint."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import NamedTuple

import sqlalchemy as sa

from anml.core.canonical import sha256
from anml.core.errors import IntegrityError
from anml.core.merkle import Tree
from anml.ledger import checkpoint, holdings
from anml.ledger.checkpoint import Checkpoint
from anml.ledger.keys import KeyRing
from anml.ledger.log import stamp
from anml.ledger.reading import Reading
from anml.ledger.schema import VERSION, document, meta
from anml.ledger.state import State
from anml.ledger.strangers import strangers

MANIFEST = "manifest"
# How far the clocks of two honest machines may lie apart.
SKEW = timedelta(minutes=10)


class Findings(NamedTuple):
    """What verification saw, `compared` with so many checkpoints; sound where `problems` is empty."""

    entries: int
    root: bytes
    problems: list[str]
    compared: int = 0


def verify(
    connection: sa.Connection,
    checkpoints: tuple[Checkpoint, ...] = (),
    public: bytes | None = None,
    now: datetime | None = None,
    ring: KeyRing | None = None,
) -> Findings:
    """Read all once and report every problem; without `public` the key that the log names is taken."""
    found = read(connection, public, now, ring=ring)
    for older in () if found.problems and not found.hashes else checkpoints:
        found.problems += checkpoint_problems(older, found.hashes, found.state.staff.origin)
    return Findings(len(found.hashes), Tree(found.hashes).root, found.problems)


def read(
    connection: sa.Connection, public: bytes | None, now: datetime | None, known: Reading | None = None,
    *, own: bool = False, ring: KeyRing | None = None,
) -> Reading:  # fmt: skip
    """The whole ledger, read and verified after what is `known`; with `own` its end is not sealed yet.

    With the `ring` at hand the papers behind evidence are opened too: who signed it, and what it says.
    """
    found = known or Reading(connection)
    found.connection, found.problems = connection, list(strangers(connection))
    if found.problems:
        # Whatever answers in the place of the ledger's tables is not asked.
        return found
    found.go_on(whole=not own)
    state, problems = found.state, found.problems
    latest = stamp(now + SKEW) if now is not None else "Z"
    if ahead := [seq for at, seq in found.times if at > latest]:
        problems.append(
            f"entry {ahead[0]} is dated later than it is here: windows and waits would end early; where your "
            "clock is right, mend it with `anml ledger clock`"
        )
    if known is not None and state.balances.differs(connection):
        problems.append("the postings of earlier entries are no longer those that were read before")
    problems += _table_problems(connection, state)
    trusted, agreed = state.keys.known, state.payees.paper
    problems += holdings.problems(connection, found.held, state.people.erased, trusted, agreed, ring)
    if own:
        return found
    if public is not None and public != state.staff.public:
        problems.append("the log names another public key than the one you gave: it is another ledger")
    last = (len(found.hashes), found.head)
    key = public or state.staff.public or bytes(32)
    if fault := checkpoint.seal_fault(connection, key, state.staff.origin, last):
        problems.append(fault)
    return found


def check(found: Reading, what: str) -> None:
    """An error unless the ledger verifies: nothing is done on top of one that does not."""
    if found.problems:
        more = f" and {len(found.problems) - 1} more" if len(found.problems) > 1 else ""
        raise IntegrityError(f"nothing is {what} a ledger that does not verify: {found.problems[0]}{more}")


def _table_problems(connection: sa.Connection, state: State) -> Iterator[str]:
    said = {row.name: row.value for row in connection.execute(sa.select(meta))}
    if said != {"schema": str(VERSION), "origin": state.staff.origin}:
        yield "the table meta differs from the first entry of the log"
    wanted = {found.manifest for found in state.settlements.found.values()}
    for row in connection.execute(sa.select(document).order_by(document.c.sha256)):
        name = row.sha256
        if sha256(row.body) != name:
            yield f"the document {name[:16]} was changed"
        elif name not in wanted or row.kind != MANIFEST:
            yield f"the document {name[:16]} is of no settlement, or of another kind"


def checkpoint_problems(older: Checkpoint, hashes: list[bytes], origin: str) -> Iterator[str]:
    """In what a log differs from what somebody saw of it before."""
    if older.origin != origin:
        yield f"the checkpoint is of {older.origin!r}, and this ledger is {origin!r}"
    if older.size > len(hashes):
        size = len(hashes)
        yield f"the log has {size} entries, and had {older.size}: its end was cut off, or it is an old copy"
    elif Tree(hashes[: older.size]).root != older.root:
        yield f"the first {older.size} entries are not those that the checkpoint saw"
