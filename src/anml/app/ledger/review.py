"""What a second person is about to sign, whole: shown before, and named by its digest when it is signed."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from anml.app.people.names import shown_names
from anml.core.canonical import digest
from anml.core.errors import ConflictError
from anml.core.manifest import amounts
from anml.ledger import kinds, people
from anml.ledger.log import Event, seconds, shown_date
from anml.ledger.money_parts import Settlement, Settlements, read_manifest
from anml.ledger.parts import Payees
from anml.ledger.rules_people import open_money
from anml.ledger.rules_staff import apart, second_person
from anml.ledger.state import State, Where, loaded
from anml.ledger.store import Ledger
from anml.ledger.writer import Writer

# So many letters name a content: whoever makes it up finds no two contents of one name.
LETTERS = 32


def named(content: dict[str, Any]) -> str:
    """The digest of what was shown."""
    return digest(content)[:LETTERS]


def check_seen(seen: str | None, shown: Callable[..., dict[str, Any]], *given: Any) -> None:
    """An error unless what is `shown` now is what was `seen`; None for programs that look at nothing."""
    if seen is not None and seen != (now := named(shown(*given))):
        raise ConflictError(
            f"what would be signed now is {now}, not {seen}: look at it again before you sign it"
        )


def _second(
    tx: Writer, kind: str, by: str | None, first: str, said: str, rule: Callable[..., None] = second_person
) -> None:
    """An error unless who acts may take this step, and somebody else took the one before."""
    made = Event(0, kind, "", "", tx.now, {}, "", (), "", b"", tx.who(by))
    tx.state.signer(made)
    rule(tx.state, first, made, said)


def approval(tx: Writer, sid: str, by: str | None = None) -> dict[str, Any]:
    """A draft with every line of it, beside what the same people got in the settlement before."""
    reading = tx.verified()
    known = tx.state.settlements
    found = known.expect(sid, "drafted")
    _second(tx, kinds.APPROVED, by, found.by, "drafted this settlement; a second person must approve it")
    replaced = known.get(found.supersedes) if found.supersedes else None
    if replaced and replaced.state == "reversed":
        raise ConflictError(f"settlement {replaced.id} was replaced by another since; draft it anew")
    made = read_manifest(reading.document, found)
    # The settlement that it replaces, or the last that was posted.
    posted = [one for one in known.found.values() if one.state == "posted" and one.currency == found.currency]
    before = max(((one == replaced, one.entries[1], one.id) for one in posted), default=(0, 0, None))[2]
    got = {pid: tx.state.credits.net(before, pid) for pid in tx.state.credits.of(before)} if before else {}
    names, given = shown_names(tx.ledger, reading), amounts(made)
    below, rows = tx.state.below(found), sum(line["rows"] for line in made["contributors"]) or 1
    lines = [
        {"contributor": line["pid"], "name": names.get(line["pid"], ""), "multiplier": line["multiplier"],
         **{name: line[name] for name in ("rows", "kept", "counted", "newcomer")},
         "verdicts": line.get("verdicts", {}), "judged": line.get("judged", []),
         "amount": given[line["pid"]][0], "share": given[line["pid"]][1], "below": line["pid"] in below,
         "by_rows": made["rate"] * line["rows"] or found.pool * line["rows"] // rows,
         "before": got.get(line["pid"])}
        for line in made["contributors"]
    ]  # fmt: skip
    # Appeals that should have been answered by now.
    late = [f"{names.get(d.pid, d.pid)} in {d.settlement}, due {shown_date(d.due)}"
            for d in tx.state.disputes.every if d.late(seconds(tx.now))]  # fmt: skip
    return {
        "step": kinds.APPROVED, "settlement": sid, "manifest": found.manifest,
        "run": made["run"].get("record_sha256") or made["run"]["samples_sha256"],
        "currency": found.currency, "pool": found.pool, "rate": made["rate"], "rules": made["rules"],
        "project": found.project, "drafted_by": found.by, "window_days": found.window_days,
        "accepted": found.accepted, "doubtful": made.get("doubtful"), "supersedes": found.supersedes,
        "replaced": replaced and [replaced.pool, replaced.currency],
        "before": before, "gone": {names.get(pid, pid): amount for pid, amount in sorted(got.items())
                                   if found.supersedes == before and pid not in given},
        "overlaps": overlaps(known, found), "late": late,
        "lines": sorted(lines, key=lambda line: -line["amount"]),
    }  # fmt: skip


def proposals(tx: Writer, numbers: Sequence[int], by: str | None = None) -> dict[str, Any]:
    """Proposals as they would be carried out, with bank details as they are and as they would be."""
    reading = tx.verified()
    names, known = shown_names(tx.ledger, reading), tx.state.proposals
    for found in map(known.open, numbers):
        _second(tx, found.body["step"], by, found.by, "proposed this; a second person must confirm it")
    shown = [proposal(tx.connection, tx.ledger, known.open(number), names, tx.state) for number in numbers]
    return {"step": "confirm", "proposals": shown}


def proposal(
    connection: sa.Connection, ledger: Ledger, p: Event, names: Mapping[str, str], where: Where
) -> dict[str, Any]:
    """A proposal with what it says of people, as far as the ledger's keys are at hand."""
    step, body = p.body["step"], p.body["body"]
    agreed = loaded(Payees, where).paper.get(p.subject, "") if step == kinds.PAYEE_SET else ""
    details, old = (
        people.attached_values(connection, ledger.keys, p.subject, paper) if ledger.keys else {}
        for paper in (p.body["paper"], agreed)
    )
    return {
        "proposal": p.seq, "step": step, "subject": p.subject, "body": body,
        "name": names.get(p.subject, p.subject), "into": names.get(str(body.get("into")), ""),
        "details": details, "until_now": old, "settlement": p.settlement, "by": p.by, "at": p.at,
        "currency": loaded(Settlements, where).get(p.settlement).currency if p.settlement else "",
        "open": open_money(where, p.subject) if step == kinds.ERASED and isinstance(where, State) else {},
    }  # fmt: skip


