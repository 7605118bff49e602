"""Verify the whole ledger: every hash and link, every step by its rules, every table, a kept checkpoint.

And that nothing lies in the database which could answer in the place of the ledger's own tables.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import cache
from typing import NamedTuple

import sqlalchemy as sa

from anml.core.canonical import MerkleTree, sha256
from anml.core.errors import InputError, IntegrityError
from anml.ledger import checkpoint, reading
from anml.ledger.keys import KeyRing
from anml.ledger.log import format_timestamp
from anml.ledger.reading import LedgerReader
from anml.ledger.schema import APPEND_ONLY_TRIGGER, VERSION, create_all, document, event, meta, metadata
from anml.ledger.state import State

MANIFEST = "manifest"
# How far the clocks of two honest machines may lie apart.
MAX_CLOCK_SKEW = timedelta(minutes=10)
# What SQLite makes of a line of its schema is decided by the text alone, whatever kind it calls itself.
_HARMLESS = re.compile(r"create (table|view|index|unique index|virtual table) ", re.IGNORECASE)


class VerificationReport(NamedTuple):
    """Result of a verification against `compared` checkpoints; valid if `problems` is empty."""

    entries: int
    root: bytes
    problems: list[str]
    compared: int = 0


def verify(
    connection: sa.Connection,
    checkpoints: Sequence[checkpoint.Checkpoint] = (),
    public: bytes | None = None,
    now: datetime | None = None,
    ring: KeyRing | None = None,
) -> VerificationReport:
    """Read all once and report every problem; without `public` the key that the log names is taken."""
    found = read_and_verify(connection, public, now, ring=ring)
    for older in () if found.problems and not found.hashes else checkpoints:
        found.problems += checkpoint_problems(older, found.hashes, found.state.staff.origin)
    return VerificationReport(len(found.hashes), MerkleTree(found.hashes).root, found.problems)


@contextmanager
def corruption_errors() -> Iterator[None]:
    """Convert errors from invalid content to input errors, since the file may hold arbitrary data."""
    try:
        yield
    except (UnicodeDecodeError, TypeError) as error:
        said = f"the ledger's file is damaged: it holds what no ledger writes ({error})"
        raise InputError(said) from None


@corruption_errors()
def read_and_verify(
    connection: sa.Connection, public: bytes | None, now: datetime | None, known: LedgerReader | None = None,
    *, own: bool = False, ring: KeyRing | None = None,
) -> LedgerReader:  # fmt: skip
    """The whole ledger, read and verified after what is `known`; with `own` its end is not sealed yet.

    With the `ring` at hand the papers behind evidence are opened too: who signed it, and what it says.
    """
    found = known or LedgerReader(connection)
    found.connection, found.problems = connection, list(unexpected_objects(connection))
    if found.problems:
        # Whatever answers in the place of the ledger's tables is not asked.
        return found
    found.go_on(whole=not own)
    state, problems = found.state, found.problems
    latest = format_timestamp(now + MAX_CLOCK_SKEW) if now is not None else "Z"
    if ahead := [seq for at, seq in found.times if at > latest]:
        problems.append(
            f"entry {ahead[0]} is dated later than it is here: windows and waits would end early; where your "
            "clock is right, mend it with `anml-ledger verify --repair-clock`"
        )
    if known is not None and state.balances.differs(connection):
        problems.append("the postings of earlier entries are no longer those that were read before")
    problems += _table_problems(connection, state)
    trusted, agreed = state.keys.known, state.payees.paper
    problems += reading.table_problems(connection, found.held, state.people.erased, trusted, agreed, ring)
    if own:
        return found
    if public is not None and public != state.staff.public:
        problems.append("the log names another public key than the one you gave: it is another ledger")
    last = (len(found.hashes), found.head)
    key = public or state.staff.public or bytes(32)
    if fault := checkpoint.head_signature_problem(connection, key, state.staff.origin, last):
        problems.append(fault)
    return found


def require_sound(found: LedgerReader, what: str) -> None:
    """An error unless the ledger verifies: nothing is done on top of one that does not."""
    if found.problems:
        more = f" and {len(found.problems) - 1} more" if len(found.problems) > 1 else ""
        raise IntegrityError(f"nothing is {what} a ledger that does not verify: {found.problems[0]}{more}")


def _table_problems(connection: sa.Connection, state: State) -> Iterator[str]:
    said = {row.name: row.value for row in connection.execute(sa.select(meta))}
    if said != {"schema": str(VERSION), "origin": state.staff.origin}:
        yield "the table meta differs from the first entry of the log"
    wanted = {found.manifest for found in state.settlements.found.values()}
    for row in connection.execute(sa.select(document).order_by(document.c.sha256)):
        name = row.sha256
        if sha256(row.body) != name:
            yield f"the document {name[:16]} was changed"
        elif name not in wanted or row.kind != MANIFEST:
            yield f"the document {name[:16]} is of no settlement, or of another kind"


def checkpoint_problems(older: checkpoint.Checkpoint, hashes: list[bytes], origin: str) -> Iterator[str]:
    """In what a log differs from what somebody saw of it before."""
    if older.origin != origin:
        yield f"the checkpoint is of {older.origin!r}, and this ledger is {origin!r}"
    if older.size > len(hashes):
        size = len(hashes)
        yield f"the log has {size} entries, and had {older.size}: its end was cut off, or it is an old copy"
    elif MerkleTree(hashes[: older.size]).root != older.root:
        yield f"the first {older.size} entries are not those that the checkpoint saw"


def unexpected_objects(connection: sa.Connection) -> Iterator[str]:
    """Yield unexpected database objects that are added to, or replace, the tables of a ledger."""
    yield from (_strange_sqlite if connection.dialect.name == "sqlite" else _strange_postgres)(connection)


def _strange_sqlite(connection: sa.Connection) -> Iterator[str]:
    own = _texts()
    objects = connection.exec_driver_sql("SELECT type, name, tbl_name, sql FROM sqlite_master").all()
    found = {name: sql or "" for kind, name, _, sql in objects if kind == "table"}
    for table in metadata.sorted_tables:
        if _squeezed(found.get(table.name, "")) != own[table.name]:
            yield f"{table.name} is no plain table with a ledger's columns"
            continue
        for _, name, _, origin, _ in connection.exec_driver_sql(f"PRAGMA index_list({table.name})"):
            said = {_squeezed(sql or "") for _, each, _, sql in objects if each == name}
            if origin == "c" and said != {own.get(name)}:
                yield f"the index {name} on {table.name} is none of the ledger's"
    for kind, name, table, sql in objects:
        if sql and not _HARMLESS.match(sql) and _squeezed(sql) != own.get(name):
            yield f"the {kind.lower()} {name} on {table} is none of the ledger's"
    checked = connection.exec_driver_sql("PRAGMA integrity_check(3)").scalars().all()
    if list(checked) != ["ok"]:
        yield f"SQLite's own integrity check fails: {checked[0]}"


@cache
def _texts() -> dict[str, str]:
    """Return the SQL of the tables, indexes and triggers of a new ledger, by name, as stored by SQLite."""
    engine = sa.create_engine("sqlite://")
    with engine.begin() as connection:
        create_all(connection)
        made = connection.exec_driver_sql("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL").all()
    engine.dispose()
    return {name: _squeezed(sql) for name, sql in made}


def _squeezed(sql: str) -> str:
    """A statement without blanks and quotes around names, which differ between versions."""
    return re.sub(r'[\s"]+', "", sql)


# Everything that could change what a query of these tables answers: what kind of thing, and its name.
_BESIDE = """
WITH own AS (SELECT name, c.* FROM pg_catalog.unnest(CAST(:names AS text[])) AS name
  JOIN pg_catalog.pg_class c ON c.oid = pg_catalog.to_regclass(name))
