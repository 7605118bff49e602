"""What the log means so far, of records that come in numbers: evidence, scores, rows that were settled."""

from typing import NamedTuple

from anml.core.settle import UNIT
from anml.core.signals.track_record import Scored
from anml.ledger import kinds
from anml.ledger.log import Event
from anml.ledger.times import seconds


class Recorded(NamedTuple):
    """One piece of evidence as it was recorded: times as text, `received` by the log."""

    seq: int
    pid: str
    kind: str
    issuer: str
    at: str
    until: str | None
    vouched: str
    scope: str
    key: str
    received: str


class EvidenceLog:
    """All evidence, in the order of the log."""

    KINDS = (kinds.EVIDENCE, kinds.CLOCK)

    def __init__(self) -> None:
        self.found: list[Recorded] = []

    def fold(self, e: Event) -> None:
        """Take in one entry."""
        if e.kind == kinds.CLOCK:
            # What was recorded ahead of time counts from now on.
            self.found = [
                one._replace(at=min(one.at, e.at), received=e.at) if one.received > e.at else one
                for one in self.found
            ]
            return
        b = e.body
        self.found.append(
            Recorded(e.seq, e.subject, b["kind"], b["issuer"], b["at"], b["until"], b["vouched"], b["scope"],
                     b["key"], e.at)
        )  # fmt: skip


class FileLog:
    """Whose work lies in which imported files, with the paper that names its tasks, by contributor."""

    KINDS = (kinds.CONTRIBUTION,)

    def __init__(self) -> None:
        self.found: dict[str, list[tuple[str, str]]] = {}

    def fold(self, e: Event) -> None:
        """Take in one entry."""
        self.found.setdefault(e.subject, []).append((e.body["batch"], e.body["paper"]))


class ScoreLog:
    """All scored work: contributor, domain and score."""

    KINDS = (kinds.SCORED, kinds.CLOCK)

    def __init__(self) -> None:
        self.found: list[tuple[str, str, Scored]] = []

    def fold(self, e: Event) -> None:
        """Take in one entry."""
        if e.kind == kinds.CLOCK:
            now = seconds(e.at)
            self.found = [(pid, domain, s._replace(at=min(s.at, now))) for pid, domain, s in self.found]
            return
        b = e.body
        scored = Scored(seconds(b["at"]), b["quality"] / UNIT, b["source"], b["batch"], b["rows"] / b["of"])
        self.found.append((e.subject, b["domain"], scored))


class SettledLog:
    """Rows that were paid for, by contributor and settlement, and the settlements that were taken back."""

    KINDS = (kinds.CREDITED, kinds.REVERSED_ALL)

    def __init__(self) -> None:
        self.counted: list[tuple[str, str, int]] = []
        self.void: set[str] = set()

    def fold(self, e: Event) -> None:
        """Take in one entry."""
        if e.kind == kinds.CREDITED:
            self.counted.append((e.subject, e.settlement, e.body["counted"]))
        else:
            self.void.add(e.subject)


class Trail:
    """The numbers of the entries that a contributor's amount in a settlement rests on, and of who signed."""

    KINDS = (
        kinds.CREDITED, kinds.RELEASED, kinds.REVERSED, kinds.RESOLVED, kinds.RELEASED_ALL, kinds.APPROVED,
        kinds.STAFF_ADDED, kinds.STAFF_RENEWED, kinds.PROPOSED,
    )  # fmt: skip

    def __init__(self) -> None:
        self.own: dict[tuple[str, str], list[int]] = {}
        self.covers: dict[int, int] = {}
        self.staff: list[int] = []
        self._open: list[int] = []

    def fold(self, e: Event) -> None:
        """Take in one entry."""
        if e.kind in (kinds.STAFF_ADDED, kinds.STAFF_RENEWED, kinds.PROPOSED):
            if e.body.get("step", e.kind) in (kinds.STAFF_ADDED, kinds.STAFF_RENEWED):
                self.staff.append(e.seq)
            return
        if e.kind in (kinds.RELEASED_ALL, kinds.APPROVED):
            self.covers.update(dict.fromkeys(self._open, e.seq))
            self._open = []
            return
        self.own.setdefault((e.settlement, e.subject), []).append(e.seq)
        if e.kind != kinds.CREDITED and not e.by:
            self._open.append(e.seq)


RECORDS = (EvidenceLog, FileLog, ScoreLog, SettledLog, Trail)
