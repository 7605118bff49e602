"""Verify a ledger as a whole: the log, the books, and every settlement against its manifest."""

import base64
import json
from collections.abc import Iterator

import sqlalchemy as sa

from anml.app.manifest import amounts
from anml.app.settle import load_manifest
from anml.core.canonical import canonical
from anml.core.errors import AnmlError, InputError, IntegrityError
from anml.core.merkle import Tree, verify_consistency
from anml.ledger import audit, book, checkpoint
from anml.ledger.audit import Findings
from anml.ledger.checkpoint import Checkpoint
from anml.ledger.log import Event, events, leaves
from anml.ledger.standing import CREDITED
from anml.ledger.store import Ledger


def verify(ledger: Ledger, checkpoints: tuple[Checkpoint, ...] = ()) -> Findings:
    """Every problem of the log, then every settlement that is not what its manifest says.

    Whoever holds the log's key can sign an entry that credits a friend; it does not follow from any
    manifest.
    """
    with ledger.read() as connection:
        found = audit.verify(connection, checkpoints)
        if found.problems:
            # Entries that do not hold say nothing about money.
            return found
        return found._replace(problems=list(_settlement_problems(connection)))


def prove_growth(ledger: Ledger, older: str) -> bytes:
    """A proof, for somebody without the ledger, that it only grew since an older checkpoint."""
    seen = checkpoint.read(older, ledger.ring.public)
    with ledger.read() as connection:
        tree = Tree(leaves(connection))
    if seen.size > len(tree) or Tree(tree.leaves[: seen.size]).root != seen.root:
        raise IntegrityError("this log does not start with what the older checkpoint saw")
    path = [base64.b64encode(node).decode() for node in tree.consistency(seen.size)]
    note = checkpoint.sign(ledger.ring, len(tree), tree.root)
    return canonical({"older": older, "newer": note, "path": path}) + b"\n"


def check_growth(proof: bytes, public: bytes) -> tuple[int, int]:
    """Check such a proof with the public key alone; returns the two sizes."""
    try:
        said = json.loads(proof)
        path = [base64.b64decode(node, validate=True) for node in said["path"]]
        notes = (str(said["older"]), str(said["newer"]))
    except (ValueError, KeyError, TypeError):
        raise InputError("a proof of growth is JSON with older, newer and path") from None
    older, newer = (checkpoint.read(note, public) for note in notes)
    same = older.origin == newer.origin
    if not same or not verify_consistency(older.size, older.root, newer.size, newer.root, path):
        raise IntegrityError("the newer checkpoint does not continue the older one: history was rewritten")
    return older.size, newer.size


def _settlement_problems(connection: sa.Connection) -> Iterator[str]:
    credits: dict[str, dict[str, Event]] = {}
    for e in events(connection, [CREDITED]):
        credits.setdefault(e.settlement, {})[e.subject] = e
    for found in book.settlements(connection):
        own = credits.pop(found.id, {})
        if found.posted is None:
            if own:
                yield f"settlement {found.id} has credits but was never approved"
            continue
        try:
            expected = amounts(load_manifest(connection, found.manifest))
        except AnmlError as error:
            yield f"settlement {found.id}: {error}"
            continue
        given = {pid: sum(max(item.amount, 0) for item in e.postings) for pid, e in own.items()}
        if given != {pid: amount for pid, (amount, _) in expected.items()}:
            yield f"the credits of settlement {found.id} do not follow from its manifest"
    yield from (f"credits name a settlement {sid!r} that does not exist" for sid in sorted(credits))
