"""Rules of what follows a settlement, its disputes and payouts; and all rules by kind of entry.

Each says whether an entry may come next, and what money it moves.
"""

import re

from anml.core.canonical import canonical
from anml.core.checks import one_of
from anml.core.errors import ConflictError, InputError, IntegrityError
from anml.ledger import keys, kinds
from anml.ledger.log import Event, Posting, seconds, shown_date
from anml.ledger.money import check_currency, minor_unit
from anml.ledger.rules_money import MONEY_RULES, REASONS, posting_pair
from anml.ledger.rules_people import PEOPLE_RULES
from anml.ledger.rules_staff import STAFF_RULES, require_different_people, second_person
from anml.ledger.state import POOL, Rule, State
from anml.ledger.state_money import Settlement

OUTCOMES = ("upheld", "rejected")
ANSWERS = (
    "as-computed", "count-corrected", "weight-corrected", "evidence-corrected", "reputation-corrected",
    "not-shown", "other",
)  # fmt: skip


def _opened(state: State, e: Event) -> None:
    sid, pid = e.settlement, e.subject
    one_of("reason", e.body["reason"], REASONS)
    one_of("opener of a dispute", e.body["opener"], ("contributor", "staff"))
    found = state.settlements.expect(sid, "posted")
    if state.credits.facts(sid, pid) is None:
        raise InputError(f"contributor {pid} has no credit in settlement {sid}")
    state.people.require(pid)
    until = state.disputes.until(found, pid)
    if seconds(e.at) >= until:
        ended = shown_date(until)
        raise ConflictError(
            f"the dispute window of settlement {sid} ended on {ended}; what is wrong can still be "
            "corrected by a reversal or by a settlement that supersedes it"
        )
    if pid in state.disputes.waiting(sid):
        raise ConflictError(f"contributor {pid} has an open dispute in {sid} already")
    if e.body.get("key") or e.body.get("signed"):
        _check_own_word(state, e)


def appeal_bytes(origin: str, sid: str, pid: str, reason: str, paper: str) -> bytes:
    """Return the bytes that a contributor signs for an appeal; `paper` is the hash of the text."""
    said = {"ledger": origin, "settlement": sid, "contributor": pid, "reason": reason, "paper": paper}
    return b"anml-appeal/1\n" + canonical(said)


def _check_own_word(state: State, e: Event) -> None:
    """An appeal with a signature is that of a key that two people know to be the contributor's own."""
    body, known = e.body, state.keys.known.get(e.body["key"])
    if known is None or state.people.resolve(known.owner) != state.people.resolve(e.subject):
        raise IntegrityError(f"the key {body['key']!r} is not one of contributor {e.subject}")
    if not known.stands(e.at, e.at) or body["opener"] != "contributor":
        raise IntegrityError(f"the key {known.id} does not count for this appeal at {e.at}")
    message = appeal_bytes(state.staff.origin, e.settlement, e.subject, body["reason"], body["paper"])
    if not keys.verify_text(known.public, body["signed"], message):
        raise IntegrityError("the contributor did not sign this appeal")
    before = state.disputes.of(e.settlement, e.subject)
    if state.strict and any(one.key and one.paper == body["paper"] for one in before):
        raise ConflictError("this appeal was taken in before; another one is signed anew")


def _answered(state: State, e: Event) -> None:
    one_of("outcome", e.body["outcome"], OUTCOMES)
    one_of("reason of an answer", e.body["reason"], ANSWERS)
    if e.body["correction"] and e.body["outcome"] != "upheld":
        raise InputError("only a dispute that is upheld can change an amount")
    found = state.settlements.expect(e.settlement, "posted")
    current = state.disputes.open(e.settlement, e.subject)
    require_different_people(state, current.by, e, "opened this dispute; another person must answer it")
    kept = state.disputes.kept.get((e.settlement, e.subject))
    if kept is not None:
        require_different_people(
            state, kept.by, e, "decided that this amount stays held; another person must answer"
        )
    check_bound(state, found, e.subject, e.body["correction"])


def _resolved(state: State, e: Event) -> list[Posting]:
    sid, pid, correction = e.settlement, e.subject, e.body["correction"]
    found = state.settlements.expect(sid, "posted")
    current = state.disputes.open(sid, pid)
    if current.answer is None:
        raise ConflictError(f"the dispute of {pid} in {sid} has no answer yet; it is answered first")
    second_person(state, current.answer.by, e, "answered this dispute; a second person must resolve it")
    require_different_people(state, current.by, e, "opened this dispute; a second person must resolve it")
    if correction != current.answer.correction:
        raise IntegrityError(f"the answer says a correction of {current.answer.correction}, not {correction}")
    check_bound(state, found, pid, correction)
    return posting_pair(POOL, f"held:{pid}", found.currency, correction)


