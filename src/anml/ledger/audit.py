"""Verify the whole ledger: every hash, link, column, sum and rule, and an older checkpoint if given.

A chain alone does not see that its end was cut off; a checkpoint kept elsewhere does.
"""

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

import sqlalchemy as sa

from anml.core.canonical import sha256
from anml.core.errors import AnmlError
from anml.core.merkle import Tree, leaf_hash
from anml.ledger.checkpoint import Checkpoint
from anml.ledger.log import GENESIS, Event, Posting, check_balanced, decode, encode
from anml.ledger.schema import document, event, posting

# Accounts that never fall below zero; payables may, by a recorded reversal only.
NEVER_NEGATIVE = ("held:", "clearing:", "funding:", "paid:")


class Findings(NamedTuple):
    """What verification saw; sound where `problems` is empty."""

    entries: int
    root: bytes
    problems: list[str]


def verify(connection: sa.Connection, checkpoints: tuple[Checkpoint, ...] = ()) -> Findings:
    """Read everything once and report every problem found, in order."""
    problems: list[str] = []
    hashes: list[bytes] = []
    balances: dict[tuple[str, str], int] = defaultdict(int)
    booked = _postings(connection)
    prev = GENESIS
    query = sa.select(event).order_by(event.c.seq).execution_options(yield_per=2000)
    for place, row in enumerate(connection.execute(query), start=1):
        problems += _entry_problems(row, place, prev)
        hashed = leaf_hash(row.entry)
        prev = hashed.hex()
        hashes.append(hashed)
        try:
            found = decode(row.entry, row.hash)
        except (ValueError, TypeError, KeyError):
            continue
        problems += _money_problems(found, booked.pop(row.seq, []), balances)
    problems += [f"posting of entry {seq} belongs to no entry" for seq in sorted(booked)]
    problems += _overall(balances)
    problems += _document_problems(connection)
    for older in checkpoints:
        problems += _checkpoint_problems(older, hashes)
    return Findings(len(hashes), Tree(hashes).root, problems)


def _entry_problems(row: sa.Row[tuple[object, ...]], place: int, prev: str) -> Iterator[str]:
    if row.seq != place:
        yield f"entry {place} is missing or out of order (found {row.seq})"
    if leaf_hash(row.entry) != row.hash:
        yield f"entry {row.seq} was changed: its hash does not match"
    try:
        found = decode(row.entry, row.hash)
        if encode(found) != row.entry:
            yield f"entry {row.seq} is not in canonical form"
    except (ValueError, TypeError, KeyError, AnmlError):
        yield f"entry {row.seq} cannot be read"
        return
    if found.prev != prev:
        yield f"entry {row.seq} does not follow the entry before it"
    columns = (row.seq, row.kind, row.key, row.subject, row.at)
    if columns != (found.seq, found.kind, found.key, found.subject, found.at):
        yield f"the columns of entry {row.seq} differ from its bytes"


def _money_problems(
    found: Event, lines: list[tuple[Posting, str]], balances: dict[tuple[str, str], int]
) -> Iterator[str]:
    if [(item, found.settlement) for item in found.postings] != lines:
        yield f"the postings of entry {found.seq} differ from its bytes"
    try:
        check_balanced(found.postings, f"entry {found.seq}")
    except AnmlError as error:
        yield str(error)
    for item in found.postings:
        account = (item.account, item.currency)
        balances[account] += item.amount
        low = balances[account] < 0 and item.amount < 0
        carried = item.account.startswith("payable:") and found.kind != "credit.reversed"
        if low and (item.account.startswith(NEVER_NEGATIVE) or carried):
            yield f"entry {found.seq} takes {item.account} below zero"


def _postings(connection: sa.Connection) -> dict[int, list[tuple[Posting, str]]]:
    found: dict[int, list[tuple[Posting, str]]] = defaultdict(list)
    for row in connection.execute(sa.select(posting).order_by(posting.c.seq, posting.c.line)):
        found[row.seq].append((Posting(row.account, row.currency, row.amount), row.settlement))
    return found


def _overall(balances: dict[tuple[str, str], int]) -> Iterator[str]:
    totals: dict[str, int] = defaultdict(int)
    for (_, currency), amount in balances.items():
        totals[currency] += amount
    for currency, total in sorted(totals.items()):
        if total:
            yield f"all {currency} accounts sum to {total} micro-units, not to 0"


def _document_problems(connection: sa.Connection) -> Iterator[str]:
    for row in connection.execute(sa.select(document).order_by(document.c.sha256)):
        if sha256(row.body) != row.sha256:
            yield f"the document {row.sha256[:16]} was changed"


def _checkpoint_problems(older: Checkpoint, hashes: list[bytes]) -> Iterator[str]:
    if older.size > len(hashes):
        yield f"the log has {len(hashes)} entries, and had {older.size}: its end was cut off"
    elif Tree(hashes[: older.size]).root != older.root:
        yield f"the first {older.size} entries are not those that the checkpoint saw"
