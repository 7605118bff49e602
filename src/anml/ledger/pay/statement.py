"""Statements: what one contributor earned in a settlement and why, of their own work alone, with proof."""

import base64
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from anml.core.canonical import MerkleTree, canonical
from anml.core.errors import InputError
from anml.ledger import checkpoint, evidence, keys, kinds, signing
from anml.ledger import personal_data as people
from anml.ledger.log import Event, encode_event, format_timestamp, seconds, shown_date
from anml.ledger.pay.reasons import (
    about_evidence,
    amount_explanation,
    appeal_instructions,
    disputes_shown,
    reason_lines,
    task_names,
)
from anml.ledger.reading import LedgerReader
from anml.ledger.services.verify import verified, verifier
from anml.ledger.standing import contributor_statuses
from anml.ledger.state_money import Payouts, Settlement, read_manifest
from anml.ledger.store import Ledger
from anml.ledger.witness import cosign
from anml.settlement.allocate import UNIT
from anml.settlement.manifest import entry_tree, header
from anml.signals.policy import Policy

FORMAT: str = verifier().FORMAT
PAYLOAD: str = verifier().STATEMENT
# What a statement says of its settlement as the ledger does.
_AS_SETTLED = (
    "project", "pool", "approved_by", "state", "currency", "manifest", "because", "replaced_by", "replaced_at"
)  # fmt: skip


class StatementContext:
    """Data shared by all statements of one settlement, read once."""

    def __init__(
        self, ledger: Ledger, reading: LedgerReader, sid: str, domain: str, policy: Policy | None,
        by: str | None, witness: tuple[str, str] | None = None,
    ) -> None:  # fmt: skip
        state, tree = reading.state, MerkleTree(reading.hashes)
        found = state.settlements.get(sid)
        if found.posted is None:
            raise InputError(f"settlement {sid} is {found.state}; statements follow its approval")
        trail, at = state.trail, format_timestamp(ledger.clock())
        self.state, self.settlement, self.tree, self.now = state, found, tree, seconds(at)
        self.issued_at = at
        self.own: dict[str, list[Event]] = defaultdict(list)
        for e in reading.entries(seq for (s, _), each in trail.own.items() if s == sid for seq in each):
            self.own[e.subject].append(e)
        self.manifest, self.below = read_manifest(reading.document, found), state.below(found)
        self.lines, self.head = entry_tree(self.manifest), canonical(header(self.manifest)).decode()
        self.known = contributor_statuses(state, at, domain, policy, without=sid)
        self.vouched = evidence.effective_records(state, at=self.now, rule=(policy or Policy()).trust)
        self.account = {
            "payable": state.balances.of_kind("payable:", found.currency),
            "in_transit": _payments_in_progress(state.payouts, found.currency),
            "paid": state.balances.of_kind("paid:", found.currency),
        }
        self.asked = state.disputes
        own = [d for each in self.asked.found.get(sid, {}).values() for d in each]
        papers = {(d.pid, name) for d in own for name in (d.paper, d.answer_paper)}
        papers |= {(pid, one.body["paper"]) for (s, pid), one in self.asked.kept.items() if s == sid}
        self.words = people.read_texts(reading.connection, ledger.ring, papers)
        self.profiles = people.profiles(reading, ledger.ring)
        self.issuer = state.staff.member(ledger.signers.acting(state.staff, by))
        every = [e for each in self.own.values() for e in each]
        self.covers = _signatures_for(reading, every)
        signed = {one.by for one, _ in self.covers.values()} | {e.by for e in every} | {self.issuer.name}
        self.shared = [with_inclusion_proof(tree, e) for e in _shared(reading, found, signed)]
        self.note = checkpoint.sign_checkpoint(ledger.ring, len(tree), tree.root)
        if witness is not None:
            self.note = cosign(self.note, tree, *witness)
        # As it was signed: where the clock was mended since, the window counts from another day.
        (self.posted,) = (e.at for e in reading.entries([found.entries[1]]))


def build(
    ledger: Ledger,
    sid: str,
    pids: Iterable[str] | None = None,
    domain: str = "default",
    policy: Policy | None = None,
    by: str | None = None,
    witness: tuple[str, str] | None = None,
) -> dict[str, dict[str, Any]]:
    """Statements by contributor, each with its proof under one checkpoint; they count once signed.

    A `witness`, by key and address, cosigns the checkpoint.
    """
    with verified(ledger, "stated from") as reading:
        scene = StatementContext(ledger, reading, sid, domain, policy, by, witness)
        places = {line["pid"]: place for place, line in enumerate(scene.manifest["contributors"])}
        wanted = sorted(places) if pids is None else sorted(set(pids))
        for pid in wanted:
            if pid not in places:
                raise InputError(f"contributor {pid!r} has no row in settlement {sid}")
        known = scene.state.people
        vouched = [pid for pid in wanted if scene.vouched.get(known.resolve(pid))]
        tasks = {pid: task_names(ledger, reading, known.same(pid)) for pid in vouched}
    return {pid: _statement(scene, pid, places[pid], tasks.get(pid, {})) for pid in wanted}


def sign(ledger: Ledger, statement: dict[str, Any]) -> bytes:
    """A statement as an envelope that the log's key and whoever issues it signed."""
    issuer = statement["issued_by"]
    own = ledger.signers.find(issuer["name"], keys.parse_public(issuer["key"]))
    log = signing.from_key(ledger.ring.log)
    return canonical(signing.sign_envelope(PAYLOAD, canonical(statement), log, own)) + b"\n"


