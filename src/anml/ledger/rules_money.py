"""Rules of money: what each step of a settlement, a dispute or a payout moves, and when it may.

source:pool -> funding:<settlement> -> held:<contributor> -> payable:<contributor>
            -> clearing:<batch> -> paid:<contributor>
"""

import re
from typing import TYPE_CHECKING, Any

from anml.core import manifest
from anml.core.checks import one_of
from anml.core.errors import ConflictError, InputError, IntegrityError
from anml.core.money import check_currency, minor_unit
from anml.core.signals.track_record import DAY
from anml.ledger import kinds
from anml.ledger.log import Event, Posting
from anml.ledger.money_parts import Disputes, Payouts, Settlement, Settlements
from anml.ledger.parts import Payees
from anml.ledger.rules_staff import confirmed, second_person
from anml.ledger.state import POOL, Owed
from anml.ledger.times import seconds, shown_date

if TYPE_CHECKING:
    from anml.ledger.state import State

LONGEST_WINDOW = 3_650
LONGEST_REASON = 500
REASONS = ("wrong-count", "wrong-weight", "wrong-evidence", "wrong-reputation", "duplicate", "fraud", "other")
OUTCOMES = ("upheld", "rejected")
ANSWERS = (
    "as-computed", "count-corrected", "weight-corrected", "evidence-corrected", "reputation-corrected",
    "not-shown", "other",
)  # fmt: skip


def load_manifest(state: "State", found: Settlement) -> dict[str, Any]:
    """The manifest of a settlement; one that does not match what is on record is refused."""
    body = state.documents(found.manifest)
    if body is None:
        raise IntegrityError(
            f"the manifest {found.manifest[:16]} is missing or was changed; nothing may be paid on it"
        )
    made = manifest.read(body)
    run = made["run"]
    said = (
        made["pool"],
        made["currency"],
        manifest.head_digest(made),
        run["rows_sha256"],
        run["samples_sha256"],
    )
    if said != (found.pool, found.currency, found.head, found.rows, found.run):
        raise IntegrityError(f"the manifest of {found.id} is for another pool or another run")
    return made


def _drafted(state: "State", e: Event) -> list[Posting]:
    body = e.body
    check_currency(body["currency"])
    if body["pool"] <= 0:
        raise InputError(f"a pool is more than 0, got {body['pool']} micro-units")
    if not 0 <= body["window_days"] <= LONGEST_WINDOW:
        raise InputError(f"a dispute window has 0 to {LONGEST_WINDOW} days, got {body['window_days']}")
    known = state.part(Settlements)
    if e.subject in known.found:
        raise ConflictError(f"there is a settlement {e.subject} already")
    for other in known.found.values():
        same = body["rows"] == other.rows or body["run"] == other.run
        if same and other.state in ("drafted", "posted") and other.id != body["supersedes"]:
            raise ConflictError(
                f"this run is {other.state} as settlement {other.id}, by its rows; supersede that one"
            )
    if body["supersedes"] is not None and known.get(body["supersedes"]).state == "drafted":
        raise ConflictError(f"settlement {body['supersedes']} is withdrawn first")
    made = load_manifest(state, Settlement(id=e.subject, state="", posted=None, by=e.by, **body))
    people = state.people
    for line in made["contributors"]:
        if people.resolve(line["pid"]) != line["pid"] or line["pid"] not in people.since:
            raise IntegrityError(f"the manifest pays {line['pid']!r}, who is nobody on record")
    return []


def _withdrawn(state: "State", e: Event) -> list[Posting]:
    state.part(Settlements).expect(e.subject, "drafted")
    return []


def _approved(state: "State", e: Event) -> list[Posting]:
    sid = e.subject
    found = state.part(Settlements).expect(sid, "drafted")
    if (e.body["manifest"], e.body["head"], e.settlement) != (found.manifest, found.head, sid):
        raise IntegrityError("it approves another manifest than the draft's")
    second_person(state, found.by, e, "drafted this settlement; a second person must approve it")
    if found.supersedes and state.part(Settlements).get(found.supersedes).state == "posted":
        raise IntegrityError(f"settlement {found.supersedes}, which it replaces, still stands")
    if any(one.settlement != found.supersedes for one in state.open):
        raise IntegrityError(f"it reverses something other than settlement {found.supersedes}")
    credits = manifest.credits(load_manifest(state, found))
    rest = found.pool - sum(amount for amount, _ in credits.values())
    if rest < 0:
        raise IntegrityError(f"credits do not fit a pool of {found.pool}")
    state.owed = Owed(sid, found.currency, credits, rest) if credits or rest else None
    return _move(POOL, f"funding:{sid}", found.currency, found.pool)


def _credited(state: "State", e: Event) -> list[Posting]:
    owed = state.owed
    if owed is None or e.settlement != owed.sid or e.subject not in owed.credits:
        raise IntegrityError(f"no approval owes {e.subject} this credit")
    amount, facts = owed.credits[e.subject]
    if e.body != facts:
        raise IntegrityError("the credit does not follow from the manifest")
    del owed.credits[e.subject]
    if not owed.credits and not owed.rest:
        state.owed = None
    return _move(f"funding:{owed.sid}", f"held:{e.subject}", owed.currency, amount)


