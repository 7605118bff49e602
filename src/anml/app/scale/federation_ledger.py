"""Reputation of a federation's clients, round by round, into a ledger."""

import polars as pl

from anml.app.pay.settle import resolve_names
from anml.app.people.judgements import fresh_scores
from anml.core.errors import InputError
from anml.core.signals.track_record import Scored
from anml.federated.rounds import Record
from anml.ledger.evidence import taken
from anml.ledger.standing import add_scores
from anml.ledger.store import Ledger
from anml.ledger.writer import Writer


def into_ledger(
    ledger: Ledger, run: str, source: str = "federation", domain: str = "default", by: str | None = None
) -> Record:
    """What `Federation(record=...)` takes: every round's events become scores, each once.

    `run` names the federation, so that its rounds are apart from those of another; running it again under the
    same name adds nothing.
    """
    if not run.strip():
        raise InputError("a federation needs a name before its rounds go into a ledger")

    def record(events: list[tuple[str, Scored]]) -> None:
        names = [name for name, _ in events]
        rows = [(name, event.source, f"{run}/{event.batch}", event.quality) for name, event in events]
        judged = pl.DataFrame(rows, schema=["contributor", "source", "item", "right"], orient="row")

        def work(tx: Writer) -> None:
            pids = resolve_names(tx, ledger, source, names)
            when = dict.fromkeys(names, tx.now)
            add_scores(tx, fresh_scores(tx, judged, pids, run, source, domain, when))
            taken(tx, "run", run, by)

        ledger.write(work)

    return record
