"""Settlements, disputes and payouts as their entries leave them."""

import pytest

from anml.core.errors import ConflictError, InputError
from anml.ledger import kinds
from anml.ledger.log import seconds
from anml.ledger.state_money import Answer, Dispute, Disputes, Payment, PayoutBatch, Payouts, Settlements
from ledger.ledger_hand import at, event, pid

DAY = 86_400
DRAFT = {
    "manifest": "m", "head": "h", "currency": "EUR", "pool": 100, "run": "r", "rows": "rows",
    "window_days": 14, "supersedes": None, "accepted": None, "project": "p",
}  # fmt: skip


def settlements(*entries) -> Settlements:
    made = Settlements()
    for e in entries:
        made.fold(e)
    return made


def drafted(sid: str = "s", seq: int = 2, **changes):
    return event(kinds.DRAFTED, sid, {**DRAFT, **changes}, seq=seq, by="ann")


def approved(sid: str = "s", seq: int = 3, days: float = 1.0):
    return event(kinds.APPROVED, sid, {}, seq=seq, by="bob", days=days, settlement=sid)


def test_a_draft_becomes_posted_by_its_approval():
    found = settlements(drafted(), approved()).get("s")
    assert (found.state, found.by, found.approved_by, found.posted) == ("posted", "ann", "bob", at(1))
    assert (found.entries, found.pool, found.project) == ((2, 3), 100, "p")
    # Fourteen days after the approval, not after the draft.
    assert found.window_end == seconds(at(15)) == seconds(at(0)) + 15 * DAY


@pytest.mark.parametrize(
    ("kind", "state"), [(kinds.WITHDRAWN, "withdrawn"), (kinds.REVERSED_ALL, "reversed")]
)
def test_other_ends(kind, state):
    made = settlements(drafted(), event(kind, "s", {"superseded_by": "t"}))
    assert made.get("s").state == state
    with pytest.raises(ConflictError, match=f"settlement s is {state}; this step needs it to be drafted"):
        made.expect("s", "drafted")


def test_an_unknown_settlement_is_named():
    with pytest.raises(InputError, match="there is no settlement 'x' in this ledger"):
        settlements().get("x")


def test_settlements_keep_their_order_and_their_own_state():
    made = settlements(drafted("b"), drafted("a", 3), approved("b", 4))
    assert [(sid, found.state) for sid, found in made.found.items()] == [("b", "posted"), ("a", "drafted")]


# --- disputes
def disputes(*entries) -> Disputes:
    made = Disputes()
    for e in entries:
        made.fold(e)
    return made


def opened(who: int = 1, by: str = "cat", opener: str = "contributor", sid: str = "s"):
    body = {"reason": "other", "opener": opener, "paper": "words", "sealed": ""}
    return event(kinds.OPENED, pid(who), body, settlement=sid, by=by)


def answered(who: int = 1, correction: int = 0, by: str = "dan", sid: str = "s"):
    body = {"outcome": "upheld", "reason": "other", "correction": correction, "paper": "why", "sealed": ""}
    return event(kinds.ANSWERED, pid(who), body, settlement=sid, by=by, days=1)


def resolved(who: int = 1, correction: int = 0, sid: str = "s"):
    return event(kinds.RESOLVED, pid(who), {"correction": correction}, settlement=sid, by="eve", days=2)


def test_who_opened_a_dispute_is_the_contributor_or_who_of_the_staff_did():
    """It decides who may answer: nobody answers what they opened."""
    assert disputes(opened()).open("s", pid(1)).by == pid(1)
    assert disputes(opened(opener="staff")).open("s", pid(1)).by == "cat"


def test_words_for_where_a_dispute_stands():
    steps = [opened(), answered(correction=5), resolved(correction=5)]
    states = [disputes(*steps[:n]).found["s"][pid(1)][-1].state for n in (1, 2, 3)]
    assert states == ["waits for an answer", "waits for a second person", "closed"]
    assert disputes(opened(), answered()).found["s"][pid(1)][-1].state == "closed"


def test_only_an_answer_that_moves_no_money_closes_by_itself():
    assert disputes(opened(), answered(correction=0)).waiting("s") == set()
    assert disputes(opened(), answered(correction=-3)).waiting("s") == {pid(1)}
    assert disputes(opened(), answered(correction=3)).waiting("s") == {pid(1)}
    assert disputes(opened(), answered(correction=3), resolved(correction=3)).waiting("s") == set()


def test_disputes_of_other_people_and_settlements_are_their_own():
    made = disputes(opened(1), opened(2), opened(1, sid="t"), answered(1))
    assert made.waiting("s") == {pid(2)}
    assert made.waiting("t") == {pid(1)}
    assert made.waiting("none") == set()


def test_a_second_dispute_comes_after_the_first():
    made = disputes(opened(), answered(), opened())
    own = made.found["s"][pid(1)]
    assert [one.closed for one in own] == [True, False]
    assert made.open("s", pid(1)) == own[1]


def test_what_is_not_open_cannot_be_answered():
    for made in (disputes(), disputes(opened(), answered())):
        with pytest.raises(ConflictError, match=f"contributor {pid(1)} has no open dispute in s"):
            made.open("s", pid(1))


def test_only_what_was_added_counts_against_the_pool():
    """Twelve given and seven taken: twelve were added, for what was taken may not be given twice."""
    made = disputes(opened(1), answered(1, 12), resolved(1, 12), opened(2), answered(2, -7), resolved(2, -7))
    assert made.added == {"s": 12}


def test_an_answer_is_kept_with_who_gave_it():
    found = disputes(opened(), answered(correction=5)).open("s", pid(1))
    assert found.answer == Answer("upheld", "other", "dan", 5)
    assert (found.paper, found.answer_paper, found.answered) == ("words", "why", at(1))
    assert Dispute("p", "", "", "").state == "waits for an answer"


# --- payouts
def payouts(*entries) -> Payouts:
    made = Payouts()
    for e in entries:
        made.fold(e)
    return made


def sent(who: int, amount: int, seq: int, batch: str = "b"):
    return event(kinds.SENT, pid(who), {"batch": batch, "amount": amount, "paper": "p"}, seq=seq)


def ended(kind: str, who: int, batch: str = "b"):
    return event(kind, pid(who), {"batch": batch, "amount": 0})


BATCH = event(kinds.BATCHED, "b", {"currency": "EUR", "threshold": 0}, by="cat", days=2)


def test_a_batch_has_its_payments_in_order_of_contributors():
    made = payouts(sent(2, 30, 5), sent(1, 12, 6), BATCH, ended(kinds.PAID, 1), ended(kinds.FAILED, 2))
    assert made.get("b") == PayoutBatch(
        "b", "EUR", "cat", at(2),
        (Payment(pid(1), 12, "paid", 6, "p"), Payment(pid(2), 30, "failed", 5, "p")),
    )  # fmt: skip
    assert made.get("b").total == 42


def test_payments_without_a_batch_are_none():
    """A payment is counted after its batch was signed."""
    with pytest.raises(InputError, match="there is no payout batch 'b' in this ledger"):
        payouts(sent(1, 10, 5)).get("b")


def test_batches_do_not_mix():
    made = payouts(sent(1, 10, 5), BATCH, sent(1, 20, 7, "c"), ended(kinds.PAID, 1, "c"))
    assert made.get("b").payments == (Payment(pid(1), 10, "sent", 5, "p"),)
