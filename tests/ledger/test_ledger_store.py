"""The store itself: schema steps, opening, keys, checkpoints, canonical bytes."""

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

from anml.core.canonical import canonical
from anml.core.errors import InputError, UnsupportedError
from anml.ledger import book, schema, store, two_people
from anml.ledger import personal_data as people
from ledger.ledger_queries import events
from ledger.ledger_world import simple_rows

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


def test_a_clock_that_is_set_back_does_not_turn_the_log_round(world):
    world.register("test", ["a"])
    world.clock.pass_days(-0.005)
    world.register("test", ["b"])
    with world.ledger.read() as connection:
        times = [e.at for e in events(connection)]
    assert times == sorted(times)


def test_a_failing_step_leaves_nothing(world):
    def work(tx):
        people.register(tx, "test", ["a"])
        assert tx.connection.scalar(sa.select(sa.func.count()).select_from(schema.event)) == world.start + 1
        raise RuntimeError("power cut")

    with pytest.raises(RuntimeError):
        world.ledger.write(work)
    with world.ledger.read() as connection:
        assert len(list(events(connection))) == world.start


def test_addresses_never_enter_the_log(world):
    """The log is permanent, so an actor is never named by a personal address."""
    pids = world.establish("ann")
    sid = world.post(world.run(simple_rows({"ann": 1})), "1")
    mail, pid = "eve@example.org", pids["ann"]
    steps = [
        lambda tx: book.propose_reversal(tx, sid, pid, 1, "other", mail),
        lambda tx: book.create_payout_batch(tx, "b", "EUR", mail, 0, {}),
        lambda tx: two_people.propose_key(tx, mail, world.key("x"), None, None, None, None),
        lambda tx: book.approve(tx, sid, mail),
    ]
    for step in steps:
        with pytest.raises(InputError, match=r"not an (e-mail )?address"):
            world.ledger.write(step)
