"""Ledger state of money: settlements, disputes, payouts."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from anml.core.errors import ConflictError, InputError, IntegrityError
from anml.ledger import kinds
from anml.ledger.log import Event, seconds
from anml.ledger.money import MICRO
from anml.ledger.terms import Terms, parse_terms
from anml.settlement import manifest
from anml.settlement.manifest import N_SKETCH_HASHES
from anml.signals.track_record import DAY

_STATE = {kinds.APPROVED: "posted", kinds.WITHDRAWN: "withdrawn", kinds.REVERSED_ALL: "reversed"}
# So many days somebody has for an answer, and for an appeal against what was decided after the window.
ANSWER_DEADLINE_DAYS = 14


class Settlement(NamedTuple):
    """A settlement as its entries leave it.

    `accepted` is why a disputed run is settled, `rows`, `work` and `marks` are hashes of what it pays for: of
    the rows, of items and labels alone, and of a few rows.
    """

    id: str
    state: str
    manifest: str
    currency: str
    pool: int
    by: str
    posted: str | None
    run: str
    window_days: int
    supersedes: str | None
    accepted: str | None = None
    head: str = ""
    rows: str = ""
    work: str = ""
    marks: Sequence[str] = ()
    project: str = ""
    approved_by: str | None = None
    because: str = ""
    # Numbers of its draft, its approval, and its replacement by another.
    entries: tuple[int, ...] = (0, 0)
    replaced_by: str = ""
    terms: int = 0
    replaced_at: str = ""

    def overlap(self, marks: Sequence[str]) -> float:
        """The share of another run's rows that this pays for, by the smallest hashes of both."""
        known = set(self.marks)
        seen = [mark for mark in marks if len(known) < N_SKETCH_HASHES or mark <= max(known)]
        return sum(mark in known for mark in seen) / len(seen) if seen else 0.0

    @property
    def window_end(self) -> float:
        """End of the dispute window of a posted settlement, in seconds."""
        return seconds(self.posted or "") + self.window_days * DAY


class Settlements:
    """All settlements, oldest first."""

    KINDS = (kinds.DRAFTED, kinds.CLOCK, *_STATE)

    def __init__(self) -> None:
        self.found: dict[str, Settlement] = {}

    def fold(self, e: Event) -> None:
        """Take in one entry."""
        if e.kind == kinds.DRAFTED:
            made = Settlement(id=e.subject, state="drafted", posted=None, by=e.by, **e.body)
            self.found[e.subject] = made._replace(entries=(e.seq, 0))
        elif e.kind == kinds.CLOCK:
            # Windows that began ahead of time begin now.
            for sid, one in self.found.items():
                self.found[sid] = one._replace(posted=one.posted and min(one.posted, e.at))
        else:
            old = self.found[e.subject]
            if e.kind == kinds.APPROVED:
                entries, because = (old.entries[0], e.seq), e.body.get("because", "")
                old = old._replace(posted=e.at, approved_by=e.by, because=because, entries=entries)
            elif e.kind == kinds.REVERSED_ALL:
                by = e.body["superseded_by"]
                old = old._replace(replaced_by=by, replaced_at=e.at, entries=(*old.entries, e.seq))
            self.found[e.subject] = old._replace(state=_STATE[e.kind])

    def get(self, sid: str) -> Settlement:
        """A settlement by its identifier."""
        if sid not in self.found:
            raise InputError(f"there is no settlement {sid!r} in this ledger")
        return self.found[sid]

    def expect(self, sid: str, state: str) -> Settlement:
        """A settlement that must be in this state."""
        found = self.get(sid)
        if found.state != state:
            raise ConflictError(f"settlement {sid} is {found.state}; this step needs it to be {state}")
        return found


def read_manifest(documents: Callable[[str], bytes | None], found: Settlement) -> dict[str, Any]:
    """The manifest of a settlement; one that does not match what is on record is refused."""
    body = documents(found.manifest)
    if body is None:
        name = found.manifest[:16]
        raise IntegrityError(f"the manifest {name} is missing or was changed; nothing may be paid on it")
    made = manifest.parse_manifest(body)
    run = made["run"]
    rows = (run["rows_sha256"], run["work_sha256"], run["marks"], run["samples_sha256"])
    said = (made["pool"], made["currency"], manifest.header_digest(made), *rows)
    if said != (found.pool, found.currency, found.head, found.rows, found.work, found.marks, found.run):
        raise IntegrityError(f"the manifest of {found.id} is for another pool or another run")
    return made


