"""Disputes for the people who answer them."""

from anml.ledger.pay.disputes import list_disputes
from anml.ledger.store import Ledger


def test_disputes_are_listed_with_what_was_written(lived):
    (found,) = list_disputes(lived.ledger)
    assert (found["settlement"], found["contributor"]) == (lived.sid, lived.pids["bea"])
    assert (found["reason"], found["text"], found["state"]) == (
        "wrong-count", "I did four rows", "waits for an answer",
    )  # fmt: skip
    assert (found["opened_by"], found["answer"], found["correction"]) == (lived.pids["bea"], None, 0)
    assert list_disputes(lived.ledger, open_only=True) == [found]
    assert list_disputes(lived.ledger, lived.sid) == [found]
    assert list_disputes(lived.ledger, "another settlement") == []


def test_without_the_keys_the_words_are_not_readable(lived):
    (found,) = list_disputes(Ledger(lived.ledger.engine, None))
    assert found["text"] == ""
