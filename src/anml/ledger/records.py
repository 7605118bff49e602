"""Ledger state of record tables: attestations, scores, balances, credits, erasable rows."""

from collections import defaultdict
from typing import Any, NamedTuple

import sqlalchemy as sa

from anml.ledger import kinds
from anml.ledger.log import Event, Posting, seconds
from anml.ledger.schema import posting
from anml.ledger.signing import ANY_SUBJECT
from anml.settlement.allocate import UNIT
from anml.signals.track_record import ReputationEvent

Account = tuple[str, str, str]
# Accounts that belong to one settlement each.
_BY_SETTLEMENT = ("held:", "funding:")
# Fields that vouch for rows of the erasable tables.
_VOUCH = {"record", "account", "payee", "paper", "kept"}


def account_of(item: Posting, settlement: str) -> Account:
    """Account, currency, and the settlement where the account is one of it."""
    return item.account, item.currency, settlement if item.account.startswith(_BY_SETTLEMENT) else ""


class Balances:
    """Micro-units by account."""

    def __init__(self) -> None:
        self._known: dict[Account, int] = {}

    def fold(self, e: Event) -> None:
        """Take in the money of one entry."""
        for item in e.postings:
            account = account_of(item, e.settlement)
            self._known[account] = self._known.get(account, 0) + item.amount

    def get(self, account: str, currency: str, settlement: str = "") -> int:
        """Return the balance of one account."""
        return self._known.get(account_of(Posting(account, currency, 0), settlement), 0)

    def of_kind(self, prefix: str, currency: str, settlement: str = "") -> dict[str, int]:
        """Return the balances of all accounts of one kind, by the name after the prefix."""
        kind = account_of(Posting(prefix, currency, 0), settlement)[1:]
        return {
            account.removeprefix(prefix): amount
            for (account, *rest), amount in self._known.items()
            if account.startswith(prefix) and tuple(rest) == kind
        }

    def differs(self, connection: sa.Connection) -> bool:
        """True if the sums of the posting table differ from the log."""
        columns = (posting.c.account, posting.c.currency, posting.c.settlement)
        query = sa.select(*columns, sa.func.sum(posting.c.amount)).group_by(*columns)
        sums: dict[Account, int] = {}
        for account, currency, settlement, amount in connection.execute(query):
            key = account_of(Posting(account, currency, 0), settlement)
            sums[key] = sums.get(key, 0) + int(amount)
        return any(sums.get(key, 0) != self._known.get(key, 0) for key in sums.keys() | self._known.keys())

    def accounts(self, *names: str) -> list[Account]:
        """These accounts by currency and settlement."""
        return sorted(key for key in self._known if key[0] in names)


class Credits:
    """Credits of each contributor in a settlement, and the remaining amounts after reversals."""

    KINDS = (kinds.CREDITED, kinds.RELEASED, kinds.REVERSED, kinds.RESOLVED)

    def __init__(self) -> None:
        self.given: dict[tuple[str, str], dict[str, Any]] = {}
        self._net: dict[tuple[str, str], int] = {}

    def fold(self, e: Event) -> None:
        """Take in one entry."""
        place = (e.settlement, e.subject)
        if e.kind == kinds.CREDITED:
            self.given[place] = e.body
        # Amount taken from the pool for the subject of the entry.
        given = -sum(item.amount for item in e.postings if item.account.startswith(("source:", "funding:")))
        self._net[place] = self._net.get(place, 0) + given

    def facts(self, sid: str, pid: str) -> dict[str, Any] | None:
        """The facts of a credit; None where there is none."""
        return self.given.get((sid, pid))

    def of(self, sid: str) -> dict[str, dict[str, Any]]:
        """The facts of all credits of a settlement."""
        return {pid: facts for (s, pid), facts in self.given.items() if s == sid}

    def net(self, sid: str, pid: str) -> int:
        """Return a contributor's amount in a settlement after returns, corrections and reversals."""
        return self._net.get((sid, pid), 0)

    def left(self, sid: str) -> dict[str, int]:
        """Return the remaining amounts of all contributors in a settlement."""
        found = {pid: self.net(sid, pid) for pid in sorted(self.of(sid))}
        return {pid: amount for pid, amount in found.items() if amount}


