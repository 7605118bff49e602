"""The store itself: schema steps, opening, keys, checkpoints, canonical bytes."""

import base64
import hashlib
import sqlite3
from datetime import datetime

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

from anml.core.canonical import canonical
from anml.core.errors import AnmlError, ConflictError, InputError, IntegrityError, UnsupportedError
from anml.ledger import (
    book,
    checkpoint,
    disputes,
    evidence,
    keys,
    payouts,
    people,
    schema,
    standing,
    store,
    two_people,
)
from anml.ledger.log import decode, encode, events
from anml.ledger.times import moment, stamp
from ledger.ledger_world import START, simple_rows

plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**100), 2**100) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(plain)
def test_canonical_bytes_read_back_to_the_same_value(value):
    import json

    data = canonical(value)
    assert json.loads(data) == value
    assert canonical(json.loads(data)) == data


@pytest.mark.parametrize("value", [1.5, {"a": float("nan")}, {1: 2}, [b"x"], 2**200, {"a": {1, 2}}])
def test_canonical_refuses_what_two_programs_could_spell_differently(value):
    with pytest.raises(InputError, match="canonical JSON"):
        canonical(value)


VIEWS = {
    "balances",
    "contributors_readable",
    "events_readable",
    "evidence_readable",
    "postings_readable",
    "scores_readable",
    "settlements_readable",
}


@pytest.mark.parametrize(
    ("found", "said"),
    [("99", "schema 99, which is newer"), ("3", "schema 3, without signatures of staff; this program needs"),
     ("abc", "says that its schema is 'abc'"), ("-1", "says that its schema is '-1'")],
)  # fmt: skip
def test_another_schema_is_refused_in_one_sentence(make_world, found, said):
    world = make_world("sqlite")
    with world.ledger.engine.begin() as connection:
        connection.execute(sa.update(schema.meta).where(schema.meta.c.name == "schema").values(value=found))
    with pytest.raises(AnmlError, match=said):
        world.reopen()


def test_all_views_are_there(world):
    with world.ledger.read() as connection:
        assert set(sa.inspect(connection).get_view_names()) == VIEWS


def test_views_for_people(world):
    pid = world.establish("ann")["ann"]
    world.record(evidence.Record("affiliation", pid, "https://lab.example", ""))
    items = ("1", "2", "3", "4")
    world.score(standing.Score(pid, "default", "gold", "b", stamp(START), 750_000_000_000, items, 4))
    with world.ledger.read() as connection:

        def rows(query: str) -> list:
            return [tuple(row) for row in connection.exec_driver_sql(query)]

        money = rows("SELECT kind, currency, amount, micro_units FROM balances ORDER BY kind")
        assert [(kind, currency, amount, int(micro)) for kind, currency, amount, micro in money] == [
            ("funding", "EUR", "0.000000", 0),
            ("held", "EUR", "0.000001", 1),
            ("source", "EUR", "-0.000001", -1),
        ]
        assert rows("SELECT DISTINCT holder FROM balances WHERE kind = 'held'") == [(pid,)]
        assert len(rows("SELECT entry, step, amount FROM postings_readable")) == 4
        assert rows("SELECT contributor, kind, issuer, vouched FROM evidence_readable") == [
            (pid, "affiliation", "https://lab.example", "platform")
        ]
        assert rows("SELECT contributor, source, quality, rows_scored FROM scores_readable") == [
            (pid, "gold", 0.75, 4)
        ]
        ((state, pool),) = rows("SELECT approved, pool FROM settlements_readable")
        assert (state is None, pool) == (False, "0.000001")
        assert [
            tuple(map(int, row[1:]))
            for row in rows(
                "SELECT contributor, evidence, scores, credits, erased FROM contributors_readable"
            )
        ] == [(1, 1, 1, 0)]
        kinds = rows("SELECT kind, body FROM events_readable ORDER BY seq")
    assert kinds[0][0] == "ledger.created"
    assert "test-ledger" in str(kinds[0][1])


def test_the_file_opens_in_any_sqlite_tool_and_tables_are_strict(make_world):
    world = make_world("sqlite")
    world.establish("ann")
    other = sqlite3.connect(f"file:{world.url}?mode=ro", uri=True)
    sql = [text for (text,) in other.execute("SELECT sql FROM sqlite_master WHERE type = 'table'")]
    assert len(sql) == 9
    assert all("STRICT" in text for text in sql)
    assert other.execute("SELECT COUNT(*) FROM events_readable").fetchone()[0] == world.start + 4
    other.close()


@pytest.mark.parametrize("engine", ["sqlite", "postgresql"])
def test_an_empty_database_is_not_a_ledger(engine, tmp_path, request):
    url = str(tmp_path / "none.db")
    if engine == "postgresql":
        url = request.getfixturevalue("postgres_databases")()
    with pytest.raises(InputError, match="there is no ledger at"):
        store.open_ledger(url)


def test_a_server_needs_a_folder_for_keys(monkeypatch, request):
    monkeypatch.delenv("ANML_KEYS", raising=False)
    url = request.getfixturevalue("postgres_databases")()
    with pytest.raises(InputError, match="needs a folder for its keys"):
        store.create(url)


def test_other_databases_are_refused():
    with pytest.raises(UnsupportedError, match="SQLite or PostgreSQL"):
        store.create("mysql://db.example/x")


