"""`anml-ledger settle`: draft, approve, release, withdraw; dry runs; what is refused in one sentence."""

import json

import pytest

from anml.ledger.money import MINOR_DIGITS


def draft(books, *more):
    return books.json(
        "settle", books.run, "--pool", "5", "--currency", "EUR", "--source", "run", "--by", "ann", *more
    )


def test_a_draft_says_who_would_get_what_and_moves_nothing(books):
    """Two rows each: two and a half euros each."""
    found = draft(books)
    assert found["state"] == "drafted"
    assert found["amounts"] == {books.pids["ada"]: 2_500_000, books.pids["bea"]: 2_500_000}
    assert (found["pool"], found["weight"], found["disputed"]) == (5_000_000, "product", None)


def test_a_dry_run_says_the_same_and_leaves_nothing(books):
    size = books.size()
    rehearsed = draft(books, "--dry-run")
    assert books.size() == size
    done = draft(books)
    assert {**rehearsed, "state": ""} == {**done, "state": ""}


def test_a_second_person_approves_what_they_saw(books):
    sid = draft(books)["settlement"]
    assert "a second person must approve it" in books.refused("settle", "--approve", sid, "--by", "ann")
    assert "name the settlement itself" in books.refused("settle", "--approve", "latest", "--by", "bob")
    shown = books("settle", "--approve", sid, "--by", "bob")
    assert shown.code == 3
    # Everything that is signed: each line, and how to sign just that.
    for said in ("Ada Lovelace", "bea", "2.50", "50.0000%", "drafted by ann", "Nothing is signed yet"):
        assert said in shown.out
    assert "what would be signed now is" in books.refused(
        "settle", "--approve", sid, "--by", "bob", "--yes", "0" * 16
    )
    assert books.sign("settle", "--approve", sid, "--by", "bob")["state"] == "posted"
    # The window has just begun: nothing is released yet.
    found = books.json("settle", "--release", sid, "--by", "bob")
    assert json.dumps(found).count("the dispute window is open") == 2


def test_a_draft_is_taken_back_and_cannot_be_approved(books):
    sid = draft(books)["settlement"]
    assert books("settle", "--withdraw", sid, "--by", "ann").code == 0
    assert "is withdrawn; this step needs it to be drafted" in books.refused(
        "settle", "--approve", sid, "--by", "bob"
    )


def test_the_manifest_is_written_where_it_is_asked_for(books, tmp_path):
    found = draft(books, "--manifest", tmp_path / "m.json")
    made = json.loads((tmp_path / "m.json").read_text())
    assert (made["pool"], made["currency"], len(made["contributors"])) == (5_000_000, "EUR", 2)
    from anml.core.canonical import sha256

    assert sha256((tmp_path / "m.json").read_bytes().rstrip(b"\n")) == found["manifest"]


@pytest.mark.parametrize("currency", ["EUR", *sorted(MINOR_DIGITS)[:3]])
def test_a_pool_may_be_of_any_currency(books, currency):
    found = books.json(
        "settle",
        books.run,
        "--pool",
        "5",
        "--currency",
        currency,
        "--source",
        "run",
        "--by",
        "ann",
        "--dry-run",
    )
    assert (found["currency"], sum(found["amounts"].values())) == (currency, 5_000_000)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--pool", "0", "--currency", "EUR", "--source", "run"], "a pool is more than 0"),
        (
            ["--pool", "-5", "--currency", "EUR", "--source", "run"],
            "an amount is digits with an optional point",
        ),
        (["--pool", "1e9", "--currency", "EUR", "--source", "run"], "an amount is digits"),
        (["--pool", "5", "--currency", "euro"], "a currency is a code of ISO 4217"),
        (["--pool", "5", "--currency", "EUR", "--source", "run", "--volume", "2"], "volume must lie in"),
        (
            ["--pool", "5", "--currency", "EUR", "--source", "run", "--max-share", "2"],
            "must lie between 0 and 1",
        ),
        (
            ["--pool", "5", "--currency", "EUR", "--source", "run", "--weight", "guess"],
            "unknown settlement weight",
        ),
        (
            ["--pool", "5", "--currency", "EUR", "--source", "run", "--window-days", "4000"],
            "has 0 to 3650 days",
        ),
        (["--pool", "5", "--currency", "EUR", "--source", "run", "--multiplier", "none.csv"], "none.csv"),
        (
            ["--pool", "5", "--currency", "EUR", "--source", "run", "--by", "zoe"],
            "'zoe' is not a member of staff",
        ),
    ],
)
def test_drafts_that_are_refused(books, options, said):
    by = [] if "--by" in options else ["--by", "ann"]
    assert said in books.refused("settle", books.run, *options, *by)


def test_in_words_it_names_people_and_amounts(books):
    ran = books(
        "settle", books.run, "--pool", "5", "--currency", "EUR", "--source", "run", "--by", "ann", "--dry-run"
    )
    assert ran.code == 0
    assert "Ada Lovelace" in ran.out
    assert "2.50" in ran.out
