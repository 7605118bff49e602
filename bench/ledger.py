"""Benchmark of the ledger: entries appended and verified, and a settlement of a million rows.

    python bench/ledger.py [--rows 1000000] [--contributors 10000] [--json]

The settlement runs in a process of its own, so that its peak memory is its own. Seconds are processor
seconds, but for one commit each, which waits for the disk.
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

from anml.ledger.pay.settle import release_settlement

LIMIT_SECONDS, LIMIT_GIB = 60.0, 2.0


def timed(work: Callable[[], Any]) -> float:
    """Processor seconds: other work on the same machine does not count."""
    start = time.process_time()
    work()
    return time.process_time() - start


def waited(work: Callable[[], Any]) -> float:
    """Seconds by the clock, where waiting for the disk is the point."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def bench_log(folder: Path, entries: int = 20_000, commits: int = 200) -> dict[str, float]:
    """Entries per second: many in one transaction, one signed step in each, and all of it verified.

    Many: the credits of a settlement, each with two postings. Each: a dispute, which is one entry.
    """
    from anml.ledger import book
    from anml.ledger.money import parse_amount
    from anml.ledger.pay import settle
    from anml.ledger.services.verify import verify

    ledger = made_ledger(folder / "log.db", folder / "keys")
    write_big_run(folder / "log-run", entries, entries, one_each=True)
    draft = settle.draft_settlement(
        ledger,
        folder / "log-run",
        settle.SettlementTerms(parse_amount("1000000"), "EUR", "ann", source="bench"),
    )
    people = sorted(draft.amounts)[:commits]

    def single():
        for number, pid in enumerate(people):
            ledger.write(
                lambda tx, p=pid, n=number: book.open_dispute(tx, draft.id, p, "other", f"d{n}", "ann")
            )

    def check():
        result = verify(ledger)
        assert result.problems == []
        calls.append(result.entries)

    calls: list[int] = []
    bulk = timed(lambda: settle.approve_settlement(ledger, draft.id, "bob"))
    each, verified = waited(single), timed(check)
    ledger.close()
    return {
        "entries_per_second_in_one_transaction": entries / bulk,
        "entries_per_second_one_commit_each": commits / each,
        "entries_per_second_verified": calls[0] / verified,
    }


def made_ledger(path: Path, keys: Path) -> Any:
    """A ledger with two members of staff, ann and bob."""
    from anml.ledger import kinds, two_people
    from anml.ledger.keys import create_signer, read_public
    from anml.ledger.store import LedgerSettings, create

    ledger = create(str(path), keys, charter=LedgerSettings("ann"), staff=keys / "staff")
    second = read_public(create_signer(keys / "staff" / "bob.pem"))
    ledger.write(lambda tx: two_people.propose_staff(tx, "bob", second, list(kinds.ROLES), "ann"))
    ledger.signers.name = "ann"
    return ledger


def bench_signatures(folder: Path, count: int = 1_000) -> dict[str, float]:
    """Attestations per second, signature checked before parsing."""
    from anml.ledger import keys, signing
    from anml.ledger.store import utc_now

    public = keys.read_public(keys.create_signer(folder / "signer.pem"))
    key = keys.read_private(folder / "signer.pem")
    envelope = signing.attest(
        [("batch", "0" * 64)], "https://lab.example", ["ANML_REPRODUCED"], utc_now(), key
    )

    def work():
        for _ in range(count):
            signing.read_attestation(signing.open_envelope(envelope, [public])[0])

    return {"attestations_per_second_verified": count / timed(work)}