def _unallocated(state: "State", e: Event) -> list[Posting]:
    owed = state.owed
    if owed is None or owed.credits or e.settlement != owed.sid or e.subject != owed.sid:
        raise IntegrityError("there is nothing to give back to the pool")
    state.owed = None
    return _move(f"funding:{owed.sid}", POOL, owed.currency, owed.rest)


def _reversed_all(state: "State", e: Event) -> list[Posting]:
    found = state.part(Settlements).expect(e.subject, "posted")
    if state.credits.left(found.id):
        raise IntegrityError(f"credits of settlement {found.id} still stand")
    by = state.part(Settlements).get(e.body["superseded_by"])
    if (by.supersedes, by.state, e.settlement) != (found.id, "drafted", found.id):
        raise IntegrityError(f"settlement {by.id} does not replace {found.id}")
    return []


def _released(state: "State", e: Event) -> list[Posting]:
    sid, pid = e.settlement, e.subject
    found = state.part(Settlements).expect(sid, "posted")
    if seconds(e.at) < found.window_end:
        raise ConflictError(
            f"the dispute window of settlement {sid} is open until {shown_date(found.window_end)}"
        )
    if pid in state.part(Disputes).waiting(sid):
        raise ConflictError(f"contributor {pid} has an open dispute in {sid}")
    facts, amount = state.credits.facts(sid, pid), state.balances.get(f"held:{pid}", found.currency, sid)
    if facts is None or amount <= 0:
        raise IntegrityError(f"nothing is held for {pid} in {sid}")
    back = returned(facts, e.body["r"], amount)
    payable = f"payable:{state.people.resolve(pid)}"
    return [
        Posting(f"held:{pid}", found.currency, -amount),
        Posting(payable, found.currency, amount - back),
        Posting(POOL, found.currency, back),
    ]


def returned(facts: dict[str, Any], now: int, amount: int) -> int:
    """What of a newcomer's amount goes back to the pool, by the reputation reached since."""
    then: int = facts["r"]
    if not facts["newcomer"] or not facts["by_r"] or now >= then:
        return 0
    return amount - amount * max(now, 0) // then


def _released_all(state: "State", e: Event) -> list[Posting]:
    if e.subject != e.settlement or any(one.settlement != e.subject for one in state.open):
        raise IntegrityError("it releases what another settlement holds")
    return []


def _reversed(state: "State", e: Event) -> list[Posting]:
    sid, pid, amount = e.settlement, e.subject, e.body["amount"]
    one_of("reason", e.body["reason"], REASONS)
    found = state.part(Settlements).expect(sid, "posted")
    left = state.credits.net(sid, pid)
    if not 0 < amount <= left:
        raise ConflictError(f"1 to {left} micro-units of {pid} in {sid} can be reversed, got {amount}")
    if e.by:
        confirmed(state, e)
    from_held = min(amount, state.balances.get(f"held:{pid}", found.currency, sid))
    return [
        Posting(f"held:{pid}", found.currency, -from_held),
        Posting(f"payable:{state.people.resolve(pid)}", found.currency, from_held - amount),
        Posting(POOL, found.currency, amount),
    ]


def _opened(state: "State", e: Event) -> list[Posting]:
    sid, pid = e.settlement, e.subject
    one_of("reason", e.body["reason"], REASONS)
    one_of("opener of a dispute", e.body["opener"], ("contributor", "staff"))
    found = state.part(Settlements).expect(sid, "posted")
    if state.credits.facts(sid, pid) is None:
        raise InputError(f"contributor {pid} has no credit in settlement {sid}")
    if seconds(e.at) >= found.window_end:
        ended = shown_date(found.window_end)
        raise ConflictError(
            f"the dispute window of settlement {sid} ended on {ended}; what is wrong can still be "
            "corrected by a reversal or by a settlement that supersedes it"
        )
    if pid in state.part(Disputes).waiting(sid):
        raise ConflictError(f"contributor {pid} has an open dispute in {sid} already")
    return []


def _answered(state: "State", e: Event) -> list[Posting]:
    one_of("outcome", e.body["outcome"], OUTCOMES)
    one_of("reason of an answer", e.body["reason"], ANSWERS)
    if e.body["correction"] and e.body["outcome"] != "upheld":
        raise InputError("only a dispute that is upheld can change an amount")
    found = state.part(Settlements).expect(e.settlement, "posted")
    current = state.part(Disputes).open(e.settlement, e.subject)
    second_person(state, current.by, e, "opened this dispute; another person must answer it")
    check_bound(state, found, e.subject, e.body["correction"])
    return []