SELECT t.name, 'relation of kind ' || t.relkind::text, t.relname::text FROM own t
  LEFT JOIN pg_catalog.pg_am m ON m.oid = t.relam
  WHERE t.relkind <> 'r' OR t.relpersistence <> 'p' OR m.amname <> 'heap'
UNION ALL SELECT t.name, 'row security', t.relname::text FROM own t
  WHERE t.relrowsecurity OR t.relforcerowsecurity
UNION ALL SELECT t.name, 'schema', n.nspname::text FROM own t
  JOIN pg_catalog.pg_namespace n ON n.oid = t.relnamespace WHERE n.nspname <> pg_catalog.current_schema()
UNION ALL SELECT t.name, 'rule', r.rulename::text FROM own t
  JOIN pg_catalog.pg_rewrite r ON r.ev_class = t.oid
UNION ALL SELECT t.name, 'policy', p.polname::text FROM own t
  JOIN pg_catalog.pg_policy p ON p.polrelid = t.oid
UNION ALL SELECT t.name, 'table inherited from or by', i.inhrelid::text FROM own t
  JOIN pg_catalog.pg_inherits i ON t.oid IN (i.inhparent, i.inhrelid)
UNION ALL SELECT t.name, 'column', a.attname::text FROM own t
  JOIN pg_catalog.pg_attribute a ON a.attrelid = t.oid JOIN pg_catalog.pg_type y ON y.oid = a.atttypid
  WHERE a.attnum > 0 AND NOT a.attisdropped AND (a.attgenerated <> '' OR
    a.attidentity <> '' OR a.attcollation <> y.typcollation OR a.atthasdef OR NOT a.attnotnull OR
    t.name || '.' || a.attname || ' ' || pg_catalog.format_type(a.atttypid, a.atttypmod)
      <> ALL (CAST(:columns AS text[])))
