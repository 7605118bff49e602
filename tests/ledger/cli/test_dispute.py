"""`anml-ledger appeal`: open, answer and take back; who may, and what is refused."""

import pytest


def test_disputes_are_listed_with_what_was_written(books):
    (found,) = books.json("show", "appeals")["disputes"]
    assert (found["settlement"], found["contributor"], found["text"]) == (
        books.sid, books.pids["bea"], "I did four rows",
    )  # fmt: skip
    ran = books("show", "appeals")
    assert "wrong-count" in ran.out
    assert "bea" in ran.out


def answer(books, *more):
    return books.json("appeal", books.sid, "bea", "--by", "dan", *more)


def test_a_rejected_dispute_is_closed_and_a_repeat_is_the_same_answer(books):
    first = answer(books, "--answer", "rejected", "--reason", "as-computed")
    assert (first["outcome"], first["correction"]) == ("rejected", 0)
    (found,) = books.json("show", "appeals")["disputes"]
    assert (found["state"], found["answered_by"]) == ("closed", "dan")


def test_an_amount_is_corrected_by_two_people(books):
    answer(books, "--answer", "upheld", "--reason", "count-corrected", "--add", "0.50")
    (number,) = books.waiting()
    assert "a second person must resolve it" in books.refused("confirm", number, "--by", "dan")
    assert "0.500000 EUR more, on top of" in books("confirm", number, "--by", "ann").out
    assert books.sign("confirm", number, "--by", "ann")["confirmed"] == [number]
    assert books.waiting() == []
    (found,) = books.json("statement", books.sid, "--by", "ann", "--contributor", "bea")["statements"]
    assert found["amounts"]["corrected"] == 500_000


UPHELD, REJECTED = ["--answer", "upheld"], ["--answer", "rejected"]
OTHER = ["--reason", "other"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--answer", "maybe", *OTHER], "unknown outcome 'maybe'; allowed: upheld, rejected"),
        ([*REJECTED, "--reason", "spite"], "unknown reason of an answer 'spite'"),
        ([*REJECTED, *OTHER, "--add", "1"], "only a dispute that is upheld"),
        ([*UPHELD, *OTHER, "--add", "11"], "adds at most 10000000 micro-units"),
        ([*UPHELD, *OTHER, "--take", "3"], "is more than what is held"),
    ],
)
def test_answers_that_are_refused(books, options, said):
    assert said in books.refused("appeal", books.sid, "bea", "--by", "dan", *options)


def test_a_dispute_after_the_window_is_told_when_it_ended(books):
    said = books.refused("appeal", books.sid, "ada", "--reason", "other", "--by", "cat")
    assert "ended on 2026-02-14" in said


def test_a_reversal_is_proposed_and_confirmed(books):
    asked = books.json("appeal", books.sid, "ada", "--take-back", "1", "--reason", "fraud", "--by", "ann")
    assert (asked["amount"], asked["reversed"]) == (1_000_000, False)
    assert books.sign("confirm", asked["proposal"], "--by", "bob")["confirmed"]
    (found,) = books.json("statement", books.sid, "--by", "ann", "--contributor", "ada")["statements"]
    assert (found["amounts"]["reversed"], found["amounts"]["payable"]) == (1_000_000, 5_000_000)
    said = books.refused("appeal", books.sid, "ada", "--take-back", "9", "--reason", "other", "--by", "ann")
    assert "can be reversed, got 9000000" in said
