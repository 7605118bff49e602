"""Disputes for those who record and answer them, and all that was judged of people, for a works council."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from anml.core.canonical import MerkleTree, sha256
from anml.core.errors import InputError
from anml.core.files import read_text
from anml.io.spreadsheets import to_csv
from anml.ledger import book, checkpoint, keys, kinds
from anml.ledger import personal_data as people
from anml.ledger.contributors.names import shown_names
from anml.ledger.log import Event, format_timestamp, seconds, shown_date
from anml.ledger.money import format_amount
from anml.ledger.pay.reasons import disputes_shown
from anml.ledger.reading import LedgerReader
from anml.ledger.services.steps import require_same_content, resolution
from anml.ledger.services.verify import verified
from anml.ledger.state import load_component
from anml.ledger.state_money import Answer, Disputes, Settlement, read_manifest
from anml.ledger.store import Ledger, as_transaction
from anml.ledger.writer import Actor, Writer
from anml.settlement.allocate import UNIT

# What an appeal says.
_SAID = ("settlement", "contributor", "reason", "text", "salt", "public", "signature")


def list_disputes(ledger: Ledger, sid: str | None = None, *, open_only: bool = False) -> list[dict[str, Any]]:
    """All disputes, oldest first, with what was written where the keys are at hand."""
    with ledger.read() as connection:
        found = [d for d in load_component(Disputes, connection).every if sid in (None, d.settlement)]
        found = [d for d in found if not (open_only and d.closed)]
        papers = {(d.pid, name) for d in found for name in (d.paper, d.answer_paper)}
        words = people.read_texts(connection, ledger.keys, papers)
    shown = zip(found, disputes_shown(found, words), strict=True)
    return [{"settlement": d.settlement, "contributor": d.pid, **one} for d, one in shown]


@as_transaction
def open_dispute(
    tx: Writer, sid: str, pid: str, reason: str, *, text: str = "", key: str | None = None,
    as_staff: bool = False, by: Actor = None, signed: Mapping[str, str] | None = None,
) -> tuple[str, Event]:  # fmt: skip
    """Freeze what a contributor has held; theirs, unless `as_staff`, and whole in what they `signed`."""
    if signed is not None:
        reason, text = signed["reason"], signed["text"]
    name, staff = key or f"{sid}/{pid}/{reason}", tx.who(by) if as_staff else None
    return name, book.open_dispute(tx, sid, pid, reason, name, staff, text=text, recorded_by=by, own=signed)


def read_appeal(path: Path, sid: str, pid: str) -> dict[str, str]:
    """An appeal that a contributor signed, from a file; the ledger checks the signature when taking it in."""
    try:
        found = json.loads(read_text(path, "appeal"))
        made = {name: found[name] for name in _SAID}
    except (ValueError, KeyError, TypeError, RecursionError):
        made = {}
    if not made or not all(isinstance(value, str) for value in made.values()):
        raise InputError(f"{path} is no appeal: a JSON object with the texts {', '.join(_SAID)} was expected")
    if (made["settlement"], made["contributor"]) != (sid, pid):
        raise InputError(f"{path} is an appeal of {made['contributor']!r} in {made['settlement']!r}")
    return made | {"key": sha256(keys.parse_public(made["public"]))[:16], "signed": made["signature"]}


@as_transaction
def answer(
    tx: Writer, sid: str, pid: str, outcome: str, reason: str, *, correction: int = 0, text: str = "",
    by: Actor = None,
) -> tuple[Answer, Event]:  # fmt: skip
    """Answer a dispute; with a correction, a second person resolves it."""
    given = Answer(outcome, reason, tx.who(by), correction, text)
    name = f"{sid}/{pid}/{outcome}/{given.by}/{len(tx.state.disputes.of(sid, pid))}"
    return given, book.answer(tx, sid, pid, given, name)


@as_transaction
def resolve(
    tx: Writer, sid: str, pid: str, *, by: Actor = None, seen: str | None = None
) -> tuple[Event, str]:
    """Post the correction of an answer, as a second person; returns the entry and the currency it is in."""
    require_same_content(seen, resolution, tx, sid, pid, by)
    # A contributor may dispute twice; each time is its own step.
    name = f"{sid}/{pid}/{tx.who(by)}/{len(tx.state.disputes.of(sid, pid))}"
    return book.resolve(tx, sid, pid, by, name), tx.state.settlements.get(sid).currency


def decision_report(ledger: Ledger, sid: str | None = None, *, names: bool = False) -> dict[str, Any]:
    """All judgements of all settlements that were ever posted, or of one, with a checkpoint of the log."""
    with verified(ledger, "listed from") as reading:
        now, known = format_timestamp(ledger.clock()), reading.state.settlements
        chosen = known.found.values() if sid is None else [known.get(sid)]
        called = shown_names(ledger, reading) if names else {}
        posted = [found for found in chosen if found.posted is not None]
        made = [line for found in posted for line in _lines(reading, found, called, seconds(now))]
        tree = MerkleTree(reading.hashes)
        note = checkpoint.sign_checkpoint(ledger.ring, len(tree), tree.root)
    return {"ledger": reading.state.staff.origin, "at": now, "checkpoint": note, "judgements": made}


def _lines(
    reading: LedgerReader, found: Settlement, called: Mapping[str, str], now: float
) -> Iterator[dict[str, Any]]:
    state, manifest = reading.state, read_manifest(reading.document, found)
    asked, below = state.disputes, state.below(found)
    trail = {pid: seqs for (sid, pid), seqs in state.trail.own.items() if sid == found.id}
    changes: dict[str, list[dict[str, Any]]] = {}
    for e in reading.entries(seq for seqs in trail.values() for seq in seqs):
        if e.kind != kinds.CREDITED and (shown := _change(reading, e)):
            changes.setdefault(e.subject, []).append(shown)
    given = state.credits_of(found)
    for line in manifest["contributors"]:
        pid = line["pid"]
        own = asked.of(found.id, pid)
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


def _change(reading: LedgerReader, e: Event) -> dict[str, Any] | None:
    """Return the change of an amount by an entry, with its signer; None for a plain release."""
    moved = {p.account.partition(":")[0]: p.amount for p in e.postings}
    amount = moved.get("held", 0) if e.kind == kinds.RESOLVED else -moved.get("source", 0)
    if e.kind == kinds.RELEASED and not amount:
        return None
    covered = reading.state.trail.covers.get(e.seq)
    by = e.by if e.by or covered is None else next(reading.entries([covered])).by
    return {"entry": e.seq, "kind": e.kind, "at": e.at, "by": by, "amount": amount,
            "reason": e.body.get("reason", "")}  # fmt: skip


def decisions_csv(made: Mapping[str, Any]) -> str:
    """The same as a table, one row for each judgement."""
    return to_csv([_cells(line) for line in made["judgements"]])


def _cells(line: dict[str, Any]) -> dict[str, Any]:
    right = next((one["right"] for one in line["judged"] if "right" in one), None)
    share = dict.fromkeys(("right", "low", "high"), "")
    if right is not None:
        share = {name: f"{part / UNIT:.3f}" for name, part in zip(share, right, strict=True)}
    plain = {name: value for name, value in line.items() if not isinstance(value, dict | list)}
    lists = {
        "verdicts": (f"{name} {count}" for name, count in line["verdicts"].items()),
        "appeals": (f"{d['reason']}: {d['outcome'] or d['state']}" for d in line["appeals"]),
        "changes": (f"{c['kind']} {format_amount(c['amount'])} by {c['by']}" for c in line["changes"]),
    }
    by_rows = "" if line["by_rows"] is None else format_amount(line["by_rows"])
    shown = {"amount": format_amount(line["amount"]), "by_rows": by_rows}
    return plain | shown | share | {name: "; ".join(texts) for name, texts in lists.items()}
