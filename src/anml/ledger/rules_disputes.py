"""Rules of disputes: who may open, answer and resolve them, until when, and what they may add."""

from typing import TYPE_CHECKING

from anml.core.checks import one_of
from anml.core.errors import ConflictError, InputError, IntegrityError
from anml.ledger import kinds
from anml.ledger.log import Event, Posting
from anml.ledger.money_parts import Disputes, Settlement, Settlements
from anml.ledger.rules_money import REASONS, move
from anml.ledger.rules_staff import second_person
from anml.ledger.state import POOL
from anml.ledger.times import seconds, shown_date

if TYPE_CHECKING:
    from anml.ledger.state import State

OUTCOMES = ("upheld", "rejected")
ANSWERS = (
    "as-computed", "count-corrected", "weight-corrected", "evidence-corrected", "reputation-corrected",
    "not-shown", "other",
)  # fmt: skip


def _opened(state: "State", e: Event) -> list[Posting]:
    sid, pid = e.settlement, e.subject
    one_of("reason", e.body["reason"], REASONS)
    one_of("opener of a dispute", e.body["opener"], ("contributor", "staff"))
    found = state.part(Settlements).expect(sid, "posted")
    if state.credits.facts(sid, pid) is None:
        raise InputError(f"contributor {pid} has no credit in settlement {sid}")
    state.people.require(pid)
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
    return move(POOL, f"held:{pid}", found.currency, correction)


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


DISPUTE_RULES = {kinds.OPENED: _opened, kinds.ANSWERED: _answered, kinds.RESOLVED: _resolved}
