"""Statements: what one contributor earned in one settlement, why, and the proof that it is on record.

Made for everybody with a row in the run, however small the amount. A contributor sees bands and
counts of their own work, never other people's, and never the figures that could be gamed.
"""

import base64
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import sqlalchemy as sa

from anml.app.reasons import about_evidence, appeal, disputes_shown, how, reasons, task_names
from anml.app.settle import load_manifest
from anml.core.canonical import canonical
from anml.core.errors import InputError
from anml.core.manifest import head, line_tree
from anml.core.merkle import Tree
from anml.core.settle import UNIT
from anml.core.signals.policy import Policy
from anml.core.signals.standing import Standing
from anml.ledger import book, dsse, evidence, kinds, people
from anml.ledger.log import Event, encode, events
from anml.ledger.money_parts import Dispute, Disputes, Payouts
from anml.ledger.parts import People, Staff
from anml.ledger.standing import standings
from anml.ledger.state import loaded
from anml.ledger.store import Ledger
from anml.ledger.times import seconds, stamp

FORMAT = "anml-statement/2"
PAYLOAD = "application/vnd.anml.statement+json"
OWN = (kinds.CREDITED, kinds.RELEASED, kinds.REVERSED, kinds.RESOLVED)


class Scene(NamedTuple):
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
    lines: Tree
    people: People
    staff: Staff
    disputes: dict[str, list[Dispute]]
    profiles: dict[str, dict[str, Any]]
    shared: list[dict[str, Any]]
    words: dict[str, str]
    now: float
    head: str


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
        places = {line["pid"]: place for place, line in enumerate(scene.manifest["contributors"])}
        wanted = sorted(places) if pids is None else sorted(set(pids))
        for pid in wanted:
            if pid not in places:
                raise InputError(f"contributor {pid!r} has no row in settlement {sid}")
        tasks = {pid: task_names(ledger, connection, scene.people.same(pid)) for pid in wanted
                 if scene.vouched.get(scene.people.resolve(pid))}  # fmt: skip
    return {pid: _statement(scene, pid, places[pid], tasks.get(pid, {})) for pid in wanted}


def sign(ledger: Ledger, statement: dict[str, Any]) -> bytes:
    """A statement as a signed envelope."""
    return canonical(dsse.wrap(PAYLOAD, canonical(statement), ledger.ring.log)) + b"\n"


def _scene(ledger: Ledger, connection: sa.Connection, sid: str, domain: str, policy: Policy | None) -> Scene:
    found = book.settlement(connection, sid)
    if found.posted is None:
        raise InputError(f"settlement {sid} is {found.state}; statements follow its approval")
    own: dict[str, list[Event]] = defaultdict(list)
    for e in events(connection, OWN):
        if e.settlement == sid:
            own[e.subject].append(e)
    now = stamp(ledger.clock())
    note, tree = ledger.checkpoint(connection)
    made = load_manifest(connection, found.manifest)
    asked = loaded(Disputes, connection).found.get(sid, {})
    return Scene(
        settlement=found,
        manifest=made,
        own=own,
        known=standings(connection, now, domain, policy, without=sid),
        vouched=evidence.of(connection, at=seconds(now), rule=(policy or Policy()).trust),
        payable=book.balances(connection, "payable:", found.currency),
        paid=book.balances(connection, "paid:", found.currency),
        transit=_transit(connection, found.currency),
        note=note,
        tree=tree,
        lines=line_tree(made),
        people=loaded(People, connection),
        staff=loaded(Staff, connection),
        disputes=asked,
        profiles=people.profiles(connection, ledger.ring),
        shared=[proved(tree, e) for e in _shared(connection, found, _acts(own))],
        words=_words(ledger, connection, asked),
        now=seconds(now),
        head=canonical(head(made)).decode(),
    )


def _transit(connection: sa.Connection, currency: str) -> dict[str, int]:
    """What is on its way to the bank, of this currency alone."""
    found: dict[str, int] = defaultdict(int)
    known = loaded(Payouts, connection)
    for batch, (used, *_) in known.heads.items():
        for payment in known.payments.get(batch, {}).values() if used == currency else ():
            found[payment.pid] += payment.amount if payment.state == "sent" else 0
    return found


