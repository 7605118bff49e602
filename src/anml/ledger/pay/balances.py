"""Balances with their age, and a trial balance: what is owed to whom, and since when."""

from collections import defaultdict, deque
from typing import Any

from anml.io.spreadsheets import to_csv
from anml.ledger.contributors.names import shown_names
from anml.ledger.log import Event, seconds
from anml.ledger.money import format_amount
from anml.ledger.services.verify import verified
from anml.ledger.store import Ledger
from anml.signals.track_record import DAY

# Upper ends of the ages in days, as statements of receivables have them; older ones are the rest.
AGES = (30, 60, 90)
OWED = ("held", "payable", "clearing")


class OpenItems:
    """Open amounts of one contributor in one currency, oldest first; payments close the oldest."""

    def __init__(self) -> None:
        self.items: deque[tuple[str, int]] = deque()

    def add(self, at: str, amount: int) -> None:
        """Add a credit (plus) or a debit (minus); opposite amounts close each other."""
        while amount and self.items and (self.items[0][1] > 0) != (amount > 0):
            since, left = self.items.popleft()
            if abs(left) > abs(amount):
                self.items.appendleft((since, left + amount))
                return
            amount += left
        if amount:
            self.items.append((at, amount))


def _movements(e: Event) -> dict[tuple[str, str], int]:
    """Return the change of what is owed to each contributor by an entry, by contributor and currency."""
    found: dict[tuple[str, str], int] = defaultdict(int)
    for item in e.postings:
        kind, _, who = item.account.partition(":")
        if kind in OWED:
            found[e.subject if kind == "clearing" else who, item.currency] += item.amount
    return {place: amount for place, amount in found.items() if amount}


def balances(ledger: Ledger) -> list[dict[str, Any]]:
    """Balances of all contributors by currency, with the oldest open date and the amounts by age."""
    with verified(ledger, "listed from") as reading:
        people, names = reading.state.people, shown_names(ledger, reading)
        now = ledger.clock().timestamp()
        owed: dict[tuple[str, str], OpenItems] = defaultdict(OpenItems)
        sums: dict[tuple[str, str], dict[str, int]] = defaultdict(lambda: dict.fromkeys(OWED, 0))
        for e in reading.entries(range(1, len(reading.hashes) + 1)):
            for (pid, currency), amount in _movements(e).items():
                owed[people.resolve(pid), currency].add(e.at, amount)
            for item in e.postings:
                kind, _, who = item.account.partition(":")
                if kind in OWED:
                    whole = people.resolve(e.subject if kind == "clearing" else who)
                    sums[whole, item.currency][kind] += item.amount
    made = []
    for (pid, currency), each in sorted(sums.items()):
        items = owed[pid, currency].items
        if not any(each.values()):
            continue
        since = items[0][0] if items else ""
        ages = dict.fromkeys([f"to_{end}" for end in AGES] + ["older"], 0)
        for at, amount in items:
            days = (now - seconds(at)) / DAY
            ages[next((f"to_{end}" for end in AGES if days <= end), "older")] += amount
        made.append({
            "contributor": pid, "name": names.get(pid, pid), "currency": currency, "held": each["held"],
            "payable": max(each["payable"], 0), "in_transit": each["clearing"],
            "owed_by_them": max(-each["payable"], 0), "since": since,
            "age": int((now - seconds(since)) // DAY) if since else 0, **ages,
        })  # fmt: skip
    return made


def ageing_csv(ledger: Ledger) -> str:
    """Balances with their ages as a table."""
    texts = ("contributor", "name", "currency", "since", "age")
    rows = balances(ledger)
    return to_csv([{k: v if k in texts else format_amount(v) for k, v in row.items()} for row in rows])


def trial_balance(ledger: Ledger) -> list[dict[str, Any]]:
    """Debits and credits of each kind of account by currency; both columns have one sum."""
    with verified(ledger, "listed from") as reading:
        sums: dict[tuple[str, str], int] = defaultdict(int)
        for e in reading.entries(range(1, len(reading.hashes) + 1)):
            for item in e.postings:
                sums[item.currency, item.account.partition(":")[0]] += item.amount
    return [
        {"account": kind, "currency": currency, "debit": max(-amount, 0), "credit": max(amount, 0)}
        for (currency, kind), amount in sorted(sums.items())
    ]


def trial_balance_csv(ledger: Ledger) -> str:
    """Return the trial balance as a table."""
    rows = trial_balance(ledger)
    return to_csv([row | {side: format_amount(row[side]) for side in ("debit", "credit")} for row in rows])
