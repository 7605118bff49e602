"""Appends to the log inside one transaction: checked by the state machine, signed, and sealed at the end."""

from typing import TYPE_CHECKING, Any, TypeAlias

import sqlalchemy as sa

from anml.core.canonical import canonical, leaf_hash, sha256
from anml.core.errors import ConflictError
from anml.ledger import checkpoint, kinds
from anml.ledger import replay as audit
from anml.ledger.log import (
    COLUMNS,
    GENESIS,
    Event,
    encode_event,
    format_timestamp,
    log_head,
    parse_timestamp,
    signed_bytes,
)
from anml.ledger.reading import LedgerReader
from anml.ledger.schema import document, event, posting
from anml.ledger.signing import signature
from anml.ledger.state import State

if TYPE_CHECKING:
    from anml.ledger.store import Ledger

# Who takes a step, by their staff identifier; None is whoever acts here.
Actor: TypeAlias = str | None


class Writer:
    """Goes on from a ledger that was read and verified; rows are gathered, and a read flushes them first."""

    def __init__(self, connection: sa.Connection, ledger: "Ledger") -> None:
        self._connection, self.ledger, self.ring = connection, ledger, ledger.ring
        seq, hashed, at = log_head(connection)
        # What nobody sealed must not be sealed by the next writer without a look.
        checkpoint.require_signed_head(connection, self.ring.public, self.ring.origin, (seq, hashed))
        now = format_timestamp(ledger.clock())
        self._seq, self.prev = seq, hashed.hex() if seq else GENESIS
        self._began, self._clock = seq, now
        # A clock that was set back must not make the log run backwards.
        self.now = max(now, at)
        self._ahead = self.now > format_timestamp(parse_timestamp(now) + audit.MAX_CLOCK_SKEW)
        self._events: list[dict[str, Any]] = []
        self._postings: list[dict[str, Any]] = []
        self._verified = False
        self.reading = ledger.remembered() or LedgerReader(connection)
        self.reading.connection = connection
        if seq and self.reading.head != hashed:
            self.verified()
        self.state.strict = True

    @property
    def state(self) -> State:
        """State of the ledger after the last entry."""
        return self.reading.state

    def verified(self) -> LedgerReader:
        """The whole ledger, verified in this transaction, as steps over money, people and keys need it."""
        self.flush()
        if not self._verified:
            own = self._seq != self._began
            audit.read_and_verify(
                self._connection, self.ring.public, None, self.reading, own=own, ring=self.ring
            )
            audit.require_sound(self.reading, "written to")
            self._verified = self.state.strict = True
        return self.reading

    @property
    def connection(self) -> sa.Connection:
        """The connection, with everything appended so far visible on it."""
        self.flush()
        return self._connection

    def who(self, by: Actor) -> str:
        """One spelling of who acts; by default whoever acts here."""
        return self.ledger.signers.acting(self.state.staff, by)

    def append(
        self, kind: str, key: str, subject: str, body: dict[str, Any], settlement: str = "", by: str = ""
    ) -> Event:
        """Append one event, with the money it moves; the key must be new (see `repeated`)."""
        if kind in kinds.VERIFIED:
            self.verified()
        self._check_clock(kind, body)
        # Who mends the clock says what time it is; everybody else never goes back.
        at = self._clock if kind == kinds.CLOCK else self.now
        made = Event(self._seq + 1, kind, key, subject, at, body, settlement, (), self.prev, b"", by)
        if by:
            first, root = self.state.covering(made.seq)
            made = made._replace(first=first, root=root)
        made = made._replace(postings=tuple(self.state.check(made)))
        if key in self.reading.keys:
            raise ConflictError(f"the key {key!r} was used before for another entry")
        if by:
            signer = self.ledger.signers.find(by, self.state.signer(made).public)
            made = made._replace(sig=signature(signer, signed_bytes(made)))
        entry = encode_event(made)
        made = made._replace(hash=leaf_hash(entry))
        self.state.accept(made)
        self.reading.took(made)
        self._seq, self.prev = made.seq, made.hash.hex()
        columns = {name: getattr(made, name) for name in COLUMNS}
        self._events.append({**columns, "entry": entry, "hash": made.hash})
        place = {"seq": made.seq, "settlement": settlement}
        self._postings += [{**place, "line": n, **item._asdict()} for n, item in enumerate(made.postings)]
        return made

    def _check_clock(self, kind: str, body: dict[str, Any]) -> None:
        """An error where the log is ahead of this machine's clock, by more than clocks differ."""
        mends = kind == kinds.CLOCK or (kind == kinds.PROPOSED and body["step"] == kinds.CLOCK)
        if self._ahead and not mends:
            raise ConflictError(
                f"the last entry is dated {self.now[:19]}Z, and here it is {self._clock[:19]}Z; set this "
                "clock, or where it is right, mend the ledger's with `anml-ledger verify --repair-clock`"
            )

    @property
    def next_seq(self) -> int:
        """The number of the entry that comes next."""
        return self._seq + 1

    def repeated(self, kind: str, key: str, subject: str, body: dict[str, Any], by: str = "") -> Event | None:
        """The earlier event with this key, if any; a conflict where it was for something else."""
        self.flush()
        found = self.reading.find(key)
        if found is None:
            return None
        # A paper differs each time it is sealed, so only the rest is compared.
        said = {name: value for name, value in found.body.items() if name not in kinds.SEALED_DOCUMENT_FIELDS}
        same = (found.kind, found.subject, found.by) == (kind, subject, by)
        if not same or canonical(said) != canonical(body):
            raise ConflictError(
                f"the key {key!r} was used before for another request (entry {found.seq}); use a new key"
            )
        return found

    def keep(self, kind: str, body: bytes) -> str:
        """Keep a document by its hash, which is returned."""
        name = sha256(body)
        if self.connection.scalar(sa.select(document.c.kind).where(document.c.sha256 == name)) is None:
            self._connection.execute(sa.insert(document).values(sha256=name, kind=kind, body=body))
        return name

    def flush(self) -> None:
        """Write what was gathered."""
        if self._events:
            self._connection.execute(sa.insert(event), self._events)
            self._events = []
        if self._postings:
            self._connection.execute(sa.insert(posting), self._postings)
            self._postings = []

    def close(self, *, kept: bool = True) -> None:
        """End with all of it signed for, written and sealed; of what is not `kept` nothing is remembered."""
        self.state.finish()
        self.flush()
        if self.prev != GENESIS and (kept or self._seq == self._began):
            checkpoint.sign_head(self._connection, self.ring, self._seq, self.prev)
            self.ledger.memory[:] = [self.reading]