UNION ALL SELECT t.name, 'constraint', k.conname::text FROM own t
  JOIN pg_catalog.pg_constraint k ON k.conrelid = t.oid WHERE k.contype NOT IN ('p', 'u', 'n')
    AND pg_catalog.pg_get_constraintdef(k.oid) <> :refers
UNION ALL SELECT t.name, 'trigger', g.tgname::text FROM own t
  JOIN pg_catalog.pg_trigger g ON g.tgrelid = t.oid JOIN pg_catalog.pg_proc f ON f.oid = g.tgfoid
  WHERE NOT (g.tgisinternal AND f.pronamespace = 'pg_catalog'::regnamespace)
    AND NOT (g.tgname = t.name || '_append_only' AND f.proname = 'anml_append_only' AND g.tgtype = 58
    AND f.prosrc = :guard AND f.pronamespace = t.relnamespace)
UNION ALL SELECT t.name, 'index', c.relname::text FROM own t JOIN pg_catalog.pg_index x ON x.indrelid = t.oid
  JOIN pg_catalog.pg_class c ON c.oid = x.indexrelid
  WHERE c.relname || ' ' || pg_catalog.split_part(pg_catalog.pg_get_indexdef(c.oid), ' USING ', 2)
    <> ALL (CAST(:indexes AS text[]))
"""


def _strange_postgres(connection: sa.Connection) -> Iterator[str]:
    # Where other schemas come before the server's own, even "=" may be somebody else's.
    path = list(connection.scalar(sa.text("SELECT pg_catalog.current_schemas(true)")) or [])
    if [name for name in path if not name.startswith("pg_temp")][:1] != ["pg_catalog"]:
        yield f"the search path {', '.join(path)} puts other schemas before the server's own"
        return
    tables, dialect = metadata.sorted_tables, connection.dialect
    columns = [(t.name, c.name, c.type.compile(dialect).lower()) for t in tables for c in t.columns]
    indexes = {f"{table.name}_pkey": list(table.primary_key.columns) for table in tables}
    indexes |= {str(index.name): list(index.columns) for table in tables for index in table.indexes}
    indexes["event_key_key"] = [event.c.key]
    values = {
        "refers": "FOREIGN KEY (seq) REFERENCES event(seq)",
        "guard": APPEND_ONLY_TRIGGER,
        "names": [table.name for table in tables],
        "indexes": [f"{name} btree ({', '.join(c.name for c in own)})" for name, own in indexes.items()],
        "columns": [f"{table}.{name} {kind}" for table, name, kind in columns],
    }
    for table, what, name in connection.execute(sa.text(_BESIDE.replace("::", "\\:\\:")), values).all():
        yield f"the {what} {name} of {table} is none of the ledger's"
