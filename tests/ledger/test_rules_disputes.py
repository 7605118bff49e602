"""Rules of disputes: who may open, answer and resolve them, until when, and what they may add."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anml.core.errors import AnmlError, ConflictError, InputError, IntegrityError
from anml.ledger import kinds
from anml.ledger.rules import ANSWERS, OUTCOMES
from anml.ledger.rules_money import REASONS
from anml.ledger.state import POOL
from anml.ledger.state_money import Disputes
from ledger.ledger_hand import Hand, line, pid


@pytest.fixture
def hand() -> Hand:
    """75 and 25 held of a pool of 100, with one person on record who gets nothing."""
    made = Hand()
    made.register(1, 2, 3)
    made.post("s", [line(pid(1), 3), line(pid(2), 1)], 100)
    return made


def begin(hand: Hand, number: int = 1, by: str = "cat", opener: str = "contributor", **changes) -> None:
    body = {"reason": "wrong-count", "opener": opener, "paper": "", "sealed": "", **changes}
    hand.add(kinds.OPENED, pid(number), body, settlement="s", by=by)


def answer(hand: Hand, correction: int = 0, number: int = 1, by: str = "dan", **changes) -> None:
    body = {
        "outcome": "upheld",
        "reason": "other",
        "correction": correction,
        "paper": "",
        "sealed": "",
        **changes,
    }
    hand.add(kinds.ANSWERED, pid(number), body, settlement="s", by=by)


def resolve(hand: Hand, correction: int, number: int = 1, by: str = "eve") -> None:
    hand.add(kinds.RESOLVED, pid(number), {"correction": correction}, settlement="s", by=by)


@pytest.mark.parametrize("reason", REASONS)
def test_a_dispute_can_be_opened_for_every_reason(hand, reason):
    begin(hand, reason=reason)
    assert hand.state.part(Disputes).waiting("s") == {pid(1)}


@pytest.mark.parametrize("reason", ANSWERS)
@pytest.mark.parametrize("outcome", OUTCOMES)
def test_every_outcome_has_every_reason(hand, outcome, reason):
    begin(hand)
    answer(hand, outcome=outcome, reason=reason)
    assert hand.state.part(Disputes).waiting("s") == set()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"reason": "unfair"}, "unknown reason 'unfair'"),
        ({"opener": "friend"}, "unknown opener of a dispute 'friend'; allowed: contributor, staff"),
    ],
)
def test_words_that_are_not_on_the_list(hand, changes, said):
    with pytest.raises(AnmlError, match=said):
        begin(hand, **changes)


def test_only_who_has_a_credit_and_no_open_dispute(hand):
    with pytest.raises(InputError, match=f"contributor {pid(3)} has no credit in settlement s"):
        begin(hand, 3)
    begin(hand)
    with pytest.raises(ConflictError, match=f"contributor {pid(1)} has an open dispute in s already"):
        begin(hand)
    begin(hand, 2)


def test_the_window_ends_to_the_moment(hand):
    hand.days = 13.99
    begin(hand, 1)
    hand.days = 14
    with pytest.raises(ConflictError, match="ended on 2026-01-15 00:00 UTC; what is wrong can still be"):
        begin(hand, 2)
    # An answer has no such end: somebody waits for it.
    answer(hand)


def test_while_it_is_open_only_their_own_amount_waits(hand):
    begin(hand, 1)
    hand.days = 15
    with pytest.raises(ConflictError, match=f"contributor {pid(1)} has an open dispute in s"):
        hand.release("s", pid(1))
    hand.release("s", pid(2))
    answer(hand, outcome="rejected")
    hand.release("s", pid(1))


# --- who answers, who resolves
def test_three_steps_are_taken_by_people_who_did_not_take_the_one_before(hand):
    begin(hand, by="cat", opener="staff")
    with pytest.raises(ConflictError, match="'cat' opened this dispute; another person must answer it"):
        answer(hand, 5, by="cat")
    answer(hand, 5, by="dan")
    with pytest.raises(ConflictError, match="'dan' answered this dispute; a second person must resolve it"):
        resolve(hand, 5, by="dan")
    with pytest.raises(ConflictError, match="'cat' opened this dispute; a second person must resolve it"):
        resolve(hand, 5, by="cat")
    resolve(hand, 5, by="eve")


def test_who_wrote_down_a_contributors_own_dispute_may_answer_it(hand):
    """It is the contributor's dispute, and not theirs."""
    begin(hand, by="cat", opener="contributor")
    assert hand.state.part(Disputes).waiting("s") == {pid(1)}
    answer(hand, by="cat")
    assert hand.state.part(Disputes).waiting("s") == set()