def _payments_in_progress(known: Payouts, currency: str) -> dict[str, int]:
    """Sum the payments in progress of one currency by contributor."""
    found: dict[str, int] = defaultdict(int)
    for batch, (used, *_) in known.heads.items():
        for payment in known.payments.get(batch, {}).values() if used == currency else ():
            found[payment.pid] += payment.amount if payment.state == "sent" else 0
    return found


def _signatures_for(reading: LedgerReader, own: list[Event]) -> dict[int, tuple[Event, list[str]]]:
    """Find the covering signature, or the proposal, of each changed entry: entry and inclusion path."""
    trail = reading.state.trail
    changed = [e for e in own if e.kind in (kinds.REVERSED, kinds.RELEASED)]
    numbers = {e.seq: e.body["proposal"] if e.by else trail.covers[e.seq] for e in changed}
    entries = {e.seq: e for e in reading.entries(set(numbers.values()))}
    trees = {e.seq: MerkleTree(reading.hashes[e.first - 1 : e.seq - 1]) for e in entries.values() if e.root}
    found: dict[int, tuple[Event, list[str]]] = {}
    for seq, number in numbers.items():
        signs = entries[number]
        covered = number > seq and number in trees
        found[seq] = signs, _encoded(trees[number].inclusion(seq - signs.first)) if covered else []
    return found


def _encoded(path: Iterable[bytes]) -> list[str]:
    return [base64.b64encode(node).decode() for node in path]


def _shared(reading: LedgerReader, found: Settlement, names: set[str]) -> list[Event]:
    """The entries every statement rests on: who drafted, approved and corrected, back to the founder."""
    staff = list(reading.entries(reading.state.trail.staff))
    asked = {e.seq: e for e in staff if e.kind == kinds.PROPOSED}
    wanted: dict[int, Event] = {}
    waiting, seen = {found.by, found.approved_by or "", *names}, set[str]()
    while waiting:
        name = waiting.pop()
        seen.add(name)
        for e in (e for e in staff if e.kind != kinds.PROPOSED and e.subject == name):
            behind = [e, *filter(None, [asked.get(e.body["proposal"])])]
            wanted.update((one.seq, one) for one in behind)
            waiting |= {one.by for one in behind} - seen
    wanted.update((e.seq, e) for e in reading.entries({1, *found.entries}))
    return [wanted[seq] for seq in sorted(wanted)]


def with_inclusion_proof(tree: MerkleTree, e: Event) -> dict[str, Any]:
    """An entry with the path that shows it in the log."""
    return {
        "entry": encode_event(e).decode(),
        "index": e.seq - 1,
        "path": _encoded(tree.inclusion(e.seq - 1)),
    }


def _statement(scene: StatementContext, pid: str, place: int, tasks: dict[str, str]) -> dict[str, Any]:
    line, found, staff = scene.manifest["contributors"][place], scene.settlement, scene.state.staff
    own, whole = scene.own[pid], scene.state.people.resolve(pid)
    # What the entries come to, as whoever checks it adds it up.
    sums: dict[str, int] = verifier().sums_of((e.kind, e.postings) for e in own)
    amounts = sums | {name: each.get(whole, 0) for name, each in scene.account.items()}
    about, until = scene.profiles.get(whole, {}), scene.asked.until(found, pid)
    why = reason_lines(scene, line, scene.known[whole], own, amounts)
    return {
        "format": FORMAT,
        "ledger": staff.origin,
        "single_person": staff.single_person,
        "contributor": pid,
        "name": about.get("name") or ", ".join(a.partition(":")[2] for a in about.get("accounts", [])),
        "settlement": found.id,
        "drafted_by": found.by,
        "posted": scene.posted,
        "issued_at": scene.issued_at,
        **{name: getattr(found, name) for name in _AS_SETTLED},
        "rows": {"given": line["rows"], "kept": line["kept"], "counted": line["counted"]},
        **{name: line[name] for name in ("bands", "verdicts", "judged") if name in line},
        **({"usage": scene.manifest["usage"]} if "usage" in scene.manifest else {}),
        "weight": scene.manifest["rules"]["weight"],
        "rate": scene.manifest["rate"],
        "share": own[0].body["share"],
        "share_unit": UNIT,
        "amounts": amounts,
        "how": amount_explanation(scene.manifest, line, own[0].body["share"], amounts["gross"]),
        "reasons": why + about_evidence(scene.vouched.get(whole, []), tasks),
        "disputes": disputes_shown(scene.asked.of(found.id, pid), scene.words),
        "appeal": appeal_instructions(until, staff, scene.now),
        "appeal_until": shown_date(until),
        "appeal_to": staff.appeals,
        "issued_by": {"name": scene.issuer.name, "key": scene.issuer.public_key},
        "proof": _proof(scene, own, line, place),
    }


def _proof(scene: StatementContext, own: list[Event], line: dict[str, Any], place: int) -> dict[str, Any]:
    covers = {e.seq: scene.covers[e.seq] for e in own if e.seq in scene.covers}
    return {
        "checkpoint": scene.note,
        "entries": [*(with_inclusion_proof(scene.tree, e) for e in own), *scene.shared],
        "covers": {
            str(seq): {**with_inclusion_proof(scene.tree, e), "cover": path}
            for seq, (e, path) in covers.items()
        },
        "head": scene.head,
        "line": canonical(line).decode(),
        "place": place,
        "lines": len(scene.lines),
        "line_path": _encoded(scene.lines.inclusion(place)),
    }
