"""Connections to SQLite and PostgreSQL, with the settings that make an acknowledged write stay written."""

import random
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError, DBAPIError

from anml.core.errors import InputError, IntegrityError, UnsupportedError, os_error_message
from anml.core.extras import require_extra
from anml.ledger.schema import head

T = TypeVar("T")
RETRIES = 20
SQLITE_MAGIC = b"SQLite format 3\x00"
# PostgreSQL: serialisation failure, deadlock, lock not available.
_RETRY_STATES = {"40001", "40P01", "55P03"}
# How many of these tables, as this connection finds them, its role owns.
_OWNED = (
    "SELECT count(*) FROM unnest(CAST(:names AS text[])) AS name "
    "JOIN pg_class ON pg_class.oid = to_regclass(name) WHERE pg_has_role(relowner, 'USAGE')"
)


def ledger_url(text: str) -> sa.URL:
    """Read a database URL; a plain path is a SQLite file."""
    if "://" not in text:
        return sa.URL.create("sqlite", database=text)
    try:
        url = sa.make_url(text)
    except (ArgumentError, ValueError):
        raise InputError(f"a ledger is a SQLite file or a PostgreSQL URL, got {text!r}") from None
    name = url.get_backend_name()
    if name not in ("sqlite", "postgresql"):
        raise UnsupportedError(f"a ledger lives in SQLite or PostgreSQL, got {name!r}")
    return url.set(drivername="postgresql+psycopg") if url.drivername in ("postgresql", "postgres") else url


def connect(url: sa.URL) -> sa.Engine:
    """An engine for this URL; SQLite and PostgreSQL behave alike from here on."""
    if url.get_backend_name() == "sqlite":
        engine = sa.create_engine(url, connect_args={"timeout": 30})
        sa.event.listen(engine, "connect", _sqlite_settings)
        sa.event.listen(engine, "begin", _sqlite_begin)
        return engine
    require_extra(url.get_driver_name(), "postgres", "PostgreSQL")
    # Texts are texts, whatever the server says of a role.
    told = {"client_encoding": "utf8"}
    return sa.create_engine(url, isolation_level="SERIALIZABLE", pool_pre_ping=True, connect_args=told)


@contextmanager
def database_error(url: sa.URL) -> Iterator[None]:
    """A database that does not answer, or holds something else, as one sentence."""
    try:
        yield
    except DBAPIError as error:
        reason = " ".join(str(error.orig).split())
        raise InputError(f"the ledger at {url.render_as_string()} cannot be used: {reason}") from None
    except UnicodeDecodeError:
        # Of a damaged file even SQLite's own message may be no text.
        raise InputError(f"the ledger at {url.render_as_string()} cannot be used: it is damaged") from None


def check_file(path: Path, *, may_be_empty: bool = False) -> None:
    """Refuse a file that is no SQLite database, before SQLite touches it."""
    with os_error_message(f"the ledger {path} cannot be opened"):
        if path.is_dir():
            raise InputError(f"a ledger is a SQLite file or a PostgreSQL URL, got the folder {path}")
        if not path.absolute().parent.is_dir():
            raise InputError(f"a ledger cannot be made at {path}: there is no folder {path.parent}")
        if not path.exists():
            return
        with path.open("rb") as file:
            start = file.read(len(SQLITE_MAGIC))
    if start != SQLITE_MAGIC and (start or not may_be_empty):
        raise InputError(f"{path} is not a ledger: it is no SQLite file")


def run_transaction(engine: sa.Engine, work: Callable[[sa.Connection], T]) -> T:
    """Run `work` as one writer at a time; run it again where the database asks for that."""
    for attempt in range(RETRIES):
        try:
            with engine.begin() as connection:
                if engine.dialect.name == "postgresql":
                    # Taken before the first read, so that the snapshot already shows the last writer's rows;
                    # on the one table that every writer may update, so that no more rights are needed.
                    connection.exec_driver_sql(f"LOCK TABLE {head.name} IN EXCLUSIVE MODE")
                    # A role may be told otherwise, and an acknowledged write be lost.
                    connection.exec_driver_sql("SET LOCAL synchronous_commit = on")
                return work(connection)
        except DBAPIError as error:
            locked = isinstance(error.orig, sqlite3.OperationalError) and "locked" in str(error.orig)
            again = locked or getattr(error.orig, "sqlstate", None) in _RETRY_STATES
            if attempt + 1 == RETRIES or not again:
                raise
            # Spread the retries of several writers; this decides waiting only, never a result.
            time.sleep(random.uniform(0, 0.01 * 2 ** min(attempt, 6)))
    raise AssertionError("unreachable")


def reading(engine: sa.Engine) -> sa.Connection:
    """A connection for a consistent read that does not stop writers."""
    return engine.connect().execution_options(anml_read=True)


def vacuum_deleted(engine: sa.Engine, tables: tuple[sa.Table, ...]) -> list[str]:
    """Remove deleted rows from the files themselves, after an erasure; returns what was out of reach."""
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        if engine.dialect.name == "sqlite":
            return _scrub_sqlite(connection)
        names = [table.name for table in tables]
        if connection.scalar(sa.text(_OWNED), {"names": names}) != len(names):
            theirs = f"their owner runs VACUUM FULL {', '.join(names)}"
            return [f"the server's files: this role does not own the tables; {theirs}"]
        for name in names:
            connection.exec_driver_sql(f"VACUUM FULL {name}")
    return []


def _scrub_sqlite(connection: sa.Connection) -> list[str]:
    def emptied() -> bool:
        return not connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").one()[0]

    # A reader may stay for hours: it is said rather than waited for.
    connection.exec_driver_sql("PRAGMA busy_timeout = 1000")
    try:
        emptied()
        connection.exec_driver_sql("VACUUM")
        done = emptied()
    except DBAPIError:
        done = False
    finally:
        connection.exec_driver_sql("PRAGMA busy_timeout = 30000")
    return [] if done else ["the write-ahead log: somebody reads the ledger; erase again when they are done"]


def sqlite_path(url: sa.URL) -> Path | None:
    """The file of a SQLite ledger; None for a server."""
    return Path(url.database) if url.get_backend_name() == "sqlite" and url.database else None


def _sqlite_settings(raw: sqlite3.Connection, _: Any) -> None:
    # SQLAlchemy begins and ends transactions itself, below, as BEGIN IMMEDIATE.
    raw.isolation_level = None
    cursor = raw.cursor()
    # With synchronous = NORMAL a power failure may lose acknowledged commits.
    for setting in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON", "secure_delete = ON"):
        cursor.execute(f"PRAGMA {setting}")
    if cursor.execute("PRAGMA synchronous").fetchone()[0] != 2:
        raise IntegrityError("SQLite does not run with synchronous = FULL here; a commit could be lost")
    cursor.close()


def _sqlite_begin(connection: sa.Connection) -> None:
    # A reader needs no lock; a writer takes it at the start, not half-way through.
    options = connection.get_execution_options()
    if options.get("anml_read") or options.get("isolation_level") != "AUTOCOMMIT":
        connection.exec_driver_sql("BEGIN" if options.get("anml_read") else "BEGIN IMMEDIATE")