def test_what_was_not_answered_is_not_resolved(hand):
    with pytest.raises(ConflictError, match="has no open dispute in s"):
        answer(hand)
    begin(hand)
    with pytest.raises(ConflictError, match="has no answer yet; it is answered first"):
        resolve(hand, 0)
    answer(hand)
    with pytest.raises(ConflictError, match="has no open dispute in s"):
        resolve(hand, 0)


def test_what_is_resolved_is_what_was_answered(hand):
    begin(hand)
    answer(hand, 5)
    with pytest.raises(IntegrityError, match="the answer says a correction of 5, not 6"):
        resolve(hand, 6)


def test_a_later_answer_stands_in_place_of_one_that_nobody_resolved(hand):
    begin(hand)
    answer(hand, 5)
    answer(hand, 7)
    with pytest.raises(IntegrityError, match="a correction of 7, not 5"):
        resolve(hand, 5)
    resolve(hand, 7)
    assert hand.held("s", pid(1)) == 82


# --- money
@pytest.mark.parametrize(("correction", "held", "pool"), [(20, 95, -120), (-20, 55, -80), (-75, 0, -25)])
def test_a_correction_comes_from_the_pool_or_goes_back_to_it(hand, correction, held, pool):
    begin(hand)
    answer(hand, correction)
    assert (hand.held("s", pid(1)), hand.balance(POOL)) == (75, -100)
    resolve(hand, correction)
    assert (hand.held("s", pid(1)), hand.balance(POOL)) == (held, pool)


def test_a_correction_takes_no_more_than_is_held(hand):
    begin(hand)
    with pytest.raises(ConflictError, match="the correction -76 is more than what is held in s"):
        answer(hand, -76)


def test_only_an_upheld_dispute_changes_an_amount(hand):
    begin(hand)
    with pytest.raises(InputError, match="only a dispute that is upheld can change an amount"):
        answer(hand, 5, outcome="rejected")


def test_all_corrections_together_add_no_more_than_the_pool(hand):
    """100 in all: after 60 for one, 40 are left for the other."""
    begin(hand, 1)
    answer(hand, 60, 1)
    resolve(hand, 60, 1)
    begin(hand, 2)
    with pytest.raises(ConflictError, match="adds at most 40 micro-units: all of them together add no more"):
        answer(hand, 41, 2)
    answer(hand, 40, 2)
    resolve(hand, 40, 2)


@settings(max_examples=25)
@given(st.lists(st.tuples(st.integers(1, 2), st.integers(-90, 90)), max_size=5))
def test_whatever_is_corrected_money_is_conserved_and_bounded(corrections):
    hand = Hand()
    hand.register(1, 2)
    hand.post("s", [line(pid(1), 3), line(pid(2), 1)], 100)
    added = 0
    for number, correction in corrections:
        begin(hand, number)
        try:
            answer(hand, correction, number)
        except ConflictError:
            answer(hand, 0, number, outcome="rejected")
            continue
        if correction:
            resolve(hand, correction, number)
            added += max(correction, 0)
    held = hand.held("s", pid(1)) + hand.held("s", pid(2))
    assert held == -hand.balance(POOL)
    assert added <= 100
    assert min(hand.held("s", pid(1)), hand.held("s", pid(2))) >= 0