class AgreedTerms:
    """Terms that two people signed, by the number of their entry; the last of a name counts."""

    KINDS = (kinds.TERMS,)

    def __init__(self) -> None:
        self.agreed: dict[int, dict[str, Any]] = {}
        self.latest: dict[str, int] = {}

    def fold(self, e: Event) -> None:
        """Take in one entry."""
        self.agreed[e.seq], self.latest[e.subject] = e.body["terms"], e.seq

    def current(self, number: int) -> Terms | None:
        """Return agreed terms by their number; None if no terms were agreed yet and none are named."""
        if not number and not self.agreed:
            return None
        if number not in self.latest.values():
            raise ConflictError("a settlement follows the terms of one name that two people agreed on last")
        return parse_terms(self.agreed[number])

    def choose(self, name: str | None) -> int:
        """Return the number of the terms of a name, or of the only ones; 0 if no terms were agreed yet."""
        if name is None and len(self.latest) < 2:
            return next(iter(self.latest.values()), 0)
        if name not in self.latest:
            names = ", ".join(sorted(self.latest)) or "none"
            raise InputError(f"name agreed terms with --terms, one of {names}; got {name!r}")
        return self.latest[name]

    def minimum(self, currency: str) -> int:
        """Return the smallest payout in a currency by the agreed terms; one whole unit without any."""
        each = [parse_terms(self.agreed[number]) for number in self.latest.values()]
        return max((terms.minimum_payout for terms in each if terms.currency == currency), default=MICRO)


class Answer(NamedTuple):
    """Decision on a dispute: outcome, reason, and micro-units to add to (or take from) the held amount."""

    outcome: str
    reason: str
    by: str
    correction: int = 0
    text: str = ""


class Dispute(NamedTuple):
    """A dispute as its entries leave it; `key` is the contributor's, empty if it was only written down."""

    pid: str
    opened: str
    reason: str
    by: str
    paper: str = ""
    answered: str | None = None
    answer: Answer | None = None
    answer_paper: str = ""
    resolved: str | None = None
    resolved_by: str | None = None
    settlement: str = ""
    key: str = ""
    written_by: str = ""
    # The number of its answer, by which a second person names it.
    answer_entry: int = 0

    @property
    def due(self) -> float:
        """Deadline for the answer, in seconds."""
        return seconds(self.opened) + ANSWER_DEADLINE_DAYS * DAY

    def late(self, now: float) -> bool:
        """True if the answer is overdue."""
        return not self.answered and now > self.due

    @property
    def closed(self) -> bool:
        """Nothing waits for it any more."""
        return self.resolved is not None or (self.answer is not None and not self.answer.correction)

    @property
    def state(self) -> str:
        """State of the dispute as text."""
        if self.closed:
            return "closed"
        return "waits for a second person" if self.answer else "waits for an answer"


class Disputes:
    """All disputes by settlement and contributor, and the last decisions, over amounts `kept` or any."""

    KINDS = (
        kinds.OPENED, kinds.ANSWERED, kinds.RESOLVED, kinds.KEPT, kinds.RELEASED, kinds.RELEASED_ALL,
        kinds.REVERSED, kinds.CLOCK,
    )  # fmt: skip

    def __init__(self) -> None:
        self.found: dict[str, dict[str, list[Dispute]]] = {}
        self.added: dict[str, int] = {}
        self.kept: dict[tuple[str, str], Event] = {}
        self.decided: dict[tuple[str, str], str] = {}
        # Who gets less than their rows alone would be paid, by settlement.
        self.below: dict[str, frozenset[str]] = {}

    def fold(self, e: Event) -> None:
        """Take in one entry."""
        if e.kind in (kinds.OPENED, kinds.ANSWERED, kinds.RESOLVED):
            self._follow(e)
        elif e.kind == kinds.CLOCK:
            self.decided = {place: min(at, e.at) for place, at in self.decided.items()}
            for own in (own for each in self.found.values() for own in each.values()):
                own[:] = [one._replace(opened=min(one.opened, e.at)) for one in own]
        elif e.kind == kinds.RELEASED_ALL:
            for place, last in self.kept.items():
                self.kept[place] = last if last.by else last._replace(by=e.by)
        elif e.kind != kinds.RELEASED or any(p.account.startswith("source:") for p in e.postings):
            place = (e.settlement, e.subject)
            self.decided[place] = e.at
            if e.kind == kinds.KEPT:
                self.kept[place] = e

    def until(self, found: Settlement, pid: str) -> float:
        """Until when somebody may appeal: while the window is open, and for a while after a decision."""
        judged = found.posted if pid in self.below.get(found.id, ()) else None
        last = self.decided.get((found.id, pid)) or judged
        return max(found.window_end, seconds(last) + ANSWER_DEADLINE_DAYS * DAY if last else 0.0)

    def _follow(self, e: Event) -> None:
        own, body = self.found.setdefault(e.settlement, {}).setdefault(e.subject, []), e.body
        if e.kind == kinds.OPENED:
            opener = e.subject if body["opener"] == "contributor" else e.by
            about = {"settlement": e.settlement, "key": body.get("key", ""), "written_by": e.by}
            own.append(Dispute(e.subject, e.at, body["reason"], opener, body["paper"], **about))
        elif e.kind == kinds.ANSWERED:
            said = Answer(body["outcome"], body["reason"], e.by, body["correction"])
            own[-1] = own[-1]._replace(answered=e.at, answer=said)
            own[-1] = own[-1]._replace(answer_paper=body["paper"], answer_entry=e.seq)
        else:
            own[-1] = own[-1]._replace(resolved=e.at, resolved_by=e.by)
            self.added[e.settlement] = self.added.get(e.settlement, 0) + max(body["correction"], 0)

    @property
    def every(self) -> list[Dispute]:
        """All disputes of all settlements, oldest first."""
        found = (d for by in self.found.values() for own in by.values() for d in own)
        return sorted(found, key=lambda d: d.opened)

    def of(self, sid: str, pid: str) -> list[Dispute]:
        """Return the disputes of a contributor in a settlement, oldest first."""
        return self.found.get(sid, {}).get(pid, [])

    def waiting(self, sid: str) -> set[str]:
        """Contributors with an open dispute in a settlement."""
        return {pid for pid, own in self.found.get(sid, {}).items() if not own[-1].closed}

    def open(self, sid: str, pid: str) -> Dispute:
        """The open dispute of a contributor."""
        own = self.of(sid, pid)
        if not own or own[-1].closed:
            raise ConflictError(f"contributor {pid} has no open dispute in {sid}")
        return own[-1]


