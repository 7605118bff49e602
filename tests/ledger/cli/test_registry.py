"""`anml-ledger init`, `show`, `import` of accounts, `erase`: a ledger made once, and people known by name."""

import json

import pytest


def test_a_ledger_is_made_once_with_its_keys(anml_ledger, tmp_path):
    place = ["--ledger", tmp_path / "new.db", "--by", "ann"]
    ran = anml_ledger("init", *place, "--json")
    assert ran.code == 0, ran
    assert json.loads(ran.out)
    assert (tmp_path / "new.db").is_file()
    assert (tmp_path / "new.db.keys" / "log.pem").stat().st_mode & 0o077 == 0
    again = anml_ledger("init", *place)
    assert again.code == 2
    assert "already" in again.err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--payee-wait-days", "400"], "wait 0 to 365 days, got 400"),
        (["--by", "ann@example.org"], "not an address"),
    ],
)
def test_a_ledger_that_cannot_be_made_leaves_no_file(anml_ledger, tmp_path, options, said):
    by = [] if "--by" in options else ["--by", "ann"]
    ran = anml_ledger("init", "--ledger", tmp_path / "new.db", *options, *by)
    assert ran.code == 2
    assert said in ran.err
    assert not (tmp_path / "new.db").exists()


def test_contributors_are_listed_and_shown_by_name(books):
    found = books.json("show", "contributors")["contributors"]
    assert {one["name"] for one in found} == {"Ada Lovelace", "bea", "cem"}
    one = books.json("show", "ada")
    assert one["contributor"] == books.pids["ada"]
    assert one["profile"]["accounts"] == ["run:ada"]
    assert "there is no contributor 'nobody'" in books.refused("show", "nobody")


def test_accounts_are_mapped_by_two_people(books):
    path = books.folder / "accounts.csv"
    path.write_text("source,account,contributor\npf,ada.l,ada\n")
    assert books("import", path, "--by", "ann").code == 0
    assert books.sign("confirm", *books.waiting(), "--by", "bob")["confirmed"]
    assert books.json("show", "pf:ada.l")["contributor"] == books.pids["ada"]
    path.write_text("source,account,contributor\npf,,bea\n")
    assert "column 'account' is empty in 1 row" in books.refused("import", path, "--by", "ann")


def test_whoever_has_money_open_is_not_erased_by_the_way(books):
    said = books.refused("erase", "ada", "--by", "ann")
    assert "still has 6.00 EUR open; pay or answer first, or erase anyway" in said
