"""Connections: which URLs are taken, files that are no ledger, one writer at a time, and consistent reads."""

import sqlite3
import threading

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, OperationalError

from anml.core.errors import InputError, UnsupportedError
from anml.ledger import engine
from anml.ledger.engine import (
    check_file,
    connect,
    database_error,
    ledger_url,
    reading,
    run_transaction,
    sqlite_path,
    vacuum_deleted,
)


@pytest.fixture
def base(tmp_path):
    made = connect(ledger_url(str(tmp_path / "x.db")))
    with made.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE t (x INTEGER PRIMARY KEY, y TEXT)")
    yield made
    made.dispose()


def rows(made: sa.Engine) -> list:
    with reading(made) as connection, connection.begin():
        return [row[0] for row in connection.exec_driver_sql("SELECT x FROM t ORDER BY x")]


@pytest.mark.parametrize(
    ("text", "driver", "database"),
    [
        ("books.db", "sqlite", "books.db"),
        ("/a/b c.db", "sqlite", "/a/b c.db"),
        ("sqlite:///books.db", "sqlite", "books.db"),
        ("postgresql://db.example/anml", "postgresql+psycopg", "anml"),
        ("postgresql+psycopg://db.example/anml", "postgresql+psycopg", "anml"),
    ],
)
def test_places_that_a_ledger_can_be(text, driver, database):
    found = ledger_url(text)
    assert (found.drivername, found.database) == (driver, database)


@pytest.mark.parametrize("text", ["mysql://db.example/x", "oracle://db.example/x", "mssql://db.example/x"])
def test_other_databases_are_named(text):
    name = text.partition(":")[0]
    with pytest.raises(UnsupportedError, match=f"a ledger lives in SQLite or PostgreSQL, got '{name}'"):
        ledger_url(text)


@pytest.mark.parametrize("text", ["://", "://x", "a b://x"])
def test_what_is_no_url_is_shown(text):
    with pytest.raises(InputError, match="a ledger is a SQLite file or a PostgreSQL URL, got") as error:
        ledger_url(text)
    assert repr(text) in str(error.value)


def test_only_sqlite_has_a_file(tmp_path):
    assert sqlite_path(ledger_url(str(tmp_path / "x.db"))) == tmp_path / "x.db"
    assert sqlite_path(ledger_url("postgresql://db.example/anml")) is None
    assert sqlite_path(ledger_url("sqlite://")) is None


def test_a_file_that_is_no_database_is_refused_before_anybody_touches_it(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("Dear diary")
    with pytest.raises(InputError, match=r"notes.txt is not a ledger: it is no SQLite file"):
        check_file(path)
    assert path.read_text() == "Dear diary"
    assert [one.name for one in tmp_path.iterdir()] == ["notes.txt"]


def test_an_empty_file_may_become_a_ledger_where_one_is_made(tmp_path):
    path = tmp_path / "x.db"
    path.touch()
    check_file(path, may_be_empty=True)
    with pytest.raises(InputError, match="it is no SQLite file"):
        check_file(path)


def test_folders_and_missing_folders_are_named(tmp_path):
    with pytest.raises(InputError, match="got the folder"):
        check_file(tmp_path)
    with pytest.raises(InputError, match=r"there is no folder .*none"):
        check_file(tmp_path / "none" / "x.db")
    check_file(tmp_path / "new.db")


def test_what_a_database_answers_is_one_sentence(tmp_path):
    url = ledger_url("postgresql://ann:secret@db.example/anml")
    with pytest.raises(InputError) as error, database_error(url):
        raise OperationalError("select", {}, Exception("connection\n  refused\t by host"))
    assert "cannot be used: connection refused by host" in str(error.value)
    assert "secret" not in str(error.value)
    assert "\n" not in str(error.value)


def test_an_acknowledged_commit_is_on_the_disk(base):
    """WAL, and a wait for the disk at every commit; references hold and deleted rows are overwritten."""
    with base.connect() as connection:
        found = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "synchronous", "foreign_keys", "secure_delete")
        }
    assert found == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "secure_delete": 1}