def check_bound(state: State, found: Settlement, pid: str, correction: int) -> None:
    """A correction takes no more than is held, and all of them together add no more than the pool was."""
    if state.balances.get(f"held:{pid}", found.currency, found.id) + correction < 0:
        raise ConflictError(f"the correction {correction} is more than what is held in {found.id}")
    most = found.pool - state.disputes.added.get(found.id, 0)
    if correction > most:
        raise ConflictError(
            f"a correction in {found.id} adds at most {most} micro-units: all of them together add no more "
            f"than its pool of {found.pool}, got {correction}"
        )


def _sent(state: State, e: Event) -> list[Posting]:
    pid, amount, batch = e.subject, e.body["amount"], e.body["batch"]
    currency = e.key.rpartition("/")[2]
    state.people.require(pid)
    if batch in state.payouts.heads or e.key != f"payout/{batch}/{pid}/{currency}":
        raise IntegrityError(f"the payment belongs to no batch {batch} that is being made")
    if amount <= 0 or amount % minor_unit(currency):
        raise IntegrityError(f"no bank can move {amount} micro-units of {currency}")
    # The profile can be changed by whoever holds the keys; what two people signed cannot.
    if e.body["paper"] != state.payees.paper.get(pid, ""):
        raise IntegrityError(f"it does not pay {pid} under the bank details that two people agreed on")
    if state.strict and not e.body["paper"]:
        raise ConflictError(f"two people have agreed on no name or bank details to pay {pid} under")
    free = state.payees.free(pid, state.staff.payee_wait_days)
    if seconds(e.at) < free:
        raise ConflictError(f"the bank details of {pid} are new; they can be paid from {shown_date(free)}")
    return posting_pair(f"payable:{pid}", f"clearing:{batch}", currency, amount)


def _batched(state: State, e: Event) -> None:
    batch, currency = e.subject, check_currency(e.body["currency"])
    if not re.fullmatch(r"[A-Za-z0-9-]{1,20}", batch):
        raise InputError(f"a batch is named by 1 to 20 letters, digits or hyphens, got {batch!r}")
    if batch in state.payouts.heads:
        raise ConflictError(f"there is a batch {batch} already")
    if state.terms.agreed and e.body["threshold"] < (least := state.terms.minimum(currency)):
        raise ConflictError(f"payouts in {currency} start at {least} micro-units by the agreed terms")
    if not state.open:
        raise ConflictError(f"nothing can be paid in {currency}: nothing is released and not yet paid")
    for one in state.open:
        if one.body["batch"] != batch or one.postings[0].currency != currency:
            raise IntegrityError(f"entry {one.seq} is of another batch or currency")
        # Whoever says so of others' batches could pay a friend twice as well.
        for by in state.payouts.came_back.get((one.subject, currency), ()) if state.strict else ():
            require_different_people(
                state, by, e, f"recorded that a payment to {one.subject} came back; another sends it again"
            )


def _closed(state: State, e: Event) -> None:
    batch = state.payouts.get(e.subject)
    if any(one.body["batch"] != e.subject for one in state.open):
        raise IntegrityError("it closes payments of another batch")
    if not state.open:
        raise IntegrityError("it closes no payment")
    # What came back is paid again: whoever says so of their own batch could pay a friend twice.
    back = any(one.kind == kinds.FAILED for one in state.open)
    if not e.body["bank"] and any(one.postings[0].account.startswith("paid:") for one in state.open):
        raise ConflictError("a payment that was paid comes back by the bank's own file only")
    if back or not e.body["bank"]:
        what = "what came back" if back else "without the bank's file what was paid"
        require_different_people(state, batch.by, e, f"made this batch; a second person must record {what}")


def _settled(state: State, e: Event) -> list[Posting]:
    """A payment that was paid, or came back."""
    batch, pid, known = e.body["batch"], e.subject, state.payouts
    found = known.payments.get(batch, {}).get(pid)
    if found is None or batch not in known.heads:
        raise InputError(f"batch {batch} has no payment to {pid!r}")
    # A bank may return a payment days after it booked it.
    returned = (found.state, e.kind) == ("paid", kinds.FAILED)
    if (found.state != "sent" and not returned) or found.amount != e.body["amount"]:
        raise ConflictError(f"the payment to {pid} in {batch} is {found.state} already, or of another amount")
    source = f"paid:{pid}" if returned else f"clearing:{batch}"
    target = f"paid:{pid}" if e.kind == kinds.PAID else f"payable:{state.people.resolve(pid)}"
    return posting_pair(source, target, known.heads[batch][0], found.amount)


AFTER_RULES: dict[str, Rule] = {
    kinds.OPENED: _opened,
    kinds.ANSWERED: _answered,
    kinds.RESOLVED: _resolved,
    kinds.SENT: _sent,
    kinds.BATCHED: _batched,
    kinds.PAID: _settled,
    kinds.FAILED: _settled,
    kinds.CLOSED: _closed,
}
RULES: dict[str, Rule] = {**STAFF_RULES, **PEOPLE_RULES, **MONEY_RULES, **AFTER_RULES}
