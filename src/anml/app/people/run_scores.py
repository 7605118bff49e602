"""The held-out quality of a run, as scores of its contributors."""

from pathlib import Path

import polars as pl

from anml.app.audit.runs import check_remembered, read_learned, read_run
from anml.app.pay.manifest import row_names
from anml.app.pay.settle import resolve_names
from anml.app.people.judgements import fresh_scores
from anml.app.people.scores import judge_run
from anml.ledger.evidence import taken
from anml.ledger.standing import add_scores
from anml.ledger.store import Ledger
from anml.ledger.writer import Writer


def add_run(
    ledger: Ledger, folder: Path, source: str | None = None, domain: str = "default", by: str | None = None
) -> int:
    """Record the held-out quality of a run; the same rows count once, whatever run they are in."""
    run = read_run(folder)
    check_remembered(folder, run)
    samples = run.samples.with_columns(pl.col("contributor").cast(pl.String))
    judged = judge_run(samples, row_names(run), read_learned(folder, run._replace(samples=samples)))

    def work(tx: Writer) -> int:
        names = judged["contributor"].unique().sort().to_list()
        pids = resolve_names(tx, ledger, source, names)
        when = dict.fromkeys(names, tx.now)
        made = add_scores(tx, fresh_scores(tx, judged, pids, run.sha256[:16], "run", domain, when))
        taken(tx, "run", run.sha256, by)
        return made

    return ledger.write(work)
