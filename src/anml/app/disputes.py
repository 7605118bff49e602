"""Disputes for the people who answer them."""

from typing import Any

from anml.app.reasons import disputes_shown
from anml.ledger import people
from anml.ledger.disputes import everything
from anml.ledger.store import Ledger


def listed(ledger: Ledger, sid: str | None = None, *, open_only: bool = False) -> list[dict[str, Any]]:
    """All disputes, oldest first, with what was written where the keys are at hand."""
    with ledger.read() as connection:
        found = [
            d
            for d in everything(connection)
            if (sid is None or d.settlement == sid) and not (open_only and d.closed)
        ]
        words = {
            name: people.attached_values(connection, ledger.keys, d.pid, name).get("text", "")
            for d in found
            for name in (d.paper, d.answer_paper)
            if name and ledger.keys
        }
    return [
        {"settlement": d.settlement, "contributor": d.pid, **shown}
        for d, shown in zip(found, disputes_shown(found, words), strict=True)
    ]