def test_a_transaction_is_whole_or_nothing(base):
    def work(connection):
        connection.exec_driver_sql("INSERT INTO t VALUES (1, 'a')")
        raise RuntimeError("power cut")

    with pytest.raises(RuntimeError):
        run_transaction(base, work)
    assert rows(base) == []
    assert run_transaction(base, lambda c: c.exec_driver_sql("INSERT INTO t VALUES (2, 'b')").rowcount) == 1
    assert rows(base) == [2]


def test_a_locked_database_is_tried_again(base):
    tries = []

    def work(connection):
        tries.append(1)
        if len(tries) < 4:
            raise OperationalError("x", {}, sqlite3.OperationalError("database is locked"))
        return "done"

    assert run_transaction(base, work) == "done"
    assert len(tries) == 4


@pytest.mark.parametrize("state", sorted(engine._RETRY_STATES))
def test_a_server_that_asks_for_another_try_gets_it(base, state):
    class Asked(Exception):
        sqlstate = state

    tries = []

    def work(connection):
        tries.append(1)
        if len(tries) == 1:
            raise DBAPIError("x", {}, Asked())
        return len(tries)

    assert run_transaction(base, work) == 2


def test_other_errors_are_not_tried_again(base):
    tries = []

    def work(connection):
        tries.append(1)
        connection.exec_driver_sql("SELECT * FROM elsewhere")

    with pytest.raises(OperationalError, match="no such table"):
        run_transaction(base, work)
    assert len(tries) == 1


def test_a_database_that_stays_locked_is_given_up(base, monkeypatch):
    monkeypatch.setattr(engine.time, "sleep", lambda _: None)
    tries = []

    def work(connection):
        tries.append(1)
        raise OperationalError("x", {}, sqlite3.OperationalError("database is locked"))

    with pytest.raises(OperationalError):
        run_transaction(base, work)
    assert len(tries) == engine.RETRIES


def test_writers_take_turns_and_no_update_is_lost(base):
    run_transaction(base, lambda c: c.exec_driver_sql("INSERT INTO t VALUES (1, '0')"))

    def add(connection):
        value = int(connection.exec_driver_sql("SELECT y FROM t").scalar())
        connection.exec_driver_sql("UPDATE t SET y = ?", (str(value + 1),))

    threads = [
        threading.Thread(target=lambda: [run_transaction(base, add) for _ in range(5)]) for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with reading(base) as connection:
        assert connection.exec_driver_sql("SELECT y FROM t").scalar() == "15"


def test_a_reader_sees_one_moment_and_stops_nobody(base):
    run_transaction(base, lambda c: c.exec_driver_sql("INSERT INTO t VALUES (1, 'a')"))
    with reading(base) as connection, connection.begin():
        assert connection.exec_driver_sql("SELECT count(*) FROM t").scalar() == 1
        run_transaction(base, lambda c: c.exec_driver_sql("INSERT INTO t VALUES (2, 'b')"))
        assert connection.exec_driver_sql("SELECT count(*) FROM t").scalar() == 1
    assert rows(base) == [1, 2]


def test_deleted_rows_leave_the_files(base, tmp_path):
    run_transaction(base, lambda c: c.exec_driver_sql("INSERT INTO t VALUES (1, 'a very personal remark')"))
    run_transaction(base, lambda c: c.exec_driver_sql("DELETE FROM t"))
    assert vacuum_deleted(base, ()) == []
    left = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"a very personal remark" not in left


def test_a_file_whose_damage_is_not_even_text_is_one_sentence(base, tmp_path):
    """SQLite quotes the damaged schema in its message, and Python cannot read that."""
    base.dispose()
    path = tmp_path / "x.db"
    with sqlite3.connect(path) as raw:
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    raw.close()
    data = path.read_bytes()
    assert data.count(b"CREATE TABLE t ") == 1
    path.write_bytes(data.replace(b"CREATE TABLE t ", b"CREATE T\xe7BLE t "))
    place = ledger_url(str(path))
    made = connect(place)
    with pytest.raises(InputError, match="cannot be used: it is damaged"), database_error(place):
        rows(made)
    made.dispose()
