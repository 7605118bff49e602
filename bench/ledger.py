"""How fast the ledger is: entries appended and verified, and a settlement of a million rows.

    python bench/ledger.py [--rows 1000000] [--contributors 10000] [--json]

The settlement runs in a process of its own, so that its peak memory is its own.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

LIMIT_SECONDS, LIMIT_GIB = 60.0, 2.0


def timed(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def bench_log(folder: Path, entries: int = 20_000, commits: int = 200) -> dict[str, float]:
    """Entries per second: many in one transaction, one in each, and verified."""
    from anml.ledger import audit
    from anml.ledger.log import Posting
    from anml.ledger.store import create

    ledger = create(str(folder / "log.db"), folder / "keys")
    lines = [Posting("source:pool", "EUR", -1), Posting("held:c1", "EUR", 1)]

    def bulk(tx):
        for number in range(entries):
            tx.append("bench", f"bulk{number}", "c1", {"number": number}, lines)

    def single():
        for number in range(commits):
            ledger.write(lambda tx, n=number: tx.append("bench", f"one{n}", "c1", {"number": n}, lines))

    def verify():
        with ledger.read() as connection:
            assert audit.verify(connection).problems == []

    found = {
        "entries_per_second_in_one_transaction": entries / timed(lambda: ledger.write(bulk)),
        "entries_per_second_one_commit_each": commits / timed(single),
        "entries_per_second_verified": (entries + commits) / timed(verify),
    }
    ledger.close()
    return found


def bench_signatures(folder: Path, count: int = 1_000) -> dict[str, float]:
    """Attestations per second, signature checked before parsing."""
    from anml.ledger import dsse, keys
    from anml.ledger.store import utc_now

    public = keys.read_public(keys.create_signer(folder / "signer.pem"))
    key = keys.read_private(folder / "signer.pem")
    envelope = dsse.attest([("batch", "0" * 64)], "https://lab.example", ["ANML_REPRODUCED"], utc_now(), key)

    def work():
        for _ in range(count):
            dsse.read_attestation(dsse.unwrap(envelope, [public])[0])

    return {"attestations_per_second_verified": count / timed(work)}


def write_big_run(folder: Path, rows: int, contributors: int) -> None:
    import numpy as np
    import polars as pl

    draw = np.random.default_rng(0)
    who = draw.integers(0, contributors, rows)
    frame = pl.DataFrame({"row": np.arange(rows), "who": who, **{name: draw.random(rows) for name in "qvrt"}})
    frame = frame.with_columns(
        pl.format("worker-{}", "who").alias("contributor"),
        pl.Series("item", np.arange(rows)).cast(pl.String),
        pl.Series("kept", draw.random(rows) < 0.7),
    ).drop("who")
    folder.mkdir()
    frame.write_parquet(folder / "samples.parquet")
    (folder / "run.json").write_text(json.dumps({"recipe": {"combine": "guarded"}}))


def settle_big_run(folder: Path) -> dict[str, float]:
    """Draft, approve and release; then a signed statement for everybody."""
    from anml.app import settle, statement
    from anml.core.money import parse_amount
    from anml.ledger.store import create

    ledger = create(str(folder / "settle.db"), folder / "settle-keys")
    terms = settle.Terms(parse_amount("1000000"), "EUR", "ann", window_days=0)
    seconds: dict[str, float] = {}
    start = time.perf_counter()
    made = settle.draft(ledger, folder / "run", terms)
    seconds["settlement_draft_seconds"] = time.perf_counter() - start
    seconds["settlement_approve_seconds"] = timed(lambda: settle.approve(ledger, made.id, "bob"))
    seconds["settlement_release_seconds"] = timed(lambda: settle.release(ledger, made.id))

    def statements():
        for item in statement.build(ledger, made.id).values():
            statement.sign(ledger, item)

    seconds["settlement_statements_seconds"] = timed(statements)
    seconds["settlement_total_seconds"] = time.perf_counter() - start
    seconds["settlement_peak_gib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    ledger.close()
    return seconds


def bench(rows: int = 1_000_000, contributors: int = 10_000) -> dict[str, float]:
    """All figures, by name."""
    with tempfile.TemporaryDirectory(prefix="anml-bench-") as name:
        folder = Path(name)
        found = bench_log(folder) | bench_signatures(folder)
        write_big_run(folder / "run", rows, contributors)
        done = subprocess.run(
            [sys.executable, __file__, "--settle", str(folder)], check=True, capture_output=True, text=True
        )
        found |= json.loads(done.stdout)
    return found | {"settlement_rows": rows, "settlement_contributors": contributors}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--contributors", type=int, default=10_000)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--settle", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.settle:
        print(json.dumps(settle_big_run(options.settle)))
        return 0
    found = bench(options.rows, options.contributors)
    if options.json:
        print(json.dumps(found, indent=2))
    else:
        for name, value in found.items():
            print(f"{name:<42} {value:,.2f}")
    slow = found["settlement_total_seconds"] > LIMIT_SECONDS
    large = found["settlement_peak_gib"] > LIMIT_GIB
    return 1 if slow or large else 0


if __name__ == "__main__":
    sys.exit(main())