class EvidenceRecord(NamedTuple):
    """One piece of evidence, on all work (`*`), a `batch:` or an `item:`; `at` of "" is when it is recorded.

    In the log it has its number, and the time when it was `received`.
    """

    kind: str
    pid: str
    issuer: str
    at: str
    scope: str = ANY_SUBJECT
    until: str | None = None
    vouched: str = "platform"
    key: str = ""
    paper: str = ""
    sealed: str = ""
    seq: int = 0
    received: str = ""


class EvidenceLog:
    """All evidence, in the order of the log."""

    KINDS = (kinds.EVIDENCE, kinds.CLOCK)

    def __init__(self) -> None:
        self.found: list[EvidenceRecord] = []

    def fold(self, e: Event) -> None:
        """Take in one entry."""
        if e.kind == kinds.CLOCK:
            # What was recorded ahead of time counts from now on.
            self.found = [
                one._replace(at=min(one.at, e.at), received=e.at) if one.received > e.at else one
                for one in self.found
            ]
            return
        self.found.append(EvidenceRecord(pid=e.subject, seq=e.seq, received=e.at, **e.body))


class ScoreLog:
    """All scored work: contributor, domain and score; and the judgements that were counted, each once."""

    KINDS = (kinds.SCORED, kinds.CLOCK)

    def __init__(self) -> None:
        self.found: list[tuple[str, str, ReputationEvent]] = []
        self.judged: dict[str, set[tuple[str, str]]] = {}

    def fold(self, e: Event) -> None:
        """Take in one entry."""
        if e.kind == kinds.CLOCK:
            now = seconds(e.at)
            self.found = [(pid, domain, s._replace(at=min(s.at, now))) for pid, domain, s in self.found]
            return
        b = e.body
        scored = ReputationEvent(
            seconds(b["at"]), b["quality"] / UNIT, b["source"], b["batch"], b["rows"] / b["of"]
        )
        self.found.append((e.subject, b["domain"], scored))
        self.judged.setdefault(e.subject, set()).update((b["source"], item) for item in b["items"])


class AuditTrail:
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
        elif e.kind in (kinds.RELEASED_ALL, kinds.APPROVED):
            self.covers.update(dict.fromkeys(self._open, e.seq))
            self._open = []
        else:
            self.own.setdefault((e.settlement, e.subject), []).append(e.seq)
            if e.kind != kinds.CREDITED and not e.by:
                self._open.append(e.seq)


class ErasableRows:
    """Expected rows of the erasable tables, by contributor."""

    KINDS = frozenset(kind for kind, about in kinds.ENTRY_KINDS.items() if _VOUCH.intersection(about.fields))

    def __init__(self) -> None:
        # Owner of each name and the encrypted profiles, as of the last read of the tables.
        self.owners: dict[str, str] = {}
        self.profiles: dict[str, tuple[bytes, bytes]] = {}
        # Encrypted bank details with a second approval, by hash and contributor.
        self.details: dict[tuple[str, str], bytes] = {}
        self.records: dict[str, str] = {}
        self.names: dict[str, set[str]] = defaultdict(set)
        # Bank accounts of each contributor, by hash; those of an erased person who owes money stay.
        self.payees: dict[str, set[str]] = defaultdict(set)
        self.kept: dict[str, set[str]] = {}
        self.papers: dict[tuple[str, str], str] = {}
        self.sealed_anew: set[tuple[str, str]] = set()
        # Imported files with rows of a contributor, each with the document that names its tasks.
        self.files: dict[str, list[tuple[str, str]]] = {}
        # Evidence that somebody signed elsewhere, until its papers were looked at.
        self.signed: list[Event] = []

    def fold(self, e: Event) -> None:
        """Take in one entry."""
        body = e.body
        if e.kind == kinds.ERASED:
            self.kept |= {pid: set(body["kept"]) for pid in (e.subject, *body["also"])}
            return
        if body.get("payee"):
            self.payees[e.subject].add(body["payee"])
        if body.get("record"):
            self.records[e.subject] = body["record"]
        self.names[e.subject].update(filter(None, (body.get("account"), body.get("payee"))))
        if body.get("paper"):
            # A paper is sealed once: later entries name the same bytes, or somebody put others there.
            first = self.papers.setdefault((body["paper"], e.subject), body["sealed"])
            if first != body["sealed"]:
                self.sealed_anew.add((body["paper"], e.subject))
        if e.kind == kinds.CONTRIBUTION:
            self.files.setdefault(e.subject, []).append((body["batch"], body["paper"]))
        if e.kind == kinds.EVIDENCE and body["key"]:
            self.signed.append(e)