class Payment(NamedTuple):
    """One payment of a batch: sent, paid or failed; `paper` is what the payee's details were then."""

    pid: str
    amount: int
    state: str
    seq: int
    paper: str = ""


class PayoutBatch(NamedTuple):
    """A payout batch; amounts in micro-units, each a whole number of the bank's smallest unit."""

    id: str
    currency: str
    by: str
    at: str
    payments: tuple[Payment, ...]

    @property
    def total(self) -> int:
        """The sum of its payments."""
        return sum(payment.amount for payment in self.payments)


class Payouts:
    """All batches and their payments."""

    KINDS = (kinds.SENT, kinds.BATCHED, kinds.PAID, kinds.FAILED, kinds.CLOSED, kinds.MERGED)

    def __init__(self) -> None:
        self.heads: dict[str, tuple[str, str, str]] = {}
        self.payments: dict[str, dict[str, Payment]] = {}
        # Who said of somebody's payments that they came back, until those are sent again; "" signs next.
        self.came_back: dict[tuple[str, str], set[str]] = {}

    def fold(self, e: Event) -> None:
        """Take in one entry."""
        body: dict[str, Any] = e.body
        if e.kind == kinds.BATCHED:
            self.heads[e.subject] = (body["currency"], e.by, e.at)
            for pid in self.payments.get(e.subject, {}):
                self.came_back.pop((pid, body["currency"]), None)
        elif e.kind == kinds.CLOSED:
            self.came_back = {place: {by or e.by for by in said} for place, said in self.came_back.items()}
        elif e.kind == kinds.MERGED:
            for pid, currency in [place for place in self.came_back if place[0] == e.subject]:
                said = self.came_back.pop((pid, currency))
                self.came_back.setdefault((body["into"], currency), set()).update(said)
        elif e.kind == kinds.SENT:
            # The number of the first entry is the payment's reference at the bank.
            made = Payment(e.subject, body["amount"], "sent", e.seq, body["paper"])
            self.payments.setdefault(body["batch"], {})[e.subject] = made
        else:
            own = self.payments[body["batch"]]
            own[e.subject] = own[e.subject]._replace(state=e.kind.removeprefix("payout."))
            for owed in e.postings[1:] if e.kind == kinds.FAILED else ():
                place = (owed.account.removeprefix("payable:"), owed.currency)
                self.came_back.setdefault(place, set()).add("")

    def get(self, batch: str) -> PayoutBatch:
        """A batch by its identifier."""
        if batch not in self.heads:
            raise InputError(f"there is no payout batch {batch!r} in this ledger")
        payments = self.payments.get(batch, {})
        return PayoutBatch(batch, *self.heads[batch], tuple(payments[pid] for pid in sorted(payments)))
