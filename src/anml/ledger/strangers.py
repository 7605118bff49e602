"""What lies in a database beside a ledger's own tables and could answer in their place."""

import re
from collections.abc import Iterator
from functools import lru_cache

import sqlalchemy as sa
from sqlalchemy.schema import CreateIndex, CreateTable

from anml.ledger.schema import GUARD, event, guard_names, metadata


def strangers(connection: sa.Connection) -> Iterator[str]:
    """What stands beside, or in the place of, a ledger's tables, and could answer for them."""
    yield from (_strange_sqlite if connection.dialect.name == "sqlite" else _strange_postgres)(connection)


# What SQLite makes of a line of its schema is decided by the text alone, whatever kind it calls itself.
_HARMLESS = re.compile(r"create (table|view|index|unique index|virtual table) ", re.IGNORECASE)


def _strange_sqlite(connection: sa.Connection) -> Iterator[str]:
    own = _texts(connection.dialect)
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


@lru_cache(maxsize=2)
def _texts(dialect: sa.Dialect) -> dict[str, str]:
    """What makes the tables, indexes and guards of a ledger, by their names."""
    made = guard_names(dialect.name)
    for table in metadata.sorted_tables:
        made[table.name] = str(CreateTable(table).compile(dialect=dialect))
        made |= {str(index.name): str(CreateIndex(index).compile(dialect=dialect)) for index in table.indexes}
    return {name: _squeezed(text) for name, text in made.items()}


def _squeezed(sql: str) -> str:
    """A statement without blanks and quotes around names, which differ between versions."""
    return re.sub(r'[\s"]+', "", sql)


# Everything that could change what a query of these tables answers: what kind of thing, and its name.
_BESIDE = """
SELECT t.name, 'relation of kind ' || c.relkind::text, c.relname::text FROM own t
  JOIN pg_catalog.pg_class c ON c.oid = t.oid LEFT JOIN pg_catalog.pg_am m ON m.oid = c.relam
  WHERE c.relkind <> 'r' OR c.relpersistence <> 'p' OR m.amname <> 'heap'
UNION ALL SELECT t.name, 'row security', c.relname::text FROM own t
  JOIN pg_catalog.pg_class c ON c.oid = t.oid WHERE c.relrowsecurity OR c.relforcerowsecurity
UNION ALL SELECT t.name, 'schema', n.nspname::text FROM own t JOIN pg_catalog.pg_class c ON c.oid = t.oid
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname <> pg_catalog.current_schema()
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
    AND f.prosrc = :guard
    AND f.pronamespace = (SELECT relnamespace FROM pg_catalog.pg_class WHERE oid = t.oid))
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
    tables = metadata.sorted_tables
    indexes = {f"{table.name}_pkey": list(table.primary_key.columns) for table in tables}
    indexes |= {str(index.name): list(index.columns) for table in tables for index in table.indexes}
    indexes["event_key_key"] = [event.c.key]
    head = (
        "WITH own AS (SELECT name, pg_catalog.to_regclass(name)::oid AS oid "
        "FROM pg_catalog.unnest(CAST(:names AS text[])) AS name) "
    )
    values = {
        "refers": "FOREIGN KEY (seq) REFERENCES event(seq)",
        "guard": GUARD,
        "names": [table.name for table in tables],
        "indexes": [f"{name} btree ({', '.join(c.name for c in own)})" for name, own in indexes.items()],
        "columns": [
            f"{table.name}.{column.name} {column.type.compile(connection.dialect).lower()}"
            for table in tables
            for column in table.columns
        ],
    }
    query = sa.text((head + _BESIDE).replace("::", "\\:\\:"))
    for table, what, name in connection.execute(query, values).all():
        yield f"the {what} {name} of {table} is none of the ledger's"
