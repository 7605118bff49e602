"""What was judged of people, by rule and by whom, for a works council or regulator, by settlement."""

from collections.abc import Iterator, Mapping
from typing import Any

from anml.app.ledger.verify import verified
from anml.app.pay.reasons import disputes_shown
from anml.app.people.names import shown_names
from anml.app.spreadsheets import to_csv
from anml.core.merkle import Tree
from anml.core.money import show_amount
from anml.core.settle import UNIT
from anml.ledger import checkpoint, kinds
from anml.ledger.log import Event
from anml.ledger.money_parts import Disputes, Settlement, Settlements, read_manifest
from anml.ledger.reading import Reading
from anml.ledger.records import Trail
from anml.ledger.store import Ledger
from anml.ledger.times import seconds, shown_date, stamp


def decisions(ledger: Ledger, sid: str | None = None, *, names: bool = False) -> dict[str, Any]:
    """All judgements of all settlements that were ever posted, or of one, with a checkpoint of the log."""
    with ledger.read() as connection:
        reading = verified(connection, ledger, "listed from")
        now, known = stamp(ledger.clock()), reading.state.part(Settlements)
        chosen = known.found.values() if sid is None else [known.get(sid)]
        called = shown_names(ledger, reading) if names else {}
        posted = [found for found in chosen if found.posted is not None]
        made = [line for found in posted for line in _lines(reading, found, called, seconds(now))]
        tree = Tree(reading.hashes)
        note = checkpoint.sign(ledger.ring, len(tree), tree.root)
    return {"ledger": reading.state.staff.origin, "at": now, "checkpoint": note, "judgements": made}


def _lines(
    reading: Reading, found: Settlement, called: Mapping[str, str], now: float
) -> Iterator[dict[str, Any]]:
    state, manifest = reading.state, read_manifest(reading.document, found)
    asked, below = state.part(Disputes), state.below(found)
    trail = {pid: seqs for (sid, pid), seqs in state.part(Trail).own.items() if sid == found.id}
    changes: dict[str, list[dict[str, Any]]] = {}
    for e in reading.entries(seq for seqs in trail.values() for seq in seqs):
        if e.kind != kinds.CREDITED and (shown := _change(reading, e)):
            changes.setdefault(e.subject, []).append(shown)
    given = state.credits_of(found)
    for line in manifest["contributors"]:
        pid = line["pid"]
        own = asked.found.get(found.id, {}).get(pid, [])
        kept = asked.kept.get((found.id, pid))
        yield {
            "settlement": found.id, "project": found.project, "state": found.state, "contributor": pid,
            **({"name": called.get(pid, "")} if called else {}),
            "rows": line["rows"], "kept": line["kept"], "counted": line["counted"],
            "verdicts": line.get("verdicts", {}), "judged": line.get("judged", []),
            "rule": "rate per label" if manifest["rate"] else manifest["rules"]["weight"],
            "currency": found.currency, "amount": given[pid][0], "by_rows": below.get(pid, [0, None])[1],
            "below_rows": pid in below, "drafted_by": found.by, "decided_by": found.approved_by,
            "decided": found.posted, "because": found.because,
            "held_by": kept and kept.by, "held_since": kept and kept.at,
            "appeal_until": shown_date(asked.until(found, pid)), "appeals": disputes_shown(own, {}),
            "unanswered_since": next((shown_date(d.due) for d in own if d.late(now)), None),
            "changes": changes.get(pid, []),
        }  # fmt: skip


def _change(reading: Reading, e: Event) -> dict[str, Any] | None:
    """What an entry changed for somebody, and who signed for it; None where it only released the amount."""
    moved = {p.account.partition(":")[0]: p.amount for p in e.postings}
    amount = moved.get("held", 0) if e.kind == kinds.RESOLVED else -moved.get("source", 0)
    if e.kind == kinds.RELEASED and not amount:
        return None
    covered = reading.state.part(Trail).covers.get(e.seq)
    by = e.by if e.by or covered is None else next(reading.entries([covered])).by
    return {"entry": e.seq, "kind": e.kind, "at": e.at, "by": by, "amount": amount,
            "reason": e.body.get("reason", "")}  # fmt: skip


_COLUMNS = (
    "settlement", "project", "state", "contributor", "name", "rows", "kept", "counted", "rule", "currency",
    "below_rows", "drafted_by", "decided_by", "decided", "because", "held_by", "held_since", "appeal_until",
    "unanswered_since",
)  # fmt: skip


def decisions_csv(made: Mapping[str, Any]) -> str:
    """The same as a table, one row for each judgement."""
    header = [*_COLUMNS, "verdicts", "right", "low", "high", "amount", "by_rows", "appeals", "changes"]
    rows = ([*(line.get(name) for name in _COLUMNS), *_cells(line)] for line in made["judgements"])
    return to_csv(header, rows)


def _cells(line: dict[str, Any]) -> list[Any]:
    right: list[int] = next((one["right"] for one in line["judged"] if "right" in one), [])
    appeals = (f"{d['reason']}: {d['outcome'] or d['state']}" for d in line["appeals"])
    return [
        "; ".join(f"{name} {count}" for name, count in line["verdicts"].items()),
        *(f"{part / UNIT:.3f}" for part in right), *[""] * (3 - len(right)),
        show_amount(line["amount"]), "" if line["by_rows"] is None else show_amount(line["by_rows"]),
        "; ".join(appeals),
        "; ".join(f"{c['kind']} {show_amount(c['amount'])} by {c['by']}" for c in line["changes"]),
    ]  # fmt: skip
