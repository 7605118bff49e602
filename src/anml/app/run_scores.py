"""The held-out quality of a run, as scores of its contributors."""

from pathlib import Path

import polars as pl

from anml.app.runs import read_learned, read_run
from anml.app.scores import score_run
from anml.app.settle import resolve_names
from anml.core.settle import UNIT
from anml.ledger.log import Writer
from anml.ledger.standing import Score, add_scores
from anml.ledger.store import Ledger


def add_run(ledger: Ledger, folder: Path, source: str = "run", domain: str = "default") -> int:
    """Record the held-out quality of a run; the same run counts once."""
    run = read_run(folder)
    samples = run.samples.with_columns(pl.col("contributor").cast(pl.String))
    found = score_run(samples, read_learned(folder, run._replace(samples=samples)))

    def work(tx: Writer) -> int:
        pids = resolve_names(tx, ledger, source, found["contributor"].to_list())
        made = [
            Score(pids[who], domain, name, run.sha256[:16], tx.now, round(quality * UNIT), rows)
            for who, name, quality, rows in found.iter_rows()
        ]
        return add_scores(tx, made)

    return ledger.write(work)
