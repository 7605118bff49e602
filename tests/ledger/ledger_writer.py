"""A process that writes to a ledger until it is killed, and prints each key once it is acknowledged."""

import sys

from anml.ledger.log import Posting
from anml.ledger.store import open_ledger


def main(url: str, keys: str, name: str) -> None:
    ledger = open_ledger(url, keys)
    number = 0
    while True:
        key = f"{name}-{number}"
        lines = [Posting("source:pool", "EUR", -number), Posting(f"held:{name}", "EUR", number)]
        ledger.write(lambda tx, key=key, lines=lines: tx.append("test.moved", key, name, {}, lines))
        print(key, flush=True)
        number += 1


if __name__ == "__main__":
    main(*sys.argv[1:4])
