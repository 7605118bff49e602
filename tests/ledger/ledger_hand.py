"""A log in memory, entry by entry through the state machine: rules worked out by hand, without a database.

Nothing is signed: `State.check` asks for names and roles, and the signature itself is tested elsewhere.
"""

from dataclasses import asdict
from datetime import UTC, datetime, timedelta

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from anml.core.canonical import canonical, sha256
from anml.ledger import keys, kinds
from anml.ledger.log import GENESIS, Event, Posting, format_timestamp
from anml.ledger.state import State
from anml.settlement.allocate import UNIT, PayoutRules
from anml.settlement.manifest import FORMAT, add_totals, header_digest

START = datetime(2026, 1, 1, tzinfo=UTC)


def pid(number: int) -> str:
    """An identifier of a contributor."""
    return f"c{number:032x}"


def private(name: str) -> Ed25519PrivateKey:
    """The same key for the same name, always."""
    return Ed25519PrivateKey.from_private_bytes(bytes.fromhex(sha256(name.encode())))


def public(name: str) -> bytes:
    return keys.public_bytes(private(name).public_key())


def at(days: float = 0.0) -> str:
    """The time so many days after the first entry."""
    return format_timestamp(START + timedelta(days=days))


def event(kind: str, subject: str = "", body: dict | None = None, *, seq: int = 2, settlement: str = "",
          by: str = "", days: float = 0.0, key: str = "", postings: tuple = ()) -> Event:  # fmt: skip
    """One entry, for parts that fold it and ask nothing."""
    lines = tuple(Posting(*line) for line in postings)
    return Event(
        seq, kind, key or f"key/{seq}", subject, at(days), body or {}, settlement, lines, GENESIS, b"", by
    )


def created(**changes) -> dict:
    """The body of the first entry."""
    return {
        "origin": "hand", "public": keys.public_text(public("log")), "founder": "ann",
        "founder_key": keys.public_text(public("ann")), "single_person": False, "payee_wait_days": 0,
        "appeals": "", **changes,
    }  # fmt: skip


def line(who: str, units: int, *, newcomer: bool = False, counted: int = 1, r: int = 0) -> dict:
    """A contributor's line of a manifest."""
    return {
        "pid": who, "rows": counted, "kept": counted, "counted": counted, "units": units, "r": r,
        "units_sha256": "", "bands": {}, "newcomer": newcomer, "multiplier": UNIT,
    }  # fmt: skip


def manifest(lines: list[dict], pool: int, currency: str = "EUR", run: str = "1", **rules) -> dict:
    """A whole manifest; `run` names its rows."""
    return add_totals(
        {
            "format": FORMAT,
            "run": {
                "rows_sha256": f"rows{run}",
                "work_sha256": f"work{run}",
                "marks": [],
                "samples_sha256": f"run{run}",
            },
            "rules": asdict(PayoutRules(**rules)),
            "unit": UNIT,
            "pool": pool,
            "rate": 0,
            "currency": currency,
            "contributors": lines,
        }
    )


