"""Balances, credits and judgements, as a log that is read leaves them; balances also by a query."""

from typing import Any

import sqlalchemy as sa

from anml.ledger import kinds
from anml.ledger.log import Event, Posting
from anml.ledger.schema import posting

Account = tuple[str, str, str]
# Accounts that belong to one settlement each.
_BY_SETTLEMENT = ("held:", "funding:")


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
        """What is on one account."""
        return self._known.get(account_of(Posting(account, currency, 0), settlement), 0)

    def of_kind(self, prefix: str, currency: str, settlement: str = "") -> dict[str, int]:
        """What is on all accounts of one kind, by what follows the prefix."""
        kind = account_of(Posting(prefix, currency, 0), settlement)[1:]
        return {
            account.removeprefix(prefix): amount
            for (account, *rest), amount in self._known.items()
            if account.startswith(prefix) and tuple(rest) == kind
        }

    def differs(self, connection: sa.Connection) -> bool:
        """Whether the table beside the log adds up to something else."""
        columns = (posting.c.account, posting.c.currency, posting.c.settlement)
        query = sa.select(*columns, sa.func.sum(posting.c.amount)).group_by(*columns)
        sums: dict[Account, int] = {}
        for account, currency, settlement, amount in connection.execute(query):
            key = account_of(Posting(account, currency, 0), settlement)
            sums[key] = sums.get(key, 0) + int(amount)
        every = sums.keys() | self._known.keys()
        return any(sums.get(key, 0) != self._known.get(key, 0) for key in every)

    def accounts(self, *names: str) -> list[Account]:
        """These accounts by currency and settlement."""
        return sorted(key for key in self._known if key[0] in names)


class Credits:
    """What each contributor was credited in a settlement, and what is left of it after reversals."""

    KINDS = (kinds.CREDITED, kinds.RELEASED, kinds.REVERSED, kinds.RESOLVED)

    def __init__(self) -> None:
        self._facts: dict[tuple[str, str], dict[str, Any]] = {}
        self._net: dict[tuple[str, str], int] = {}

    def fold(self, e: Event) -> None:
        """Take in one entry."""
        place = (e.settlement, e.subject)
        if e.kind == kinds.CREDITED:
            self._facts[place] = e.body
        # What the entry took out of the pool for its subject.
        given = -sum(item.amount for item in e.postings if item.account.startswith(("source:", "funding:")))
        self._net[place] = self._net.get(place, 0) + given

    def facts(self, sid: str, pid: str) -> dict[str, Any] | None:
        """The facts of a credit; None where there is none."""
        return self._facts.get((sid, pid))

    def of(self, sid: str) -> dict[str, dict[str, Any]]:
        """The facts of all credits of a settlement."""
        return {pid: facts for (s, pid), facts in self._facts.items() if s == sid}

    def net(self, sid: str, pid: str) -> int:
        """What a contributor got out of a settlement after returns, corrections and reversals."""
        return self._net.get((sid, pid), 0)

    def left(self, sid: str) -> dict[str, int]:
        """What everybody has left of a settlement."""
        found = {pid: self.net(sid, pid) for pid in sorted(self.of(sid))}
        return {pid: amount for pid, amount in found.items() if amount}


class JudgedBefore:
    """Which judgements were counted: contributor, source and item, each once."""

    KINDS = (kinds.SCORED,)

    def __init__(self) -> None:
        self._known: dict[str, set[tuple[str, str]]] = {}

    def fold(self, e: Event) -> None:
        """Take in one entry."""
        source = e.body["source"]
        self._known.setdefault(e.subject, set()).update((source, item) for item in e.body["items"])

    def of(self, pid: str) -> set[tuple[str, str]]:
        """Source and item of all that was counted for a contributor."""
        return self._known.get(pid, set())
