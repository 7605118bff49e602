"""Statements: what one contributor earned in one settlement, why, and the proof that it is on record.

Made for everybody with a row in the run, however small the amount. A contributor sees bands and
counts of their own work, never other people's, and never the figures that could be gamed.
"""

import base64
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

import sqlalchemy as sa

from anml.app.settle import load_manifest
from anml.core.canonical import canonical
from anml.core.errors import InputError, IntegrityError
from anml.core.merkle import Tree, leaf_hash, verify_inclusion
from anml.core.settle import UNIT
from anml.core.signals.policy import Policy
from anml.core.verdicts import UNSURE
from anml.ledger import book, checkpoint, disputes, dsse, evidence, people
from anml.ledger.log import Event, encode, events
from anml.ledger.standing import CREDITED, Standing, standings
from anml.ledger.store import Ledger, stamp

FORMAT = "anml-statement/1"
PAYLOAD = "application/vnd.anml.statement+json"
APPEAL = (
    "You may dispute this statement before {until} by giving the settlement and contributor above and one "
    "of these reasons: {reasons}. Somebody else answers with a reason. Only your own held amount waits "
    "while a dispute is open, and your next statement shows the answer."
)
_KINDS = (CREDITED, "credit.released", "credit.reversed", disputes.RESOLVED)


class _Scene(NamedTuple):
    """What all statements of one settlement share, read once."""

    settlement: book.Settlement
    manifest: dict[str, Any]
    own: dict[str, list[Event]]
    known: dict[str, Standing]
    vouched: Mapping[str, list[Any]]
    payable: dict[str, int]
    paid: dict[str, int]
    transit: dict[str, int]
    note: str
    tree: Tree
    merged: dict[str, str]
    disputes: dict[str, list[disputes.Dispute]]


def build(
    ledger: Ledger,
    sid: str,
    pids: Iterable[str] | None = None,
    domain: str = "default",
    policy: Policy | None = None,
) -> dict[str, dict[str, Any]]:
    """Statements by contributor, each with its own proof under one checkpoint."""
    with ledger.read() as connection:
        scene = _scene(ledger, connection, sid, domain, policy)
    lines = {line["pid"]: line for line in scene.manifest["contributors"]}
    wanted = sorted(lines) if pids is None else sorted(set(pids))
    for pid in wanted:
        if pid not in lines:
            raise InputError(f"contributor {pid!r} has no row in settlement {sid}")
    return {pid: _statement(scene, pid, lines[pid]) for pid in wanted}


def sign(ledger: Ledger, statement: dict[str, Any]) -> bytes:
    """A statement as a signed envelope."""
    return canonical(dsse.wrap(PAYLOAD, canonical(statement), ledger.ring.log)) + b"\n"


def verify(envelope: bytes, public: bytes) -> dict[str, Any]:
    """Check a statement with nothing but the ledger's public key, and read it.

    The signature, the checkpoint, the path from the entry to its root, and that the entry says what
    the statement says.
    """
    payload, _ = dsse.unwrap(envelope, [public], PAYLOAD)
    found: dict[str, Any] = json.loads(payload)
    proof = found["proof"]
    seen = checkpoint.read(proof["checkpoint"], public)
    entry = proof["entry"].encode()
    path = [base64.b64decode(node) for node in proof["path"]]
    if not verify_inclusion(leaf_hash(entry), proof["index"], seen.size, path, seen.root):
        raise IntegrityError("the entry of this statement is not in the log that the checkpoint saw")
    said = json.loads(entry)
    gross = sum(amount for account, _, amount in said["postings"] if account.startswith("held:"))
    if (said["subject"], said["settlement"], gross, said["body"]["share"]) != (
        found["contributor"],
        found["settlement"],
        found["amounts"]["gross"],
        found["share"],
    ):
        raise IntegrityError("the statement says something other than its entry in the log")
    return found


def _scene(ledger: Ledger, connection: sa.Connection, sid: str, domain: str, policy: Policy | None) -> _Scene:
    found = book.settlement(connection, sid)
    if found.posted is None:
        raise InputError(f"settlement {sid} is {found.state}; statements follow its approval")
    own: dict[str, list[Event]] = defaultdict(list)
    for e in events(connection, _KINDS):
        if e.settlement == sid:
            own[e.subject].append(e)
    transit: dict[str, int] = defaultdict(int)
    for e in events(connection, ["payout.sent", "payout.paid", "payout.failed"]):
        transit[e.subject] += e.body["amount"] if e.kind == "payout.sent" else -e.body["amount"]
    note, tree = ledger.checkpoint(connection)
    return _Scene(
        settlement=found,
        manifest=load_manifest(connection, found.manifest),
        own=own,
        known=standings(connection, stamp(ledger.clock()), domain, policy, without=sid),
        vouched=evidence.of(connection),
        payable=book.balances(connection, "payable:", found.currency),
        paid=book.balances(connection, "paid:", found.currency),
        transit=transit,
        note=note,
        tree=tree,
        merged=people.merges(connection),
        disputes=disputes.disputes(connection, sid),
    )


