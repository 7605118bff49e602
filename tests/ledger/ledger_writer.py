"""A process that writes to a ledger until it is killed, and prints each key once it is acknowledged.

Each write brings in a contributor and a settlement that pays them: entries with and without signatures,
and money.
"""

import sys
from dataclasses import asdict

from anml.core.canonical import canonical
from anml.ledger import book
from anml.ledger import personal_data as people
from anml.ledger.state_money import Settlement
from anml.ledger.store import open_ledger
from anml.settlement.allocate import UNIT, PayoutRules
from anml.settlement.manifest import FORMAT, add_totals, header_digest


def manifest(pid: str, name: str, pool: int) -> dict:
    bands = {"v": {"flagged": 0}}
    line = {"pid": pid, "rows": 1, "kept": 1, "counted": 1, "units": UNIT, "units_sha256": "", "r": 0,
            "bands": bands, "newcomer": True, "multiplier": UNIT}  # fmt: skip
    run = {
        "samples_sha256": name,
        "rows_sha256": name,
        "work_sha256": name,
        "marks": [],
        "rows": 1,
        "kept": 1,
    }
    rules = asdict(PayoutRules())
    return add_totals({"format": FORMAT, "run": run, "rules": rules, "unit": UNIT, "pool": pool, "rate": 0,
                   "currency": "EUR", "contributors": [line]})  # fmt: skip


def main(url: str, keys: str, name: str) -> None:
    ledger = open_ledger(url, keys)
    number = 0
    while True:
        key = f"{name}-{number}"

        def work(tx, key=key, number=number):
            tx.verified()
            pid = people.register(tx, "writer", [key])[key]
            made = manifest(pid, key, number + 1)
            paper = tx.keep("manifest", canonical(made))
            found = Settlement(key, "drafted", paper, "EUR", number + 1, "ann", None, key, 0, None,
                               head=header_digest(made), rows=key, work=key, marks=[])  # fmt: skip
            book.record_draft(tx, found)
            book.approve(tx, key, "bob")

        ledger.write(work)
        print(key, flush=True)
        number += 1


if __name__ == "__main__":
    main(*sys.argv[1:4])
