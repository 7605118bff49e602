"""A process that drafts, approves and releases one settlement after another."""

import sys
from pathlib import Path

from anml.ledger.money import parse_amount
from anml.ledger.pay import settle
from anml.ledger.pay.settle import release_settlement
from anml.ledger.store import open_ledger


def main(url: str, keys: str, folders: list[str]) -> None:
    ledger = open_ledger(url, keys)
    for folder in folders:
        terms = settle.SettlementTerms(parse_amount("7"), "EUR", "ann", window_days=0, source="run")
        made = settle.draft_settlement(ledger, Path(folder), terms)
        settle.approve_settlement(ledger, made.id, "bob")
        release_settlement(ledger, made.id, by="cat")
        print(made.id, flush=True)
    ledger.close()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
