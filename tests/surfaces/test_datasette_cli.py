"""A ledger in the real Datasette, through its in-process client."""

import asyncio
import json
import warnings

import pytest

from anml.app.pay.release import release
from anml.surfaces.datasette_cli import QUERIES, TABLES

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of its own dependencies, as they are imported
    from datasette.app import Datasette


@pytest.fixture(scope="module")
def books(tmp_path_factory):
    """A ledger with money, evidence and a person whose name must not be seen."""
    from anml.ledger import evidence
    from ledger.ledger_world import World, simple_rows

    folder = tmp_path_factory.mktemp("books")
    world = World(str(folder / "books.db"), folder / "keys", folder)
    pids = world.establish("ann", "ben")
    world.pay_to(pids["ann"], {"name": "Ann Hopper"})
    world.record(evidence.Record("affiliation", pids["ann"], "lab", ""))
    sid = world.post(world.run(simple_rows({"ann": 2, "ben": 1})), "30")
    world.clock.pass_days(15)
    release(world.ledger, sid)
    world.ledger.close()
    return folder / "books.db", pids


@pytest.fixture(scope="module")
def get(books):
    from anml.surfaces.datasette_cli import metadata

    path, _ = books
    show = Datasette([str(path)], metadata=metadata("books", "test-ledger"))

    def get(page: str):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return asyncio.run(show.client.get(page, follow_redirects=True))

    return get


def rows(answer) -> list[dict]:
    assert answer.status_code == 200, answer.text[:500]
    return answer.json()["rows"]


def test_the_front_page_shows_what_people_look_for_and_hides_the_rest(get):
    page = get("/books").text
    for name in ("contributors_readable", "balances", "evidence_readable", "owed", "sums"):
        assert f'href="/books/{name}"' in page
    assert 'href="/books/person_key"' not in page
    tables = get("/books.json").json()
    hidden = {table["name"] for table in tables["tables"] if table["hidden"]}
    assert hidden == {"meta", "person", "person_key", "person_document", "alias"}


def test_every_table_and_view_opens_with_its_title(get):
    for name, about in TABLES.items():
        answer = get(f"/books/{name}")
        assert answer.status_code == 200, name
        assert about.get("title", "") in answer.text
    for name, about in QUERIES.items():
        assert about["title"] in get(f"/books/{name}").text


def test_postings_link_to_their_entries(get):
    keys = next(t for t in get("/books.json").json()["tables"] if t["name"] == "posting")["foreign_keys"]
    assert keys["outgoing"] == [{"other_table": "event", "column": "seq", "other_column": "seq"}]
    assert '<a href="/books/event/' in get("/books/posting").text


def test_the_queries_answer(get, books):
    _, pids = books
    owed = rows(get("/books/owed.json?_shape=objects"))
    assert {row["contributor"]: row["payable"] for row in owed} == {
        pids["ann"]: "20.000000",
        pids["ben"]: "10.000000",
    }
    assert rows(get("/books/sums.json?_shape=objects")) == [{"currency": "EUR", "sum_of_all_accounts": 0}]


def test_money_and_evidence_read_as_people_write_them(get, books):
    _, pids = books
    (pool,) = rows(get("/books/balances.json?_shape=objects&kind=source"))
    assert (pool["account"], pool["amount"]) == ("source:pool", "-30.000001")
    (found,) = rows(get("/books/evidence_readable.json?_shape=objects"))
    assert (found["contributor"], found["kind"], found["issuer"]) == (pids["ann"], "affiliation", "lab")


def test_nothing_personal_is_shown(get):
    for name in TABLES:
        assert "Hopper" not in get(f"/books/{name}.json").text


def test_the_command_writes_the_metadata_for_the_file(books, anml, tmp_path):
    path, _ = books
    out = tmp_path / "metadata.json"
    ran = anml("ledger", "datasette", "--ledger", path, "--out", out)
    assert (ran.code, ran.out) == (0, f"Wrote {out}. Next: datasette {path} --metadata {out}\n")
    assert set(json.loads(out.read_text())["databases"]) == {"books"}
    ran = anml("ledger", "datasette", "--ledger", "postgresql://localhost/x")
    assert (ran.code, "Datasette opens SQLite files" in ran.err) == (2, True)