def _statement(scene: _Scene, pid: str, line: dict[str, Any]) -> dict[str, Any]:
    own = scene.own[pid]
    credit = own[0]
    standing = scene.known[people.resolve(pid, scene.merged)]
    amounts = _amounts(scene, pid, own)
    until = disputes.window_end(scene.settlement)
    return {
        "format": FORMAT,
        "contributor": pid,
        "settlement": scene.settlement.id,
        "posted": scene.settlement.posted,
        "state": scene.settlement.state,
        "currency": scene.settlement.currency,
        "manifest": scene.settlement.manifest,
        "rows": {"given": line["rows"], "kept": line["kept"], "counted": line["counted"]},
        "bands": line["bands"],
        **({"verdicts": line["verdicts"]} if "verdicts" in line else {}),
        "share": credit.body["share"],
        "share_unit": UNIT,
        "amounts": amounts,
        "reasons": _reasons(scene, line, standing, own, amounts),
        "evidence": [
            {"entry": e.id, "kind": e.kind, "vouched": e.vouched}
            for e in scene.vouched.get(people.resolve(pid, scene.merged), [])
        ],
        "disputes": [_dispute(found) for found in scene.disputes.get(pid, [])],
        "appeal": APPEAL.format(until=_date(until), reasons=", ".join(book.REASONS)),
        "proof": {
            "entry": encode(credit).decode(),
            "index": credit.seq - 1,
            "path": [base64.b64encode(node).decode() for node in scene.tree.inclusion(credit.seq - 1)],
            "checkpoint": scene.note,
        },
    }


def _amounts(scene: _Scene, pid: str, own: list[Event]) -> dict[str, int]:
    """Micro-units: this settlement's gross, held, released and so on; and the account as a whole."""
    sums = {"gross": 0, "held": 0, "released": 0, "returned": 0, "reversed": 0, "corrected": 0}
    for e in own:
        moved: dict[str, int] = defaultdict(int)
        for item in e.postings:
            moved[item.account.partition(":")[0]] += item.amount
        sums["held"] += moved["held"]
        if e.kind == CREDITED:
            sums["gross"] += moved["held"]
        elif e.kind == "credit.released":
            sums["released"] += moved["payable"]
            sums["returned"] += moved["source"]
        elif e.kind == "credit.reversed":
            sums["reversed"] += moved["source"]
        elif e.kind == disputes.RESOLVED:
            sums["corrected"] += moved["held"]
    return sums | {
        "payable": scene.payable.get(pid, 0),
        "in_transit": scene.transit.get(pid, 0),
        "paid": scene.paid.get(pid, 0),
    }


def _reasons(
    scene: _Scene, line: dict[str, Any], standing: Standing, own: list[Event], amounts: dict[str, int]
) -> list[str]:
    found = _about_rows(line, scene.manifest)
    if own[0].body["share"] >= scene.manifest["rules"]["max_share"] < UNIT:
        found.append("The share is at the maximum for one contributor.")
    if line["newcomer"]:
        found.append("New contributors together get at most a set part of the pool while there are others.")
        if standing.newcomer and amounts["held"]:
            found.append(f"Held because the account is new; it needs {' '.join(standing.needs)}.")
    if amounts["returned"]:
        found.append("Held as a newcomer, and released at the reputation reached since.")
    mine = scene.disputes.get(line["pid"], [])
    if mine and not mine[-1].closed:
        found.append("A dispute is open; the held amount waits.")
    elif mine and mine[-1].answer:
        found.append(f"A dispute was {mine[-1].answer.outcome}.")
    if amounts["reversed"]:
        found.append("An amount was reversed; a balance below zero is carried to later settlements.")
    return found


def _about_rows(line: dict[str, Any], made: Mapping[str, Any]) -> list[str]:
    paid = line.get("paid", line["kept"])
    head = f"{line['kept']} of {_counted(line['rows'], 'row')} kept for training"
    unsure = line.get("verdicts", {}).get(UNSURE, 0)
    if not unsure:
        found = [f"{head}; rows not kept earn nothing."]
    else:
        found = [f"{head}.", f"It cannot be told whether {_counted(unsure, 'label')} right or wrong: "
                             "all of them are paid for."]  # fmt: skip
        if "average_row" in made:
            found.append("Each of these counts at least as much as an average row of trusted contributors.")
    if line["counted"] < paid:
        found.append(f"{paid} paid rows are about {line['counted']} items; an item counts once.")
    if flagged := line["bands"]["v"]["flagged"]:
        found.append(f"{_counted(flagged, 'row')} flagged or retracted.")
    return found


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun} was" if number == 1 else f"{number} {noun}s were"


def _dispute(found: disputes.Dispute) -> dict[str, Any]:
    """What was asked, what was answered and by whom, and what it changed."""
    said = found.answer
    return {
        "opened": found.opened,
        "reason": found.reason,
        "opened_by": found.by,
        "answered": found.answered,
        "outcome": said and said.outcome,
        "answer": said and said.reason,
        "answered_by": said and said.by,
        "correction": said.correction if said else 0,
        "resolved": found.resolved,
        "resolved_by": found.resolved_by,
        "state": "closed" if found.closed else "waits for a second person" if said else "waits for an answer",
    }


def _date(timestamp: float) -> str:
    return datetime.fromtimestamp(timestamp, UTC).strftime("%Y-%m-%d %H:%M UTC")
