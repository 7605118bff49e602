"""`anml-ledger statement`, `verify` of statements, and `pay`: files, checks by the public key, batches."""

import csv
import json

import pytest


def test_statements_are_written_for_everybody_and_check_with_the_public_key(books, tmp_path, anml_ledger):
    out = tmp_path / "statements"
    found = books.json("statement", "latest", "--by", "ann", "--out", out)
    assert len(found["statements"]) == 3
    rows = list(csv.DictReader((out / "statements.csv").read_text().splitlines()))
    assert {row["contributor"] for row in rows} == {one["contributor"] for one in found["statements"]}
    public = (books.folder / "keys" / "log.pub").read_text().strip()
    for path in sorted(out.glob("*.json")):
        ran = anml_ledger("verify", path, "--public-key", public)
        assert ran.code == 0, ran
    path = sorted(out.glob("*.json"))[0]
    path.write_text(path.read_text().replace('"payload":"', '"payload":"A'))
    ran = anml_ledger("verify", path, "--public-key", public)
    assert ran.code in (1, 2)
    assert "Traceback" not in ran.err


def test_some_contributors_are_chosen_by_name(books):
    found = books.json("statement", books.sid, "--by", "ann", "--contributor", "bea")
    assert [one["contributor"] for one in found["statements"]] == [books.pids["bea"]]
    assert "there is no contributor 'nobody'" in books.refused(
        "statement", books.sid, "--contributor", "nobody"
    )


def test_a_bundle_holds_all_that_an_outsider_needs(books, tmp_path):
    books.json("statement", books.sid, "--by", "ann", "--bundle", tmp_path / "b", "--contributor", "ada")
    (folder,) = (tmp_path / "b").iterdir()
    assert {path.name for path in folder.iterdir()} == {
        "statement.json", "statement.html", "manifest-part.json", "checkpoint.txt", "log.pub", "verify.py",
    }  # fmt: skip
    assert json.loads((folder / "manifest-part.json").read_text())["lines"] == 3


def test_an_unknown_settlement_is_named(books):
    assert "there is no settlement 'none'" in books.refused("statement", "none")


# --- payouts
def pay(books, *more):
    return books.json("pay", "b1", "--currency", "EUR", "--by", "cat", *more)


def test_a_batch_pays_what_was_released_once(books):
    """Ada's six euros; Bea's are held by her dispute, and Cem's because he is new."""
    rehearsed = pay(books, "--dry-run")
    assert (rehearsed["total"], rehearsed["dry_run"]) == (6_000_000, True)
    size = books.size()
    made = pay(books)
    assert [payment["pid"] for payment in made["payments"]] == [books.pids["ada"]]
    assert books.size() == size + 2
    assert pay(books)["payments"] == made["payments"]
    assert books.size() == size + 2


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["b", "--currency", "USD"], "nothing can be paid in USD"),
        (["a b", "--currency", "EUR"], "a batch is named by 1 to 20 letters"),
        (["b"], "to pay, give --currency"),
        ([], "one thing at a time: a batch to make"),
        (["b", "--paid", "c"], "one thing at a time: a batch to make"),
    ],
)
def test_batches_that_are_refused(books, options, said):
    assert said in books.refused("pay", *options, "--by", "cat")
