"""Staff, keys and what people do in twos: who may act or vouch, what waits, and a second person's word.

What a second person is about to sign is shown whole before, and named by its digest when it is signed.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from anml.core.canonical import digest
from anml.core.errors import ConflictError
from anml.ledger import book, keys, kinds, signing, two_people
from anml.ledger import personal_data as people
from anml.ledger.contributors.names import shown_names
from anml.ledger.identifiers import staff_id
from anml.ledger.log import Event, seconds, shown_date
from anml.ledger.money import format_amount, format_money
from anml.ledger.reading import LedgerReader
from anml.ledger.rules_people import debts, open_requests, outstanding_amounts
from anml.ledger.rules_staff import require_different_people, second_person
from anml.ledger.state import State, load_component
from anml.ledger.state_money import AgreedTerms, Dispute, Disputes, Settlement, Settlements, read_manifest
from anml.ledger.state_people import Keys, Payees, Proposals, Staff
from anml.ledger.store import Ledger, as_transaction, staff_folder
from anml.ledger.terms import describe_terms, parse_terms
from anml.ledger.writer import Actor, Writer
from anml.settlement.manifest import contributor_amounts
from anml.signals.policy import Policy

# So many letters name a content: whoever makes it up finds no two contents of one name.
DIGEST_LENGTH = 32


def list_staff(ledger: Ledger) -> Staff:
    """Everybody who acts, or did, and whether one person keeps the ledger."""
    return ledger.listed(Staff)


def new_member(name: str, path: Path | None = None, password: str = "") -> tuple[str, Path, str]:
    """A key for somebody who will be of the staff: their identifier, its file and the public part."""
    who = staff_id(name)
    place = path or staff_folder() / f"{who}.pem"
    if path is None:
        place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    return who, place, new_key(place, password)


def renew_key(ledger: Ledger, name: str, public: str, recovery: Path | None, by: Actor = None) -> Event:
    """Propose another key for a member of staff; with the recovery key it counts at once."""
    raw, asked = read_public(public), ledger.signers.password
    signer = None if recovery is None else signing.from_file(recovery, asked)
    return ledger.write(lambda tx: two_people.propose_key_renewal(tx, name, raw, signer, by))


new_key, read_public = keys.create_signer, keys.read_public
add_member = as_transaction(two_people.propose_staff)
trust_key = as_transaction(two_people.propose_key)
remove_member = as_transaction(two_people.remove_staff)
revoke_key = as_transaction(two_people.revoke_key)
reverse = as_transaction(book.propose_reversal)


@as_transaction
def propose_terms(tx: Writer, whole: Mapping[str, Any], by: Actor = None) -> Event:
    """Propose terms; the last terms of a name count."""
    return two_people.propose(tx, kinds.TERMS, whole["name"], {"terms": dict(whole)}, by)


@as_transaction
def propose_clock_repair(tx: Writer, by: Actor = None) -> Event:
    """Propose that from now on entries are dated by the clock of whoever confirms it."""
    return two_people.propose(tx, kinds.CLOCK, "", {}, by)


def open_proposals(ledger: Ledger, names: dict[str, str]) -> list[dict[str, Any]]:
    """List the proposals that need a second approval, oldest first, with a description in `says`."""
    with ledger.read() as connection:
        waits = load_component(Proposals, connection).waiting
        shown = [proposal(connection, ledger, p, names) for p in waits]
    return [{**one, "says": describe_proposal({**one, "until_now": {}})} for one in shown]


def confirm_proposals(
    ledger: Ledger, numbers: Sequence[int], by: Actor = None, *, seen: str | None = None,
    unreached: list[str] | None = None, because: str = "",
) -> list[Event]:  # fmt: skip
    """Carry out what waits as the second person, all or none; `seen` is the digest of what was shown.

    What an erasure could not reach is added to `unreached`; `because` is the reason of an approval.
    """

    def work(tx: Writer) -> list[Event]:
        require_same_content(seen, confirmation, tx, numbers, by)
        return [_confirm_one(tx, number, by, because) for number in numbers]

    made = ledger.write(work)
    left = people.scrub_erased(ledger) if any(e.kind == kinds.ERASED for e in made) else []
    if unreached is not None:
        unreached += left
    return made


def _confirm_one(tx: Writer, number: int, by: Actor, because: str) -> Event:
    """Carry out one step: an approval, the correction of an answer, or a proposal."""
    settlement, dispute = _settlement_of(tx.state, number), _dispute_of(tx.state, number)
    if settlement:
        return book.approve(tx, settlement.id, by, because)
    if dispute:
        # A contributor may dispute twice; each time is its own step.
        key = f"{dispute.settlement}/{dispute.pid}/{number}"
        return book.resolve(tx, dispute.settlement, dispute.pid, by, key)
    return two_people.confirm(tx, number, by)


def _settlement_of(state: State, number: int) -> Settlement | None:
    """Return the settlement whose draft is the entry of this number."""
    return next((s for s in state.settlements.found.values() if s.entries[0] == number), None)


def _dispute_of(state: State, number: int) -> Dispute | None:
    """Return the dispute whose answer is the entry of this number."""
    return next((d for d in state.disputes.every if d.answer_entry == number), None)


def confirmation(tx: Writer, numbers: Sequence[int], by: Actor = None) -> dict[str, Any]:
    """Everything that a confirmation of these numbers signs, in full."""
    items = []
    for number in numbers:
        settlement = _settlement_of(tx.verified().state, number)
        dispute = _dispute_of(tx.state, number)
        if settlement:
            items.append(approval(tx, settlement.id, by))
        elif dispute:
            items.append(resolution(tx, dispute.settlement, dispute.pid, by))
        else:
            items.append(_proposal_to_sign(tx, number, by))
    return {"step": "confirm", "items": items}


def waiting_for(ledger: Ledger, names: dict[str, str]) -> list[dict[str, Any]]:
    """List everything that waits for a second person: proposals, drafts, and answers that move money."""
    shown = ("proposal", "step", "by", "at", "subject", "says", "details")
    listed = [{name: one[name] for name in shown} for one in open_proposals(ledger, names)]

    def add(*values: Any) -> None:
        listed.append(dict(zip(shown, (*values, {}), strict=True)))

    for s in ledger.listed(Settlements).found.values():
        if s.state == "drafted":
            says = f"approve settlement {s.id} of {format_money(s.pool, s.currency)} {s.currency}"
            add(s.entries[0], kinds.APPROVED, s.by, "", s.id, says)
    for d in ledger.listed(Disputes).every:
        if d.answer and not d.closed:
            says = f"post the answer to {names.get(d.pid, d.pid)} in {d.settlement}"
            add(d.answer_entry, kinds.RESOLVED, d.answer.by, d.answered, d.pid, says)
    return sorted(listed, key=lambda one: int(one["proposal"]))


def withdraw_proposals(ledger: Ledger, numbers: Sequence[int], by: Actor = None) -> list[Event]:
    """Take proposals and drafts off the list, all or none."""

    def drop(tx: Writer, number: int) -> Event:
        settlement = _settlement_of(tx.state, number)
        return (
            book.withdraw(tx, settlement.id, by)
            if settlement
            else two_people.withdraw_proposal(tx, number, by)
        )

    return ledger.write(lambda tx: [drop(tx, number) for number in numbers])


def describe_proposal(p: dict[str, Any]) -> str:
    """A proposal in one line."""
    body = p["body"]
    listed = ", ".join(f"{name} {value}" for name, value in p["details"].items())
    old = ", ".join(f"{name} {value}" for name, value in p["until_now"].items())
    amount, known = format_amount(body["amount"]) if "amount" in body else "", p["person"]
    owed = ", ".join(p["open"])
    named = {name: ", ".join(map(str, body.get(name, ()))) for name in ("roles", "may")}
    said: dict[str, str] = {
        kinds.STAFF_ADDED: f"bring in {p['subject']} as {named['roles']}, with the key {body.get('public')}",
        kinds.STAFF_RENEWED: f"let {p['subject']} sign with the key {body.get('public')} from now on",
        kinds.CLOCK: "mend the clock: from then on entries are dated by who confirms this",
        kinds.ERASED: f"erase all that is personal of {known}, with {owed or 'nothing'} still open",
        kinds.KEY_TRUSTED: f"trust key {p['subject']} of {body.get('owner')} for {named['may']}, from "
        f"{str(body.get('since'))[:10]}" + (f" until {body['until'][:10]}" if body.get("until") else ""),
        kinds.REVIEWER_NAMED: f"{'let' if body.get('on') else 'no longer let'} reviews by {known} count",
        kinds.TERMS: f"agree on the terms: {describe_terms(body.get('terms', {}))}",
        kinds.PAYEE_SET: f"pay {known} under {listed}" + (f"; until now under {old}" if old else ""),
        kinds.MAPPED: f"take account {p['details'].get('source')}:{p['details'].get('account')} for {known}",
        kinds.MERGED: f"take {known} and {p['into']} for one person",
        # To the last micro-unit: who confirms it signs for that.
        kinds.REVERSED: f"take back {amount} {p['currency']} of {known} ({body.get('reason')})",
    }
    return said[p["step"]]


def public_key(ledger: Ledger) -> str:
    """The key that everybody checks this ledger with, as text."""
    return keys.public_text(ledger.ring.public)


def known_keys(ledger: Ledger) -> list[dict[str, Any]]:
    """Every key that was ever trusted, as plain values."""
    ever = ledger.listed(Keys).known.values()
    return [{**key._asdict(), "public": keys.public_text(key.public), "may": sorted(key.may)} for key in ever]


def content_digest(content: dict[str, Any]) -> str:
    """The digest of what was shown."""
    return digest(content)[:DIGEST_LENGTH]


def require_same_content(seen: str | None, shown: Callable[..., dict[str, Any]], *given: Any) -> None:
    """An error unless what is `shown` now is what was `seen`; None for programs that look at nothing."""
    if seen is not None and seen != (now := content_digest(shown(*given))):
        raise ConflictError(
            f"what would be signed now is {now}, not {seen}: look at it again before you sign it"
        )


def _require_second_person(
    tx: Writer, kind: str, by: Actor, first: str, said: str, rule: Callable[..., None] = second_person
) -> None:
    """An error unless who acts may take this step, and somebody else took the one before."""
    made = Event(0, kind, "", "", tx.now, {}, "", (), "", b"", tx.who(by))
    tx.state.signer(made)
    rule(tx.state, first, made, said)


def _late_answers(tx: Writer, names: Mapping[str, str]) -> list[str]:
    """Disputes whose answer is overdue."""
    late = (dispute for dispute in tx.state.disputes.every if dispute.late(seconds(tx.now)))
    return [f"{names.get(d.pid, d.pid)} in {d.settlement}, due {shown_date(d.due)}" for d in late]


def approval(tx: Writer, sid: str, by: Actor = None) -> dict[str, Any]:
    """A draft with every line of it, beside what the same people got in the settlement before."""
    reading = tx.verified()
    known = tx.state.settlements
    found = known.expect(sid, "drafted")
    _require_second_person(
        tx, kinds.APPROVED, by, found.by, "drafted this settlement; a second person must approve it"
    )
    replaced = known.get(found.supersedes) if found.supersedes else None
    if replaced and replaced.state == "reversed":
        raise ConflictError(f"settlement {replaced.id} was replaced by another since; draft it anew")
    made = read_manifest(reading.document, found)
    # The settlement that it replaces, or the last that was posted.
    posted = [one for one in known.found.values() if one.state == "posted" and one.currency == found.currency]
    before = max(((one == replaced, one.entries[1], one.id) for one in posted), default=(0, 0, None))[2]
    got = {pid: tx.state.credits.net(before, pid) for pid in tx.state.credits.of(before)} if before else {}
    names, given = shown_names(tx.ledger, reading), contributor_amounts(made)
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
    return {
        "step": kinds.APPROVED, "settlement": sid, "manifest": found.manifest,
        "run": made["run"].get("record_sha256") or made["run"]["samples_sha256"],
        "currency": found.currency, "pool": found.pool, "rate": made["rate"], "rules": made["rules"],
        "project": found.project, "drafted_by": found.by, "window_days": found.window_days,
        "accepted": found.accepted, "disputed": made.get("disputed"), "supersedes": found.supersedes,
        "replaced": replaced and [replaced.pool, replaced.currency],
        "debts": {names.get(pid, pid): amount for pid, amount in _released(tx.state, replaced).items()},
        "before": before, "gone": {names.get(pid, pid): amount for pid, amount in sorted(got.items())
                                   if found.supersedes == before and pid not in given},
        "overlaps": overlaps(known, found), "late": _late_answers(tx, names),
        "lines": sorted(lines, key=lambda line: -line["amount"]),
    }  # fmt: skip


def _released(state: State, replaced: Settlement | None) -> dict[str, int]:
    """Micro-units of a replaced settlement that left it already: each becomes a debt of who got it."""
    if replaced is None:
        return {}
    held = state.balances.of_kind("held:", replaced.currency, replaced.id)
    left = state.credits.left(replaced.id).items()
    return {pid: amount - held.get(pid, 0) for pid, amount in left if amount > held.get(pid, 0)}


def _proposal_to_sign(tx: Writer, number: int, by: Actor) -> dict[str, Any]:
    """A proposal as it would be carried out, with bank details as they are and as they would be."""
    found, names = tx.state.proposals.open(number), shown_names(tx.ledger, tx.verified())
    said = "proposed this; a second person must confirm it"
    _require_second_person(tx, found.body["step"], by, found.by, said)
    return proposal(tx.reading, tx.ledger, found, names)


def proposal(
    where: sa.Connection | LedgerReader, ledger: Ledger, p: Event, names: Mapping[str, str]
) -> dict[str, Any]:
    """A proposal with what it says of people, as far as the ledger's keys are at hand."""
    step, body = p.body["step"], p.body["body"]
    connection, known = (where.connection, where.state) if isinstance(where, LedgerReader) else (where, where)
    agreed = load_component(Payees, known).paper.get(p.subject, "") if step == kinds.PAYEE_SET else ""
    details, old = (
        people.read_values(connection, ledger.keys, p.subject, paper) if ledger.keys else {}
        for paper in (p.body["paper"], agreed)
    )

    def person(pid: str) -> str:
        accounts = people.profile(where, ledger.keys, pid).get("accounts", []) if ledger.keys else []
        return f"{names.get(pid, pid)} ({', '.join([*accounts, pid])})"

    return {
        "proposal": p.seq,
        "step": step,
        "subject": p.subject,
        "body": body,
        "name": names.get(p.subject, p.subject),
        # The person behind a name: two people may have one name, so place and identifier are shown.
        "person": person(p.subject),
        "into": person(body["into"]) if step == kinds.MERGED else "",
        "details": details,
        "until_now": old,
        "settlement": p.settlement,
        "by": p.by,
        "at": p.at,
        "currency": load_component(Settlements, known).get(p.settlement).currency if p.settlement else "",
        "open": open_matters(known, p.subject) if step == kinds.ERASED and isinstance(known, State) else [],
    }


