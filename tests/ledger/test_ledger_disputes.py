"""Disputes: who may open, answer and resolve them, until when, and what each step does to the money."""

import pytest

from anml.core.errors import AnmlError, ConflictError, InputError
from anml.ledger.book import Answer, answer, open_dispute, resolve
from anml.ledger.pay import statement
from anml.ledger.pay.settle import release_settlement
from anml.ledger.services.verify import check_statement
from anml.ledger.state import POOL, load_component
from anml.ledger.state_money import Disputes
from ledger.ledger_queries import balance, totals
from ledger.ledger_world import World, simple_rows

NO = Answer("rejected", "as-computed", "cat")
MORE = Answer("upheld", "count-corrected", "cat", 2_000_000)


@pytest.fixture
def posted(world):
    """Ann and Ben with five euros each, held."""
    pids = world.establish("ann", "ben")
    return world, world.post(world.run(simple_rows({"ann": 1, "ben": 1})), "10"), pids


def opened(world: World, sid: str, pid: str, **more) -> None:
    world.ledger.write(lambda tx: open_dispute(tx, sid, pid, "wrong-count", "d1", **more))


def answered(world: World, sid: str, pid: str, given: Answer, key: str = "d1") -> None:
    world.ledger.write(lambda tx: answer(tx, sid, pid, given, key))


def resolved(world: World, sid: str, pid: str, by: str = "dan") -> None:
    world.ledger.write(lambda tx: resolve(tx, sid, pid, by, "d1"))


def test_a_dispute_freezes_only_its_own_amount_and_rejected_it_is_released_after_the_window(posted):
    world, sid, pids = posted
    opened(world, sid, pids["ann"])
    world.clock.pass_days(15)
    done = release_settlement(world.ledger, sid)
    assert done.released == {pids["ben"]: 5_000_000}
    assert done.waiting == {pids["ann"]: "a dispute is open"}
    answered(world, sid, pids["ann"], NO)
    assert release_settlement(world.ledger, sid).released == {pids["ann"]: 5_000_000}


def test_rejected_inside_the_window_it_still_waits_for_its_end(posted):
    world, sid, pids = posted
    opened(world, sid, pids["ann"])
    answered(world, sid, pids["ann"], NO)
    assert release_settlement(world.ledger, sid).waiting[pids["ann"]] == "the dispute window is open"


def test_upheld_with_money_it_waits_for_a_second_person(posted):
    world, sid, pids = posted
    opened(world, sid, pids["ann"])
    answered(world, sid, pids["ann"], MORE)
    world.clock.pass_days(15)
    assert release_settlement(world.ledger, sid).waiting == {pids["ann"]: "a dispute is open"}
    with pytest.raises(ConflictError, match="answered this dispute; a second person must resolve it"):
        resolved(world, sid, pids["ann"], "cat")
    resolved(world, sid, pids["ann"])
    assert release_settlement(world.ledger, sid).released == {pids["ann"]: 7_000_000}
    with world.ledger.read() as connection:
        assert balance(connection, POOL, "EUR") == -12_000_000 - 1
        assert totals(connection) == {"EUR": 0}


def test_upheld_without_money_it_is_closed_at_once(posted):
    world, sid, pids = posted
    opened(world, sid, pids["ann"])
    answered(world, sid, pids["ann"], Answer("upheld", "evidence-corrected", "cat"))
    with pytest.raises(ConflictError, match="has no open dispute"):
        resolved(world, sid, pids["ann"])


def test_a_later_answer_replaces_one_that_nobody_resolved(posted):
    world, sid, pids = posted
    opened(world, sid, pids["ann"])
    answered(world, sid, pids["ann"], MORE)
    answered(world, sid, pids["ann"], Answer("upheld", "count-corrected", "dan", -1_000_000), "d2")
    with pytest.raises(ConflictError, match="'dan' answered this dispute"):
        resolved(world, sid, pids["ann"])
    resolved(world, sid, pids["ann"], "cat")
    with world.ledger.read() as connection:
        assert balance(connection, f"held:{pids['ann']}", "EUR", sid) == 4_000_000


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (Answer("maybe", "other", "cat"), "unknown outcome 'maybe'"),
        (Answer("rejected", "because", "cat"), "unknown reason of an answer 'because'"),
        (Answer("rejected", "other", "cat", 1), "only a dispute that is upheld can change an amount"),
        (Answer("upheld", "other", "cat", -5_000_001), "is more than what is held"),
        (Answer("upheld", "other", "eve"), "'eve' opened this dispute; another person must answer it"),
    ],
    ids=["outcome", "reason", "money", "too much", "own"],
)
def test_answers_that_are_refused(posted, given, message):
    world, sid, pids = posted
    opened(world, sid, pids["ann"], by="eve")
    with pytest.raises(AnmlError, match=message):
        answered(world, sid, pids["ann"], given)


def test_after_the_window_it_is_refused_with_the_date(posted):
    world, sid, pids = posted
    world.clock.pass_days(14)
    with pytest.raises(
        ConflictError, match=r"window of settlement s\w+ ended on \d{4}-\d\d-\d\d \d\d:\d\d UTC"
    ):
        opened(world, sid, pids["ann"])


def test_a_repeat_after_the_window_is_still_the_same_dispute(posted):
    world, sid, pids = posted
    opened(world, sid, pids["ann"])
    world.clock.pass_days(20)
    opened(world, sid, pids["ann"])
    with world.ledger.read() as connection:
        assert [found.settlement for found in load_component(Disputes, connection).every] == [sid]


def test_only_those_with_a_credit_and_without_an_open_one_can_dispute(posted):
    world, sid, pids = posted
    with pytest.raises(InputError, match="has no credit in settlement"):
        opened(world, sid, "c" + "9" * 32)
    with pytest.raises(AnmlError, match="unknown reason 'because'"):
        world.ledger.write(lambda tx: open_dispute(tx, sid, pids["ann"], "because", "d2"))
    opened(world, sid, pids["ann"])
    with pytest.raises(ConflictError, match="has an open dispute"):
        world.ledger.write(lambda tx: open_dispute(tx, sid, pids["ann"], "other", "d2"))
    with pytest.raises(ConflictError, match="has no answer yet"):
        resolved(world, sid, pids["ann"])


def test_statements_show_question_and_answer(posted):
    world, sid, pids = posted
    opened(world, sid, pids["ann"])
    ann = pids["ann"]

    def shown():
        return statement.build(world.ledger, sid, [ann])[ann]

    assert shown()["disputes"][0]["state"] == "waits for an answer"
    assert "A dispute is open; the held amount waits." in shown()["reasons"]
    answered(world, sid, ann, MORE)
    assert shown()["disputes"][0]["state"] == "waits for a second person"
    resolved(world, sid, ann)
    (found,) = shown()["disputes"]
    assert (found["reason"], found["outcome"], found["answer"]) == (
        "wrong-count",
        "upheld",
        "count-corrected",
    )
    assert (found["opened_by"], found["answered_by"], found["resolved_by"]) == (ann, "cat", "dan")
    assert (found["state"], found["correction"], shown()["amounts"]["corrected"]) == (
        "closed",
        2_000_000,
        2_000_000,
    )
    assert "A dispute was upheld." in shown()["reasons"]
    assert statement.build(world.ledger, sid, [pids["ben"]])[pids["ben"]]["disputes"] == []
    # A statement with a dispute verifies like any other.
    check_statement(statement.sign(world.ledger, shown()), world.ledger.ring.public)
