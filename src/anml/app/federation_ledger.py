"""Reputation of a federation's clients, round by round, into a ledger."""

from anml.app.settle import resolve_names
from anml.core.errors import InputError
from anml.core.settle import UNIT
from anml.core.signals.track_record import Scored
from anml.federated.rounds import Record
from anml.ledger.standing import Score, add_scores, item_mark
from anml.ledger.store import Ledger
from anml.ledger.writer import Writer


def into_ledger(ledger: Ledger, run: str, source: str = "federation", domain: str = "default") -> Record:
    """What `Federation(record=...)` takes: every round's events become scores, each once.

    `run` names the federation, so that its rounds are apart from those of another; running it again under the
    same name adds nothing.
    """
    if not run.strip():
        raise InputError("a federation needs a name before its rounds go into a ledger")

    def record(events: list[tuple[str, Scored]]) -> None:
        def work(tx: Writer) -> int:
            pids = resolve_names(tx, ledger, source, [name for name, _ in events])
            made = [
                Score(
                    pids[name], domain, event.source, f"{run}/{event.batch}", tx.now,
                    round(event.quality * UNIT), (item_mark(event.source, f"{run}/{event.batch}"),), 1,
                )
                for name, event in events
            ]  # fmt: skip
            return add_scores(tx, made)

        ledger.write(work)

    return record