def open_matters(state: State, pid: str) -> list[str]:
    """Describe all that is open with a contributor: money in either direction, an appeal, a reversal."""

    def in_words(amounts: dict[str, int]) -> str:
        return " and ".join(f"{format_amount(micro)} {currency}" for currency, micro in amounts.items())

    owed, owes = outstanding_amounts(state, pid), debts(state, pid)
    matters = [f"{in_words(owed)} owed to them"] * bool(owed) + [f"{in_words(owes)} owed by them"] * bool(
        owes
    )
    return matters + open_requests(state, pid)


def resolution(tx: Writer, sid: str, pid: str, by: Actor = None) -> dict[str, Any]:
    """A dispute with its answer, and the correction that would be posted."""
    reading = tx.verified()
    found = tx.state.settlements.get(sid)
    asked = tx.state.disputes.open(sid, pid)
    if asked.answer is None:
        raise ConflictError(f"the dispute of {pid} in {sid} has no answer yet; it is answered first")
    for first, said, rule in (
        (asked.answer.by, "answered", second_person),
        (asked.by, "opened", require_different_people),
    ):
        _require_second_person(
            tx, kinds.RESOLVED, by, first, f"{said} this dispute; a second person must resolve it", rule
        )
    papers = {"asked": asked.paper, "answered": asked.answer_paper}
    words = people.read_texts(tx.connection, tx.ring, [(pid, paper) for paper in papers.values()])
    return {
        "step": kinds.RESOLVED, "settlement": sid, "contributor": pid,
        "name": shown_names(tx.ledger, reading).get(pid, pid), "reason": asked.reason, "opened_by": asked.by,
        "written_by": "" if asked.key else asked.written_by,
        "words": {side: words[paper] for side, paper in papers.items()},
        "answer": asked.answer._asdict(), "currency": found.currency,
        "held": tx.state.balances.get(f"held:{pid}", found.currency, sid),
    }  # fmt: skip


