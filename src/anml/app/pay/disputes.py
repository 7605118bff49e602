"""Disputes for the people who record and answer them."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from anml.app.files import read_text
from anml.app.ledger.review import check_seen, resolution
from anml.app.pay.reasons import disputes_shown
from anml.core.canonical import sha256
from anml.core.errors import InputError
from anml.ledger import disputes, people
from anml.ledger.keys import parse_public
from anml.ledger.log import Event
from anml.ledger.money_parts import Answer, Disputes, Settlements
from anml.ledger.store import Ledger, written
from anml.ledger.writer import Writer


def listed(ledger: Ledger, sid: str | None = None, *, open_only: bool = False) -> list[dict[str, Any]]:
    """All disputes, oldest first, with what was written where the keys are at hand."""
    with ledger.read() as connection:
        found = [d for d in disputes.everything(connection) if sid in (None, d.settlement)]
        found = [d for d in found if not (open_only and d.closed)]
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


@written
def open_dispute(
    tx: Writer, sid: str, pid: str, reason: str, *, text: str = "", key: str | None = None,
    as_staff: bool = False, by: str | None = None, signed: Mapping[str, str] | None = None,
) -> tuple[str, Event]:  # fmt: skip
    """Freeze what a contributor has held; theirs, unless `as_staff`, and whole in what they `signed`."""
    if signed is not None:
        reason, text = signed["reason"], signed["text"]
    name, staff = key or f"{sid}/{pid}/{reason}", tx.who(by) if as_staff else None
    made = disputes.open_dispute(tx, sid, pid, reason, name, staff, text=text, recorded_by=by, own=signed)
    return name, made


def read_appeal(path: Path, sid: str, pid: str) -> dict[str, str]:
    """An appeal that a contributor signed, from a file; the ledger checks the signature when taking it in."""
    try:
        found = json.loads(read_text(path, "appeal"))
        made = {name: found[name] for name in _APPEAL}
    except (ValueError, KeyError, TypeError, RecursionError):
        made = {}
    if not made or not all(isinstance(value, str) for value in made.values()):
        raise InputError(
            f"{path} is no appeal: a JSON object with the texts {', '.join(_APPEAL)} was expected"
        )
    if (made["settlement"], made["contributor"]) != (sid, pid):
        raise InputError(f"{path} is an appeal of {made['contributor']!r} in {made['settlement']!r}")
    raw = parse_public(made["public"])
    return made | {"key": sha256(raw)[:16], "signed": made["signature"]}


_APPEAL = ("settlement", "contributor", "reason", "text", "salt", "public", "signature")


@written
def answer(
    tx: Writer, sid: str, pid: str, outcome: str, reason: str, *, correction: int = 0, text: str = "",
    key: str | None = None, by: str | None = None,
) -> tuple[Answer, Event]:  # fmt: skip
    """Answer a dispute; with a correction, a second person resolves it."""
    given = Answer(outcome, reason, tx.who(by), correction, text)
    name = key or f"{sid}/{pid}/{outcome}/{given.by}/{_times(tx, sid, pid)}"
    return given, disputes.answer(tx, sid, pid, given, name)


@written
def resolve(
    tx: Writer, sid: str, pid: str, *, key: str | None = None, by: str | None = None, seen: str | None = None
) -> tuple[Event, str]:
    """Post the correction of an answer, as a second person; returns the entry and the currency it is in."""
    if seen is not None:
        check_seen(resolution(tx, sid, pid, by), seen)
    # A contributor may dispute twice; each time is its own step.
    name = key or f"{sid}/{pid}/{tx.who(by)}/{_times(tx, sid, pid)}"
    made = disputes.resolve(tx, sid, pid, by, name)
    return made, tx.state.part(Settlements).get(sid).currency


def _times(tx: Writer, sid: str, pid: str) -> int:
    return len(tx.state.part(Disputes).found.get(sid, {}).get(pid, []))
