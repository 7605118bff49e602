"""The seal on the log's end, made with every write: its key signs number and hash of the last entry."""

import sqlalchemy as sa

from anml.core.errors import IntegrityError
from anml.ledger import keys
from anml.ledger.keys import KeyRing
from anml.ledger.log import newest
from anml.ledger.schema import head


def _message(origin: str, seq: int, hashed: str) -> bytes:
    return f"anml-head/1\n{origin}\n{seq}\n{hashed}\n".encode()


def put(connection: sa.Connection, ring: KeyRing, seq: int, hashed: str) -> None:
    """Seal the end of the log."""
    values = {
        "seq": seq,
        "hash": bytes.fromhex(hashed),
        "sig": ring.log.sign(_message(ring.origin, seq, hashed)),
    }
    changed = connection.execute(sa.update(head).where(head.c.id == 1).values(**values))
    if not changed.rowcount:
        connection.execute(sa.insert(head).values(id=1, **values))


def fault(
    connection: sa.Connection, public: bytes, origin: str, last: tuple[int, bytes] | None = None
) -> str | None:
    """What is wrong with the seal; None where it is on the last entry, whose number and hash `last` are."""
    seq, hashed = last or newest(connection)[:2]
    rows = connection.execute(sa.select(head)).all()
    if not seq and not rows:
        return None
    if len(rows) != 1 or (rows[0].id, rows[0].seq, rows[0].hash) != (1, seq, hashed):
        return (
            f"entry {seq}, the last, is not the one that the ledger's key sealed: some were added or cut off"
        )
    if not keys.verify(public, rows[0].sig, _message(origin, seq, hashed.hex())):
        return f"the seal on entry {seq} was not made by this ledger's key"
    return None


def check(connection: sa.Connection, public: bytes, origin: str, last: tuple[int, bytes]) -> None:
    """An error unless the last entry is sealed."""
    if found := fault(connection, public, origin, last):
        raise IntegrityError(
            f"{found}; nothing may be added until `anml ledger verify` was run and understood"
        )