def _resolved(state: "State", e: Event) -> list[Posting]:
    sid, pid, correction = e.settlement, e.subject, e.body["correction"]
    found = state.part(Settlements).expect(sid, "posted")
    current = state.part(Disputes).open(sid, pid)
    if current.answer is None:
        raise ConflictError(f"the dispute of {pid} in {sid} has no answer yet; it is answered first")
    second_person(state, current.answer.by, e, "answered this dispute; a second person must resolve it")
    second_person(state, current.by, e, "opened this dispute; a second person must resolve it")
    if correction != current.answer.correction:
        raise IntegrityError(f"the answer says a correction of {current.answer.correction}, not {correction}")
    check_bound(state, found, pid, correction)
    return _move(POOL, f"held:{pid}", found.currency, correction)


def check_bound(state: "State", found: Settlement, pid: str, correction: int) -> None:
    """A correction takes no more than is held, and all of them together add no more than the pool was."""
    held = state.balances.get(f"held:{pid}", found.currency, found.id)
    if held + correction < 0:
        raise ConflictError(f"the correction {correction} is more than what is held in {found.id}")
    most = found.pool - state.part(Disputes).added.get(found.id, 0)
    if correction > most:
        raise ConflictError(
            f"a correction in {found.id} adds at most {most} micro-units: all of them together add no more "
            f"than its pool of {found.pool}, got {correction}"
        )


def _sent(state: "State", e: Event) -> list[Posting]:
    pid, amount, batch = e.subject, e.body["amount"], e.body["batch"]
    currency = e.key.rpartition("/")[2]
    state.people.require(pid)
    if batch in state.part(Payouts).heads or e.key != f"payout/{batch}/{pid}/{currency}":
        raise IntegrityError(f"the payment belongs to no batch {batch} that is being made")
    if amount <= 0 or amount % minor_unit(currency):
        raise IntegrityError(f"no bank can move {amount} micro-units of {currency}")
    # The profile can be changed by whoever holds the keys; what two people signed cannot.
    if e.body["paper"] != state.part(Payees).paper.get(pid, ""):
        raise IntegrityError(f"it does not pay {pid} under the bank details that two people agreed on")
    changed = state.part(Payees).changed.get(pid)
    free = seconds(changed) + state.staff.payee_wait_days * DAY if changed else 0.0
    if seconds(e.at) < free:
        raise ConflictError(f"the bank details of {pid} are new; they can be paid from {shown_date(free)}")
    return _move(f"payable:{pid}", f"clearing:{batch}", currency, amount)


def _batched(state: "State", e: Event) -> list[Posting]:
    batch, currency = e.subject, check_currency(e.body["currency"])
    if not re.fullmatch(r"[A-Za-z0-9-]{1,20}", batch):
        raise InputError(f"a batch is named by 1 to 20 letters, digits or hyphens, got {batch!r}")
    if batch in state.part(Payouts).heads:
        raise ConflictError(f"there is a batch {batch} already")
    if not state.open:
        raise ConflictError(f"nothing can be paid in {currency}: nothing is released and not yet paid")
    for one in state.open:
        if one.body["batch"] != batch or one.postings[0].currency != currency:
            raise IntegrityError(f"entry {one.seq} is of another batch or currency")
    return []


def _closed(state: "State", e: Event) -> list[Posting]:
    if any(one.body["batch"] != e.subject for one in state.open):
        raise IntegrityError("it closes payments of another batch")
    return []


def _settled(state: "State", e: Event) -> list[Posting]:
    """A payment that was paid, or came back."""
    batch, pid = e.body["batch"], e.subject
    known = state.part(Payouts)
    payment = known.payments.get(batch, {}).get(pid)
    if payment is None or batch not in known.heads:
        raise InputError(f"batch {batch} has no payment to {pid!r}")
    if payment.state != "sent" or payment.amount != e.body["amount"]:
        raise ConflictError(
            f"the payment to {pid} in {batch} is {payment.state} already, or of another amount"
        )
    target = f"paid:{pid}" if e.kind == kinds.PAID else f"payable:{state.people.resolve(pid)}"
    return _move(f"clearing:{batch}", target, known.heads[batch][0], payment.amount)


def _move(source: str, target: str, currency: str, amount: int) -> list[Posting]:
    return [Posting(source, currency, -amount), Posting(target, currency, amount)]


MONEY_RULES = {
    kinds.DRAFTED: _drafted,
    kinds.WITHDRAWN: _withdrawn,
    kinds.APPROVED: _approved,
    kinds.CREDITED: _credited,
    kinds.UNALLOCATED: _unallocated,
    kinds.REVERSED_ALL: _reversed_all,
    kinds.RELEASED: _released,
    kinds.RELEASED_ALL: _released_all,
    kinds.REVERSED: _reversed,
    kinds.OPENED: _opened,
    kinds.ANSWERED: _answered,
    kinds.RESOLVED: _resolved,
    kinds.SENT: _sent,
    kinds.BATCHED: _batched,
    kinds.PAID: _settled,
    kinds.FAILED: _settled,
    kinds.CLOSED: _closed,
}