def write_big_run(folder: Path, rows: int, contributors: int, *, one_each: bool = False) -> None:
    import hashlib

    import numpy as np
    import polars as pl

    draw = np.random.default_rng(0)
    contributor = np.arange(rows) if one_each else draw.integers(0, contributors, rows)
    frame = pl.DataFrame(
        {"row": np.arange(rows), "who": contributor, **{name: draw.random(rows) for name in "qvrt"}}
    )
    frame = frame.with_columns(
        pl.format("worker-{}", "who").alias("contributor"),
        pl.Series("item", np.arange(rows)).cast(pl.String),
        pl.Series("kept", draw.random(rows) < 0.7),
    ).drop("who")
    folder.mkdir()
    frame.write_parquet(folder / "samples.parquet")
    files = {"samples.parquet": hashlib.sha256((folder / "samples.parquet").read_bytes()).hexdigest()}
    record = {"schema_version": 2, "recipe": {"combine": "guarded"}, "files": files}
    (folder / "run.json").write_text(json.dumps(record))


def settle_big_run(folder: Path) -> dict[str, float]:
    """Draft, approve and release; then a signed statement for everybody."""
    from anml.ledger.money import parse_amount
    from anml.ledger.pay import settle, statement

    ledger = made_ledger(folder / "settle.db", folder / "settle-keys")
    terms = settle.SettlementTerms(parse_amount("1000000"), "EUR", "ann", window_days=0, source="bench")
    seconds: dict[str, float] = {}
    start = time.process_time()
    made = settle.draft_settlement(ledger, folder / "run", terms)
    seconds["settlement_draft_seconds"] = time.process_time() - start
    seconds["settlement_approve_seconds"] = timed(lambda: settle.approve_settlement(ledger, made.id, "bob"))
    seconds["settlement_release_seconds"] = timed(lambda: release_settlement(ledger, made.id))

    def statements():
        for item in statement.build(ledger, made.id).values():
            statement.sign(ledger, item)

    seconds["settlement_statements_seconds"] = timed(statements)
    seconds["settlement_total_seconds"] = time.process_time() - start
    seconds["settlement_verify_seconds"] = timed(lambda: _verified(ledger))
    seconds["settlement_peak_gib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    ledger.close()
    return seconds


def _verified(ledger: Any) -> None:
    from anml.ledger.services.verify import verify

    assert verify(ledger).problems == []


def draft_many(folder: Path) -> dict[str, float]:
    """Processor seconds to draft a settlement of fifty thousand contributors, all of them new."""
    from anml.ledger.money import parse_amount
    from anml.ledger.pay import settle

    ledger = made_ledger(folder / "many.db", folder / "many-keys")
    start = time.process_time()
    settle.draft_settlement(
        ledger, folder / "many", settle.SettlementTerms(parse_amount("1000000"), "EUR", "ann", source="bench")
    )
    spent = time.process_time() - start
    ledger.close()
    return {"draft_of_50000_contributors_cpu_seconds": spent}


def bench(rows: int = 1_000_000, contributors: int = 10_000) -> dict[str, float]:
    """All figures, by name."""
    with tempfile.TemporaryDirectory(prefix="anml-bench-") as name:
        folder = Path(name)
        result = bench_log(folder) | bench_signatures(folder)
        write_big_run(folder / "run", rows, contributors)
        done = subprocess.run(
            [sys.executable, __file__, "--settle", str(folder)], check=True, capture_output=True, text=True
        )
        result |= json.loads(done.stdout)
        write_big_run(folder / "many", 100_000, 50_000, one_each=False)
        result |= draft_many(folder)
    return result | {"settlement_rows": rows, "settlement_contributors": contributors}


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
    result = bench(options.rows, options.contributors)
    if options.json:
        print(json.dumps(result, indent=2))
    else:
        for name, value in result.items():
            print(f"{name:<42} {value:,.2f}")
    slow = result["settlement_total_seconds"] > LIMIT_SECONDS
    slow |= result["draft_of_50000_contributors_cpu_seconds"] > LIMIT_SECONDS
    large = result["settlement_peak_gib"] > LIMIT_GIB
    return 1 if slow or large else 0


if __name__ == "__main__":
    sys.exit(main())
