"""Rules of settlements: what each step moves, to the micro-unit, and when it may."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anml.core.errors import AnmlError, ConflictError, InputError, IntegrityError
from anml.ledger import kinds
from anml.ledger.log import Posting
from anml.ledger.rules_money import MAX_WINDOW_DAYS, REASONS, amount_returned, posting_pair
from anml.ledger.state import POOL
from anml.ledger.state_money import Settlements
from anml.settlement.allocate import UNIT
from ledger.ledger_hand import Hand, line, pid


@pytest.fixture
def hand() -> Hand:
    made = Hand()
    made.register(1, 2, 3)
    return made


TWO = [line(pid(1), 3), line(pid(2), 1)]


def test_money_moves_from_one_account_to_another():
    assert posting_pair("a", "b", "EUR", 5) == [Posting("a", "EUR", -5), Posting("b", "EUR", 5)]


def test_a_whole_way_by_hand(hand):
    """100 are shared 3 to 1: 75 and 25 are held, then payable, then in a batch, then paid."""
    hand.post("s", TWO, 1_000_000)
    assert (hand.held("s", pid(1)), hand.held("s", pid(2))) == (750_000, 250_000)
    assert (hand.balance(POOL), hand.state.balances.get("funding:s", "EUR", "s")) == (-1_000_000, 0)
    hand.days = 15
    hand.release("s", pid(1), pid(2))
    assert (hand.held("s", pid(1)), hand.balance(f"payable:{pid(1)}")) == (0, 750_000)
    hand.pay("b", c1=750_000, c2=250_000)
    assert (hand.balance("clearing:b"), hand.balance(f"payable:{pid(1)}")) == (1_000_000, 0)
    for kind, number in ((kinds.PAID, 1), (kinds.FAILED, 2)):
        amount = {1: 750_000, 2: 250_000}[number]
        hand.add(kind, pid(number), {"batch": "b", "amount": amount})
    hand.add(kinds.CLOSED, "b", {"bank": ""}, by="cat")
    # What came back is payable again.
    assert (hand.balance(f"paid:{pid(1)}"), hand.balance(f"payable:{pid(2)}")) == (750_000, 250_000)
    assert (hand.balance("clearing:b"), hand.balance(POOL)) == (0, -1_000_000)


@settings(max_examples=30)
@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=3).filter(any), st.integers(1, 10**12))
def test_an_approval_gives_out_the_pool_to_the_unit(units, pool):
    hand = Hand(staff=("bob",))
    hand.register(1, 2, 3)
    hand.post("s", [line(pid(n), unit) for n, unit in enumerate(units, start=1)], pool)
    assert sum(hand.held("s", pid(n)) for n in (1, 2, 3)) == pool == -hand.balance(POOL)


def test_what_the_shares_do_not_use_goes_back(hand):
    """Nobody may get more than a quarter: two quarters are given out, and a half goes back."""
    hand.post("s", [line(pid(1), 1), line(pid(2), 1)], 1_000, max_share=UNIT // 4)
    assert (hand.held("s", pid(1)), hand.held("s", pid(2)), hand.balance(POOL)) == (250, 250, -500)
    assert hand.log[-1].kind == kinds.UNALLOCATED


# --- drafts
@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"currency": "euro"},
            "a currency is a code of ISO 4217 such as EUR",
        ),
        ({"pool": 0}, "a pool is more than 0, got 0"),
        ({"pool": -5}, "a pool is more than 0, got -5"),
        ({"window_days": -1}, "a dispute window has 0 to 3650 days, got -1"),
        ({"window_days": MAX_WINDOW_DAYS + 1}, "a dispute window has 0 to 3650 days, got 3651"),
        ({"pool": 101}, "is for another pool or another run"),
        ({"currency": "USD"}, "is for another pool or another run"),
        ({"head": "x"}, "is for another pool or another run"),
        ({"rows": "x"}, "is for another pool or another run"),
        ({"run": "x"}, "is for another pool or another run"),
        ({"manifest": "0" * 64}, "is missing or was changed; nothing may be paid on it"),
        ({"supersedes": "none"}, "there is no settlement 'none'"),
    ],
)
def test_drafts_that_are_refused(hand, changes, said):
    with pytest.raises(AnmlError, match=said):
        hand.add(kinds.DRAFTED, "s", {**hand.draft_body(TWO, 100), **changes}, by="ann")


def test_a_manifest_pays_only_who_is_on_record(hand):
    with pytest.raises(IntegrityError, match=f"the manifest pays '{pid(9)}', who is nobody on record"):
        hand.draft("s", [line(pid(9), 1)], 100)
    hand.by_two(kinds.MERGED, pid(1), {"into": pid(2)})
    with pytest.raises(IntegrityError, match="who is nobody on record"):
        hand.draft("s", TWO, 100)


def test_a_run_is_settled_once_unless_it_replaces_the_settlement(hand):
    hand.draft("s", TWO, 100)
    with pytest.raises(ConflictError, match="there is a settlement s already"):
        hand.draft("s", TWO, 100)
    with pytest.raises(ConflictError, match="this run is drafted as settlement s, by its rows; supersede"):
        hand.draft("t", TWO, 200)
    with pytest.raises(ConflictError, match="settlement s is withdrawn first"):
        hand.draft("t", TWO, 200, supersedes="s")
    hand.add(kinds.WITHDRAWN, "s", {"superseded_by": None}, by="ann")
    hand.draft("t", TWO, 200)


def test_a_manifest_that_was_changed_after_the_draft_pays_nothing(hand):
    hand.draft("s", TWO, 100)
    hand.documents.clear()
    with pytest.raises(IntegrityError, match="is missing or was changed"):
        hand.approve("s")


# --- approvals
def test_who_drafted_does_not_approve(hand):
    hand.draft("s", TWO, 100, by="cat")
    with pytest.raises(ConflictError, match="'cat' drafted this settlement; a second person must approve it"):
        hand.approve("s", by="cat")
    hand.approve("s", by="bob")
    with pytest.raises(ConflictError, match="settlement s is posted; this step needs it to be drafted"):
        hand.approve("s", by="bob")


@pytest.mark.parametrize("field", ["manifest", "head"])
def test_an_approval_is_of_the_draft_that_is_there(hand, field):
    hand.draft("s", TWO, 100)
    found = hand.state.part(Settlements).get("s")
    body = {"manifest": found.manifest, "head": found.head, field: "x"}
    with pytest.raises(IntegrityError, match="it approves another manifest than the draft's"):
        hand.add(kinds.APPROVED, "s", body, settlement="s", by="bob")


def owing(hand: Hand) -> dict:
    """Approved, with no credit written yet; returns the facts that are owed."""
    hand.draft("s", TWO, 100, max_share=UNIT // 4)
    found = hand.state.part(Settlements).get("s")
    body = {"manifest": found.manifest, "head": found.head}
    hand.add(kinds.APPROVED, "s", body, settlement="s", by="bob")
    return {who: facts for who, (_, facts) in hand.state.owed.credits.items()}


def test_credits_are_those_of_the_manifest_each_once(hand):
    facts = owing(hand)
    for who, changes, sid, said in (
        (pid(3), {}, "s", "no approval owes"),
        (pid(1), {}, "t", "no approval owes"),
        (pid(1), {"share": UNIT}, "s", "does not follow from the manifest"),
        (pid(1), {"units": 99}, "s", "does not follow from the manifest"),
    ):
        with pytest.raises(IntegrityError, match=said):
            hand.add(kinds.CREDITED, who, {**facts[pid(1)], **changes}, settlement=sid)
    hand.add(kinds.CREDITED, pid(1), facts[pid(1)], settlement="s")
    with pytest.raises(IntegrityError, match="no approval owes"):
        hand.add(kinds.CREDITED, pid(1), facts[pid(1)], settlement="s")


def test_the_rest_goes_back_when_everybody_was_credited(hand):
    facts = owing(hand)
    with pytest.raises(IntegrityError, match="there is nothing to give back to the pool"):
        hand.add(kinds.UNALLOCATED, "s", {}, settlement="s")
    for who in (pid(1), pid(2)):
        hand.add(kinds.CREDITED, who, facts[who], settlement="s")
    hand.add(kinds.UNALLOCATED, "s", {}, settlement="s")
    assert hand.balance(POOL) == -50
    with pytest.raises(IntegrityError, match="there is nothing to give back"):
        hand.add(kinds.UNALLOCATED, "s", {}, settlement="s")


# --- releases
def test_nothing_is_released_before_the_window_is_over(hand):
    hand.post("s", TWO, 100)
    hand.days = 13.99
    with pytest.raises(
        ConflictError, match=r"the dispute window of settlement s is open until 2026-01-15 00"
    ):
        hand.release("s", pid(1))
    hand.days = 14
    hand.release("s", pid(1))


def test_a_release_needs_something_held_and_happens_once(hand):
    hand.post("s", TWO, 100)
    hand.days = 15
    with pytest.raises(IntegrityError, match=f"nothing is held for {pid(3)} in s"):
        hand.release("s", pid(3))
    hand.release("s", pid(1))
    with pytest.raises(IntegrityError, match=f"nothing is held for {pid(1)} in s"):
        hand.release("s", pid(1))


def test_a_signature_releases_its_own_settlement_only(hand):
    hand.post("s", TWO, 100)
    hand.post("t", TWO, 100, run="2")
    hand.days = 15
    hand.add(kinds.RELEASED, pid(1), {"r": UNIT}, settlement="s")
    with pytest.raises(IntegrityError, match="it releases what another settlement holds"):
        hand.add(kinds.RELEASED_ALL, "t", {}, settlement="t", by="ann")


FACTS = {"newcomer": True, "by_r": True, "r": UNIT // 2}


def test_what_a_newcomer_gives_back_by_hand():
    """Credited at r = 0.5 and grown to 0.3: three fifths of 100 are paid, and 40 go back."""
    assert amount_returned(FACTS, 3 * UNIT // 10, 100) == 40
    assert amount_returned(FACTS, UNIT // 2, 100) == 0
    assert amount_returned(FACTS, UNIT, 100) == 0
    assert amount_returned(FACTS, 0, 100) == amount_returned(FACTS, -5, 100) == 100
    assert amount_returned({**FACTS, "newcomer": False}, 0, 100) == 0
    assert amount_returned({**FACTS, "by_r": False}, 0, 100) == 0
    # A tenth of 99 is 9.9: the newcomer gets 9, and the pool the rest.
    assert amount_returned({**FACTS, "r": UNIT}, UNIT // 10, 99) == 90


@given(st.integers(1, UNIT), st.integers(0, UNIT), st.integers(0, UNIT), st.integers(0, 10**15))
def test_more_reputation_never_gives_back_more(then, low, more, amount):
    facts = {**FACTS, "r": then}
    less, some = amount_returned(facts, low + more, amount), amount_returned(facts, low, amount)
    assert 0 <= less <= some <= amount


def test_what_goes_back_at_release_is_in_the_books(hand):
    hand.post("s", [line(pid(1), 3, newcomer=True, r=UNIT // 2)], 100)
    hand.days = 15
    hand.release("s", pid(1), r=UNIT // 10)
    assert (hand.balance(f"payable:{pid(1)}"), hand.balance(POOL)) == (20, -20)


# --- reversals
def reverse(hand: Hand, amount: int, who: int = 1, reason: str = "other") -> None:
    body = {"reason": reason, "amount": amount}
    hand.by_two(kinds.REVERSED, pid(who), body, settlement="s")


@pytest.mark.parametrize("reason", REASONS)
def test_an_amount_can_be_taken_back_for_every_reason(hand, reason):
    hand.post("s", TWO, 100)
    reverse(hand, 5, reason=reason)
    assert (hand.held("s", pid(1)), hand.balance(POOL)) == (70, -95)


def test_a_reversal_takes_what_is_held_first_then_what_is_payable_and_then_makes_a_debt(hand):
    hand.post("s", TWO, 1_000_000)
    reverse(hand, 50_000)
    assert hand.held("s", pid(1)) == 700_000
    hand.days = 15
    hand.release("s", pid(1))
    hand.pay("b", c1=700_000)
    reverse(hand, 300_000)
    assert hand.balance(f"payable:{pid(1)}") == -300_000
    # Nothing was pulled back from the bank.
    assert hand.balance("clearing:b") == 700_000


@pytest.mark.parametrize("amount", [0, -1, 76])
def test_no_more_is_reversed_than_was_given(hand, amount):
    hand.post("s", TWO, 100)
    with pytest.raises(ConflictError, match=f"1 to 75 micro-units of {pid(1)} in s can be reversed, got"):
        reverse(hand, amount)


@settings(max_examples=25)
@given(st.lists(st.integers(1, 60), min_size=1, max_size=4))
def test_reversals_together_never_take_more_than_was_given(amounts):
    hand = Hand(staff=("bob",))
    hand.register(1, 2)
    hand.post("s", TWO, 100)
    taken = 0
    for amount in amounts:
        try:
            reverse(hand, amount)
            taken += amount
        except ConflictError:
            assert taken + amount > 75
    assert taken <= 75
    assert hand.held("s", pid(1)) == 75 - taken


# --- one settlement in place of another
def test_a_posted_settlement_is_replaced_as_a_whole(hand):
    hand.post("s", TWO, 100)
    hand.draft("t", [line(pid(1), 1), line(pid(2), 1)], 60, supersedes="s")
    with pytest.raises(IntegrityError, match="settlement s, which it replaces, still stands"):
        hand.approve("t")
    for who, amount in ((pid(1), 75), (pid(2), 25)):
        body = {"reason": "other", "amount": amount, "proposal": 0}
        hand.add(kinds.REVERSED, who, body, settlement="s")
    hand.add(kinds.REVERSED_ALL, "s", {"superseded_by": "t"}, settlement="s")
    hand.approve("t")
    assert (hand.held("t", pid(1)), hand.held("s", pid(1)), hand.balance(POOL)) == (30, 0, -60)
    assert hand.state.part(Settlements).get("s").state == "reversed"


def test_a_settlement_is_not_reversed_while_credits_stand_or_by_a_stranger(hand):
    hand.post("s", TWO, 100)
    hand.draft("t", TWO, 60, run="2")
    with pytest.raises(IntegrityError, match="credits of settlement s still stand"):
        hand.check(kinds.REVERSED_ALL, "s", {"superseded_by": "t"}, settlement="s")
    for who, amount in ((pid(1), 75), (pid(2), 25)):
        hand.add(kinds.REVERSED, who, {"reason": "other", "amount": amount, "proposal": 0}, settlement="s")
    with pytest.raises(IntegrityError, match="settlement t does not replace s"):
        hand.check(kinds.REVERSED_ALL, "s", {"superseded_by": "t"}, settlement="s")


def test_an_approval_signs_for_no_other_reversal(hand):
    """Reversals without a second person are of the settlement that is replaced, and of no other."""
    hand.post("s", TWO, 100)
    hand.draft("t", TWO, 60, run="2")
    hand.add(kinds.REVERSED, pid(1), {"reason": "other", "amount": 75, "proposal": 0}, settlement="s")
    with pytest.raises(IntegrityError, match="it reverses something other than settlement None"):
        hand.approve("t")


def test_only_drafts_are_withdrawn(hand):
    hand.draft("s", TWO, 100)
    hand.add(kinds.WITHDRAWN, "s", {"superseded_by": None}, by="ann")
    for step in (lambda: hand.add(kinds.WITHDRAWN, "s", {"superseded_by": None}, by="ann"),
                 lambda: hand.approve("s")):  # fmt: skip
        with pytest.raises(ConflictError, match="settlement s is withdrawn"):
            step()
    with pytest.raises(InputError, match="there is no settlement 'x'"):
        hand.add(kinds.WITHDRAWN, "x", {"superseded_by": None}, by="ann")