def resolution(tx: Writer, sid: str, pid: str, by: str | None = None) -> dict[str, Any]:
    """A dispute with its answer, and the correction that would be posted."""
    reading = tx.verified()
    found = tx.state.settlements.get(sid)
    asked = tx.state.disputes.open(sid, pid)
    if asked.answer is None:
        raise ConflictError(f"the dispute of {pid} in {sid} has no answer yet; it is answered first")
    for first, said, rule in ((asked.answer.by, "answered", second_person), (asked.by, "opened", apart)):
        _second(tx, kinds.RESOLVED, by, first, f"{said} this dispute; a second person must resolve it", rule)
    papers = {"asked": asked.paper, "answered": asked.answer_paper}
    words = people.texts(tx.connection, tx.ring, [(pid, paper) for paper in papers.values()])
    return {
        "step": kinds.RESOLVED, "settlement": sid, "contributor": pid,
        "name": shown_names(tx.ledger, reading).get(pid, pid), "reason": asked.reason, "opened_by": asked.by,
        "written_by": "" if asked.key else asked.written_by,
        "words": {side: words[paper] for side, paper in papers.items()},
        "answer": asked.answer._asdict(), "currency": found.currency,
        "held": tx.state.balances.get(f"held:{pid}", found.currency, sid),
    }  # fmt: skip


def came_back(tx: Writer, batch: str, pids: Sequence[str], by: str | None) -> dict[str, Any]:
    """Payments of a batch that would be paid again."""
    reading = tx.verified()
    found, names = tx.state.payouts.get(batch), shown_names(tx.ledger, reading)
    said = "made this batch; a second person must record what came back"
    _second(tx, kinds.CLOSED, by, found.by, said, apart)
    chosen = [item for item in found.payments if item.pid in pids]
    return {
        "step": kinds.FAILED, "batch": batch, "currency": found.currency, "made_by": found.by,
        "payments": [{"contributor": item.pid, "name": names.get(item.pid, item.pid), "amount": item.amount,
                      "state": item.state} for item in chosen],
    }  # fmt: skip


def overlaps(known: Settlements, found: Settlement) -> list[str]:
    """Which other settlements pay for rows of this one too, as far as a few of them tell."""
    made = []
    for other in known.found.values():
        open_ = other.state in ("drafted", "posted") and other.id not in (found.id, found.supersedes)
        if open_ and found.id != other.supersedes and (share := other.overlap(found.marks)):
            where = f"settlement {other.id} too, which is {other.state}"
            twice = "they would be paid twice unless it is superseded"
            made.append(f"about {max(share, 0.01):.0%} of these rows are in {where}: {twice}")
    return made