def retry_payments(tx: Writer, batch: str, pids: Sequence[str], by: Actor) -> dict[str, Any]:
    """Payments of a batch that would be paid again."""
    names, found = shown_names(tx.ledger, tx.verified()), tx.state.payouts.get(batch)
    said = "made this batch; a second person must record what came back"
    _require_second_person(tx, kinds.CLOSED, by, found.by, said, require_different_people)
    chosen = [item for item in found.payments if item.pid in pids]
    return {
        "step": kinds.FAILED, "batch": batch, "currency": found.currency, "made_by": found.by,
        "payments": [{"contributor": item.pid, "name": names.get(item.pid, item.pid), "amount": item.amount,
                      "state": item.state} for item in chosen],
    }  # fmt: skip


def overlaps(known: Settlements, found: Settlement) -> list[str]:
    """Warn about other settlements that contain rows of this one, estimated from a hash sample."""
    made = []
    for other in known.found.values():
        open_ = other.state in ("drafted", "posted") and other.id not in (found.id, found.supersedes)
        if open_ and found.id != other.supersedes and (share := other.overlap(found.marks)):
            where = f"settlement {other.id} too, which is {other.state}"
            twice = "they would be paid twice unless it is superseded"
            made.append(f"about {max(share, 0.01):.0%} of these rows are in {where}: {twice}")
    return made


def agreed_terms(ledger: Ledger) -> dict[int, dict[str, Any]]:
    """Return the terms that hold now, by the number of their entry."""
    known = ledger.listed(AgreedTerms)
    return {number: known.agreed[number] for number in sorted(known.latest.values())}


def agreed_policy(ledger: Ledger) -> Policy:
    """Return the policy of the only agreed terms, or the default one."""
    listed = list(agreed_terms(ledger).values())
    return parse_terms(listed[0]).policy if len(listed) == 1 else Policy()
