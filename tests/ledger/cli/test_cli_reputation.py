"""`anml-ledger reputation`: shown with intervals, replayed, fed by runs, and trust by graph."""

import pytest

from anml.signals.track_record import ReputationRule


def test_everybody_is_shown_with_an_interval_and_the_rule(books):
    found = books.json("reputation", "show")
    assert found["rule"]["r0"] == ReputationRule().r0
    for person in found["contributors"]:
        low, high = person["r_interval"]
        assert 0 <= low <= person["r"] <= high <= 1
    ran = books("reputation", "show")
    assert "Ada Lovelace" in ran.out


def test_a_replay_ends_at_what_is_shown(books):
    shown = {one["contributor"]: one["r"] for one in books.json("reputation", "show")["contributors"]}
    found = books.json("reputation", "replay", "bea")
    assert (found["contributor"], found["steps"]) == (books.pids["bea"], [])
    assert found["now"]["r"] == pytest.approx(shown[books.pids["bea"]])
    assert "there is no contributor 'nobody'" in books.refused("reputation", "replay", "nobody")


def test_a_run_without_held_out_confidence_says_so(books):
    said = books.refused("reputation", "add", books.run, "--by", "ann")
    assert "the run has no held-out predictions" in said


def test_trust_needs_somebody_who_is_trusted_beforehand(books):
    assert "nobody is trusted beforehand" in books.refused("reputation", "trust")


def test_a_reviewer_is_proposed(books):
    assert books("reputation", "reviewer", "ada", "--by", "ann").code == 0
    (waiting,) = books.json("proposals")["proposals"]
    assert "reviews by" in str(waiting)