def _shared(connection: sa.Connection, found: book.Settlement, own: Iterable[Event]) -> list[Event]:
    """The entries that every statement of a settlement rests on: who drafted, approved and corrected it.

    With each of them come those who brought them in, back to the founder.
    """
    staff = {e.subject: e for e in events(connection, [kinds.STAFF_ADDED])}
    asked = {e.seq: e for e in events(connection, [kinds.PROPOSED]) if e.body["step"] == kinds.STAFF_ADDED}
    wanted: dict[int, Event] = {}
    waiting = {found.by, found.approved_by or "", *(e.by for e in own)}
    while waiting:
        e = staff.pop(waiting.pop(), None)
        if e is not None:
            behind = [e, *filter(None, [asked.get(e.body["proposal"])])]
            wanted.update((one.seq, one) for one in behind)
            waiting.update(one.by for one in behind)
    steps = events(connection, [kinds.CREATED, kinds.DRAFTED, kinds.APPROVED])
    wanted.update((e.seq, e) for e in steps if e.seq in found.entries or e.kind == kinds.CREATED)
    return [wanted[seq] for seq in sorted(wanted)]


def _acts(own: Mapping[str, list[Event]]) -> Iterable[Event]:
    return (e for each in own.values() for e in each if e.by)


def proved(tree: Tree, e: Event) -> dict[str, Any]:
    """An entry with the path that shows it in the log."""
    path = [base64.b64encode(node).decode() for node in tree.inclusion(e.seq - 1)]
    return {"entry": encode(e).decode(), "index": e.seq - 1, "path": path}


def _words(ledger: Ledger, connection: sa.Connection, asked: dict[str, list[Dispute]]) -> dict[str, str]:
    """What people wrote in disputes, by the hash of the paper."""
    papers = {
        (d.pid, name) for own in asked.values() for d in own for name in (d.paper, d.answer_paper) if name
    }
    return {
        name: people.attached_values(connection, ledger.ring, pid, name).get("text", "")
        for pid, name in sorted(papers)
    }


def _statement(scene: Scene, pid: str, place: int, tasks: dict[str, str]) -> dict[str, Any]:
    line, found = scene.manifest["contributors"][place], scene.settlement
    own, whole = scene.own[pid], scene.people.resolve(pid)
    standing = scene.known[whole]
    amounts = _amounts(scene, whole, own)
    records = scene.vouched.get(whole, [])
    about = scene.profiles.get(whole, {})
    return {
        "format": FORMAT,
        "ledger": scene.staff.origin,
        "single_person": scene.staff.single_person,
        "contributor": pid,
        "name": about.get("name") or ", ".join(a.partition(":")[2] for a in about.get("accounts", [])),
        "settlement": found.id,
        "project": found.project,
        "pool": found.pool,
        "posted": found.posted,
        "drafted_by": found.by,
        "approved_by": found.approved_by,
        "state": found.state,
        "currency": found.currency,
        "manifest": found.manifest,
        "rows": {"given": line["rows"], "kept": line["kept"], "counted": line["counted"]},
        "bands": line["bands"],
        **({"verdicts": line["verdicts"]} if "verdicts" in line else {}),
        "share": own[0].body["share"],
        "share_unit": UNIT,
        "amounts": amounts,
        "how": how(scene.manifest, line, own[0].body["share"], amounts["gross"]),
        "reasons": reasons(scene, line, standing, own, amounts) + about_evidence(records, tasks),
        "disputes": disputes_shown(scene.disputes.get(pid, []), scene.words),
        "appeal": appeal(found, scene.staff, scene.now),
        "proof": {
            "checkpoint": scene.note,
            "entries": [*(proved(scene.tree, e) for e in own), *scene.shared],
            "head": scene.head,
            "line": canonical(line).decode(),
            "place": place,
            "lines": len(scene.lines),
            "line_path": [base64.b64encode(node).decode() for node in scene.lines.inclusion(place)],
        },
    }


def _amounts(scene: Scene, whole: str, own: list[Event]) -> dict[str, int]:
    """Micro-units: this settlement's gross, held, released and so on; and the account as a whole."""
    return moved(own) | {
        "payable": scene.payable.get(whole, 0),
        "in_transit": scene.transit.get(whole, 0),
        "paid": scene.paid.get(whole, 0),
    }


def moved(own: Iterable[Event]) -> dict[str, int]:
    """What a contributor's entries in one settlement come to."""
    sums = {"gross": 0, "held": 0, "released": 0, "returned": 0, "reversed": 0, "corrected": 0}
    for e in own:
        lines: dict[str, int] = defaultdict(int)
        for item in e.postings:
            lines[item.account.partition(":")[0]] += item.amount
        sums["held"] += lines["held"]
        if e.kind == kinds.CREDITED:
            sums["gross"] += lines["held"]
        elif e.kind == kinds.RELEASED:
            sums["released"] += lines["payable"]
            sums["returned"] += lines["source"]
        elif e.kind == kinds.REVERSED:
            sums["reversed"] += lines["source"]
        elif e.kind == kinds.RESOLVED:
            sums["corrected"] += lines["held"]
    return sums