class Hand:
    """A state with a founder and a staff of four more, and a way to take one step at a time."""

    def __init__(self, staff: tuple[str, ...] = ("bob", "cat", "dan", "eve"), **changes) -> None:
        self.documents: dict[str, bytes] = {}
        self.state = State(self.documents.get)
        self.log: list[Event] = []
        self.days = 0.0
        self.add(kinds.CREATED, "", created(**changes), by="ann")
        for name in staff:
            self.hire(name)

    def make(self, kind: str, subject: str, body: dict, *, settlement: str = "", by: str = "",
             key: str = "") -> Event:  # fmt: skip
        seq = len(self.log) + 1
        return Event(
            seq, kind, key or f"k/{seq}", subject, at(self.days), body, settlement, (), GENESIS, b"", by
        )

    def check(self, kind: str, subject: str, body: dict, **more) -> list[Posting]:
        """Return the postings of a step without applying it."""
        return self.state.check(self.make(kind, subject, body, **more))

    def add(self, kind: str, subject: str, body: dict, **more) -> Event:
        made = self.make(kind, subject, body, **more)
        made = made._replace(postings=tuple(self.state.check(made)))
        self.state.accept(made)
        self.log.append(made)
        return made

    def propose(self, step: str, subject: str, body: dict, by: str = "ann", settlement: str = "") -> int:
        whole = {"step": step, "body": body, "paper": body.get("digest", ""), "sealed": ""}
        return self.add(kinds.PROPOSED, subject, whole, by=by, settlement=settlement).seq

    def by_two(self, step: str, subject: str, body: dict, *, settlement: str = "", first: str = "ann",
               second: str = "bob", **added) -> Event:  # fmt: skip
        number = self.propose(step, subject, body, first, settlement)
        whole = {**body, **added, "proposal": number}
        return self.add(step, subject, whole, by=second, settlement=settlement)

    def hire(self, name: str, *roles: str) -> None:
        body = {"public": keys.public_text(public(name)), "roles": sorted(roles or kinds.ROLES)}
        if len(self.state.staff.members) == 1:
            self.add(kinds.STAFF_ADDED, name, {**body, "proposal": 0}, by="ann")
        else:
            self.by_two(kinds.STAFF_ADDED, name, body)

    def register(self, *numbers: int) -> None:
        for number in numbers:
            self.add(kinds.REGISTERED, pid(number), {"record": "r", "account": "a"})
        self.add(kinds.RECORDS_SIGNED, "import", {"what": "import"}, by="ann")

    def draft_body(self, lines: list[dict], pool: int, *, currency: str = "EUR", run: str = "1",
                   window_days: int = 14, supersedes: str | None = None, **rules) -> dict:  # fmt: skip
        made = manifest(lines, pool, currency, run, **rules)
        data = canonical(made)
        self.documents[sha256(data)] = data
        return {
            "manifest": sha256(data), "head": header_digest(made), "currency": currency, "pool": pool,
            "run": f"run{run}", "rows": f"rows{run}", "work": f"work{run}", "marks": [],
            "window_days": window_days, "supersedes": supersedes,
            "accepted": None, "project": "",
        }  # fmt: skip

    def draft(self, sid: str, lines: list[dict], pool: int, by: str = "ann", **more) -> Event:
        return self.add(kinds.DRAFTED, sid, self.draft_body(lines, pool, **more), by=by)

    def approve(self, sid: str, by: str = "bob") -> Event:
        from anml.ledger.state_money import Settlements

        found = self.state.part(Settlements).get(sid)
        body = {"manifest": found.manifest, "head": found.head}
        made = self.add(kinds.APPROVED, sid, body, settlement=sid, by=by)
        owed = self.state.owed
        for who, (_, facts) in sorted(owed.credits.items()) if owed else ():
            self.add(kinds.CREDITED, who, facts, settlement=sid)
        if self.state.owed is not None:
            self.add(kinds.UNALLOCATED, sid, {}, settlement=sid)
        return made

    def post(self, sid: str, lines: list[dict], pool: int, **more) -> None:
        self.draft(sid, lines, pool, **more)
        self.approve(sid)

    def release(self, sid: str, *who: str, r: int = UNIT) -> None:
        for one in who:
            self.add(kinds.RELEASED, one, {"r": r}, settlement=sid)
        self.add(kinds.RELEASED_ALL, sid, {}, settlement=sid, by="ann")

    def pay(self, batch: str, currency: str = "EUR", **amounts: int) -> None:
        """Send amounts in a batch, by the number of each contributor as `c1`."""
        for name, amount in amounts.items():
            who = pid(int(name.removeprefix("c")))
            body = {"batch": batch, "amount": amount, "paper": "", "sealed": ""}
            self.add(kinds.SENT, who, body, key=f"payout/{batch}/{who}/{currency}")
        self.add(kinds.BATCHED, batch, {"currency": currency, "threshold": 0}, by="ann")

    def held(self, sid: str, who: str, currency: str = "EUR") -> int:
        return self.state.balances.get(f"held:{who}", currency, sid)

    def balance(self, account: str, currency: str = "EUR") -> int:
        return self.state.balances.get(account, currency)
