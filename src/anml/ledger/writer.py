"""Appends to the log inside one transaction: checked by the state machine, signed, and sealed at the end."""

from collections.abc import Callable
from typing import Any

import sqlalchemy as sa

from anml.core.canonical import canonical, sha256
from anml.core.errors import ConflictError
from anml.core.identifiers import staff_id
from anml.core.merkle import leaf_hash
from anml.ledger import seal
from anml.ledger.keys import KeyRing
from anml.ledger.log import GENESIS, Event, encode, find, newest, signed_bytes
from anml.ledger.schema import document, event, posting
from anml.ledger.signing import Signers, signature
from anml.ledger.state import State

# What the log means, by the hash of the last entry that it was read up to.
Memory = dict[bytes, State]


class Writer:
    """Gathers rows, which `flush` writes; every read of this class flushes first.

    `by` of None means whoever acts here by default.
    """

    def __init__(
        self,
        connection: sa.Connection,
        now: str,
        ring: KeyRing,
        signers: Signers,
        memory: Memory | None = None,
    ) -> None:
        self._connection, self._ring, self._signers = connection, ring, signers
        seq, hashed, at = newest(connection)
        # What nobody sealed must not be sealed by the next writer without a look.
        seal.check(connection, ring.public, ring.origin, (seq, hashed))
        self._seq, self._prev = seq, hashed.hex() if seq else GENESIS
        # A clock that was set back must not make the log run backwards.
        self.now = max(now, at)
        self._memory = {} if memory is None else memory
        # What was read for the last transaction still holds where nobody wrote since; taken out, so that
        # a transaction that fails leaves nothing of itself behind.
        known = self._memory.pop(hashed, None)
        self._memory.clear()
        self.state = known or State(self._document, lambda: self.connection)
        self.state.attach(self._document, lambda: self.connection)
        self.state.at = at
        self._events: list[dict[str, Any]] = []
        self._postings: list[dict[str, Any]] = []

    @property
    def connection(self) -> sa.Connection:
        """The connection, with everything appended so far visible on it."""
        self.flush()
        return self._connection

    def who(self, by: str | None) -> str:
        """One spelling of who acts; by default whoever acts here."""
        return staff_id(by) if by is not None else self._signers.acting()

    def append(
        self,
        kind: str,
        key: str,
        subject: str,
        body: dict[str, Any],
        settlement: str = "",
        by: str = "",
    ) -> Event:
        """Append one event, with the money it moves; the key must be new (see `repeated`)."""
        made = Event(self._seq + 1, kind, key, subject, self.now, body, settlement, (), self._prev, b"", by)
        made = made._replace(postings=tuple(self.state.check(made)))
        if by:
            member = self.state.signer(made)
            signer = self._signers.find(by, member.public)
            made = made._replace(sig=signature(signer, signed_bytes(made)))
        entry = encode(made)
        made = made._replace(hash=leaf_hash(entry))
        self.state.accept(made)
        self._seq, self._prev = made.seq, made.hash.hex()
        self._events.append(
            {"seq": made.seq, "kind": kind, "key": key, "subject": subject, "at": self.now, "entry": entry,
             "hash": made.hash}
        )  # fmt: skip
        self._postings += [
            {"seq": made.seq, "line": line, "settlement": settlement, **item._asdict()}
            for line, item in enumerate(made.postings)
        ]
        return made

    @property
    def next_seq(self) -> int:
        """The number of the entry that comes next."""
        return self._seq + 1

    def repeated(
        self, kind: str, key: str, subject: str, body: dict[str, Any], by: str = "",
        same: Callable[[dict[str, Any]], Any] = lambda body: body,
    ) -> Event | None:  # fmt: skip
        """The earlier event with this key, None where the key is new; another content is a conflict.

        `same` picks what of the body has to be equal: a sealed paper differs each time it is sealed.
        """
        found = find(self.connection, key)
        if found is None:
            return None
        mine, theirs = canonical(same(body)), canonical(same(found.body))
        if (found.kind, found.subject, found.by) != (kind, subject, by) or mine != theirs:
            raise ConflictError(
                f"the key {key!r} was used before for another request (entry {found.seq}); use a new key"
            )
        return found

    def keep(self, kind: str, body: bytes) -> str:
        """Keep a document by its hash, which is returned."""
        name = sha256(body)
        known = self.connection.scalar(sa.select(document.c.kind).where(document.c.sha256 == name))
        if known is None:
            self._connection.execute(sa.insert(document).values(sha256=name, kind=kind, body=body))
        return name

    def _document(self, name: str) -> bytes | None:
        body = self.connection.scalar(sa.select(document.c.body).where(document.c.sha256 == name))
        return body if body is not None and sha256(body) == name else None

    def flush(self) -> None:
        """Write what was gathered."""
        if self._events:
            try:
                self._connection.execute(sa.insert(event), self._events)
            except sa.exc.IntegrityError:
                first, last = self._events[0]["key"], self._events[-1]["key"]
                raise ConflictError(
                    f"a key from {first!r} to {last!r} was used before for another entry"
                ) from None
            self._events = []
        if self._postings:
            self._connection.execute(sa.insert(posting), self._postings)
            self._postings = []

    def close(self) -> None:
        """End the transaction's work: everything signed for, written, and its end sealed."""
        self.state.finish()
        self.flush()
        if self._prev != GENESIS:
            seal.put(self._connection, self._ring, self._seq, self._prev)
            self._memory[bytes.fromhex(self._prev)] = self.state
