"""`anml-ledger settle`, `confirm` and `release`: drafts, dry runs, terms, and refusals."""

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
    assert "a second person must approve it" in books.refused("confirm", sid, "--by", "ann")
    assert "named by its number" in books.refused("confirm", "latest", "--by", "bob")
    shown = books("confirm", sid, "--by", "bob")
    assert shown.code == 3
    # Everything that is signed: each line, and how to sign just that.
    for said in ("Ada Lovelace", "bea", "2.50", "50.0000%", "drafted by ann", "Nothing is signed yet"):
        assert said in shown.out
    assert "what would be signed now is" in books.refused("confirm", sid, "--by", "bob", "--yes", "0" * 16)
    assert books.sign("confirm", sid, "--by", "bob")["confirmed"]
    assert books.json("show", "settlements")["settlements"][-1]["state"] == "posted"
    # The window has just begun: nothing is released yet.
    found = books.json("release", sid, "--by", "bob")
    assert json.dumps(found).count("the dispute window is open") == 2


def test_a_draft_is_taken_back_and_cannot_be_approved(books):
    sid = draft(books)["settlement"]
    assert books("confirm", sid, "--drop", "--by", "ann").code == 0
    assert "is withdrawn; this step needs it to be drafted" in books.refused("confirm", sid, "--by", "bob")


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
        (["--pool", "5", "--currency", "EUR", "--source", "run", "--terms", "x"], "name agreed terms"),
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


# --- terms
TERMS = 'name = "monthly"\ncurrency = "EUR"\n'


def agree(books, text: str = TERMS) -> None:
    """Let two people agree on terms."""
    path = books.folder / "terms.toml"
    path.write_text(text)
    asked = books.json("import", path, "--by", "ann")
    assert asked["agreed"] is False
    assert books.sign("confirm", asked["proposal"], "--by", "bob")["confirmed"]


def test_a_draft_follows_the_terms_that_two_people_agreed_on(books):
    agree(books, TERMS + 'weight = "equal"\nwindow_days = 30\nnewcomers = 0.1\npool_limit = 5\n')
    made = books.json("settle", books.run, "--pool", "5", "--source", "run", "--by", "ann")
    assert (made["weight"], made["currency"]) == ("equal", "EUR")
    shown = books("confirm", made["settlement"], "--by", "bob").out
    assert "30 days for disputes" in shown
    assert "newcomer_cap 0.1" in shown
    assert books("confirm", made["settlement"], "--drop", "--by", "ann").code == 0
    for more, message in (
        (["--pool", "5.01"], "a pool is at most 5.000000 EUR by the terms 'monthly'"),
        (["--pool", "5", "--currency", "USD"], "the terms 'monthly' are in EUR, not USD"),
        (["--pool", "5", "--terms", "other"], "name agreed terms with --terms, one of monthly"),
    ):
        assert message in books.refused("settle", books.run, *more, "--source", "run", "--by", "ann")


def test_an_approver_has_a_limit_and_a_payout_a_minimum(books):
    agree(books, TERMS + "minimum_payout = 7\n[approver_limits]\nbob = 4\n")
    made = books.json("settle", books.run, "--pool", "5", "--source", "run", "--by", "ann")
    message = books.refused("confirm", made["settlement"], "--by", "bob", "--yes", "0" * 32)
    assert "what would be signed now is" in message
    digest = json.loads(books("confirm", made["settlement"], "--by", "bob", "--json").out)["digest"]
    message = books.refused("confirm", made["settlement"], "--by", "bob", "--yes", digest)
    assert message == "'bob' approves pools up to 4.00 EUR by the terms 'monthly'"
    assert books.sign("confirm", made["settlement"], "--by", "dan")["confirmed"]
    # Ada's six euros wait for one more.
    assert "below the threshold" in books.refused("pay", "b1", "--currency", "EUR", "--by", "cat")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('currency = "EUR"', "terms need a name"),
        ('name = "x"', "a currency is a code of ISO 4217"),
        (TERMS + "windows = 3", "terms have no setting 'windows'"),
        (TERMS + 'window_days = "3"', "window_days is a whole number"),
        (TERMS + "window_days = 4000", "0 to 3650 days"),
        (TERMS + "newcomers = 2", "newcomer_cap must lie between 0 and 1"),
        (TERMS + 'weight = "guess"', "unknown settlement weight"),
        (TERMS + "pool_limit = -1", "an amount is digits"),
        (TERMS + "unchecked_usage = 1", "unchecked_usage is true or false"),
        (TERMS + "[policy.levels]\nreviewed = 0.99", "v of reviewed must lie in"),
        ("x", "cannot be read"),
    ],
)
def test_terms_that_are_refused(books, text, message):
    path = books.folder / "terms.toml"
    path.write_text(text)
    assert message in books.refused("import", path, "--by", "ann")