@pytest.mark.parametrize("origin", ["", "two words", "a+b"])
def test_names_of_ledgers(tmp_path, origin):
    with pytest.raises(InputError, match="no spaces or plus signs"):
        store.create(str(tmp_path / "x.db"), origin=origin)


def test_another_master_key_opens_nothing(make_world):
    world = make_world("sqlite")
    pid = world.establish("ann")["ann"]
    wrong = keys.KeyRing("x", world.ledger.ring.log, bytes(32))
    with world.ledger.read() as connection, pytest.raises(IntegrityError, match="does not open"):
        people.profile(connection, wrong, pid)


def test_keys_are_private_and_never_overwritten(tmp_path):
    path = tmp_path / "k.pem"
    public = keys.create_signer(path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert keys.public_text(keys.read_public(public)) == public
    with pytest.raises(InputError, match="never overwritten"):
        keys.create_signer(path)
    path.write_text("rubbish")
    with pytest.raises(InputError, match="not a readable private key"):
        keys.read_private(path)


def test_checkpoints_are_signed_notes(world):
    with world.ledger.read() as connection:
        note, tree = world.ledger.checkpoint(connection)
    origin, size, root, blank, signature = note.splitlines()
    assert (origin, int(size), base64.b64decode(root), blank) == ("test-ledger", len(tree), tree.root, "")
    dash, name, encoded = signature.split(" ")
    raw = base64.b64decode(encoded)
    public = world.ledger.ring.public
    assert (dash, name) == ("—", "test-ledger")
    assert raw[:4] == hashlib.sha256(b"test-ledger\n\x01" + public).digest()[:4]
    assert keys.verify(public, raw[4:], "\n".join([origin, size, root, ""]).encode())
    assert checkpoint.read(note, public, "test-ledger").size == len(tree)
    with pytest.raises(IntegrityError, match="not of 'other'"):
        checkpoint.read(note, public, "other")
    for wrong in (note.replace(size, "7", 1), note.replace("— ", "- "), "", note.split("\n\n")[0]):
        with pytest.raises(IntegrityError, match="not signed by this ledger's key"):
            checkpoint.read(wrong, public)


def test_a_clock_that_is_set_back_does_not_turn_the_log_round(world):
    world.register("test", ["a"])
    world.clock.pass_days(-5)
    world.register("test", ["b"])
    with world.ledger.read() as connection:
        times = [e.at for e in events(connection)]
    assert times == sorted(times)


def test_entries_read_back(world):
    sid = world.post(world.run(simple_rows({"ann": 1})), "1")
    with world.ledger.read() as connection:
        for e in events(connection):
            assert decode(encode(e), e.hash) == e
        assert book.settlement(connection, sid).state == "posted"


def test_times_need_a_zone():
    with pytest.raises(InputError, match="needs its zone"):
        moment("2026-01-01T00:00:00")
    with pytest.raises(InputError, match="written like"):
        moment("soon")
    with pytest.raises(InputError, match="needs its zone"):
        stamp(datetime(2026, 1, 1))


def test_a_failing_step_leaves_nothing(world):
    def work(tx):
        people.register(tx, world.ledger, "test", ["a"])
        assert tx.connection.scalar(sa.select(sa.func.count()).select_from(schema.event)) == world.start + 1
        raise RuntimeError("power cut")

    with pytest.raises(RuntimeError):
        world.ledger.write(work)
    with world.ledger.read() as connection:
        assert len(list(events(connection))) == world.start


def test_release_keeps_a_frozen_amount_whoever_asks(world):
    """The rule lives in the book itself, not only in the use case above it."""
    pids = world.establish("ann", "ben")
    sid = world.post(world.run(simple_rows({"ann": 1, "ben": 1})), "10")
    world.ledger.write(lambda tx: disputes.open_dispute(tx, sid, pids["ann"], "other", "d"))
    world.clock.pass_days(15)
    everybody = dict.fromkeys(pids.values(), 0)
    made = world.ledger.write(lambda tx: book.release(tx, sid, everybody, "cat"))
    assert [e.subject for e in made] == [pids["ben"]]


def test_erased_people_stay_erased(world):
    pid = world.establish("ann")["ann"]
    people.erase(world.ledger, pid, "request")
    with pytest.raises(ConflictError, match="was erased"):
        people.erase(world.ledger, pid, "request")
    with pytest.raises(AnmlError):
        world.ledger.write(lambda tx: two_people.propose_payee(tx, world.ledger, pid, {"name": "x"}, None))
    # Whoever comes back is somebody new.
    again = world.register("run", ["ann"])["ann"]
    assert again != pid


def test_addresses_never_enter_the_log(world):
    """What is in the log stays for ever, so nobody acts there under a personal address."""
    pids = world.establish("ann")
    sid = world.post(world.run(simple_rows({"ann": 1})), "1")
    mail, pid = "eve@example.org", pids["ann"]
    steps = [
        lambda tx: book.propose_reversal(tx, sid, pid, 1, "other", mail),
        lambda tx: payouts.create(tx, "b", "EUR", mail, 0, {}),
        lambda tx: two_people.propose_key(tx, mail, world.key("x"), None, None, None, None),
        lambda tx: book.approve(tx, sid, mail),
    ]
    for step in steps:
        with pytest.raises(InputError, match=r"not an (e-mail )?address"):
            world.ledger.write(step)
