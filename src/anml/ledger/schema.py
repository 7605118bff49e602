"""The tables and their append-only triggers.

`event` is the truth, `posting`, `document` and `head` follow from it; only `person`, `person_key`,
`person_document` and `alias` can be erased.
"""

from typing import Any

import sqlalchemy as sa

from anml.core.errors import InputError, UnsupportedError

Big = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
metadata = sa.MetaData()


def _table(name: str, *columns: sa.schema.SchemaItem) -> sa.Table:
    # STRICT: without it SQLite would quietly store text in a BLOB column, and a hash would change.
    return sa.Table(name, metadata, *columns, sqlite_strict=True)


def _key(name: str, kind: Any = sa.Text, *more: Any) -> sa.Column[Any]:
    return sa.Column(name, kind, *more, primary_key=True, autoincrement=False)


def _column(name: str, kind: Any = sa.Text, *, unique: bool = False) -> sa.Column[Any]:
    return sa.Column(name, kind, nullable=False, unique=unique or None)


Bytes = sa.LargeBinary
meta = _table("meta", _key("name"), _column("value"))
event = _table(
    "event",
    _key("seq", Big),
    _column("kind"),
    _column("key", unique=True),
    _column("subject"),
    _column("at"),
    _column("entry", Bytes),
    _column("hash", Bytes),
    sa.Index("event_subject", "subject", "kind"),
    sa.Index("event_kind", "kind"),
)
posting = _table(
    "posting",
    _key("seq", Big, sa.ForeignKey("event.seq")),
    _key("line", sa.Integer),
    _column("account"),
    _column("currency"),
    _column("amount", Big),
    _column("settlement"),
    sa.Index("posting_account", "account", "currency"),
    sa.Index("posting_settlement", "settlement"),
)
document = _table("document", _key("sha256"), _column("kind"), _column("body", Bytes))
person = _table("person", _key("pid"), _column("sealed", Bytes))
person_key = _table("person_key", _key("pid"), _column("wrapped", Bytes))
person_document = _table("person_document", _key("sha256"), _key("pid"), _column("sealed", Bytes))
alias = _table("alias", _key("handle"), _column("pid"), _column("salt"), sa.Index("alias_pid", "pid"))
head = _table(
    "head", _key("id", sa.Integer), _column("seq", Big), _column("hash", Bytes), _column("sig", Bytes)
)

APPEND_ONLY = ("event", "posting", "document")
ERASABLE = (person, person_key, person_document, alias)

# What refuses changes on PostgreSQL.
APPEND_ONLY_TRIGGER = " BEGIN RAISE EXCEPTION USING MESSAGE = TG_TABLE_NAME || ' is append-only'; END "


def _guards(dialect: str) -> list[str]:
    if dialect == "sqlite":
        return [
            f"CREATE TRIGGER {table}_no_{verb.lower()} BEFORE {verb} ON {table} "
            f"BEGIN SELECT RAISE(ABORT, '{table} is append-only'); END"
            for table in APPEND_ONLY
            for verb in ("UPDATE", "DELETE")
        ]
    refuse = (
        "CREATE OR REPLACE FUNCTION anml_append_only() RETURNS trigger LANGUAGE plpgsql AS "
        f"$${APPEND_ONLY_TRIGGER}$$"
    )
    return [refuse] + [
        f"CREATE TRIGGER {table}_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} "
        "FOR EACH STATEMENT EXECUTE FUNCTION anml_append_only()"
        for table in APPEND_ONLY
    ]


# Schemas 1 to 3 knew neither signatures of staff nor the seal; a log without them cannot be given any.
VERSION = 4


def create_all(connection: sa.Connection) -> None:
    """Make the tables and their guards."""
    metadata.create_all(connection)
    for statement in _guards(connection.dialect.name):
        connection.exec_driver_sql(statement)
    connection.execute(sa.insert(meta).values(name="schema", value=str(VERSION)))


def version(connection: sa.Connection) -> int:
    """The version of the schema in this database; 0 where there is none."""
    if not sa.inspect(connection).has_table("meta"):
        return 0
    if not {"name", "value"} <= {column["name"] for column in sa.inspect(connection).get_columns("meta")}:
        raise InputError("this database has a table meta that is no ledger's; choose another database")
    value = connection.scalar(sa.select(meta.c.value).where(meta.c.name == "schema"))
    if value is not None and not (value.isascii() and value.isdigit() and len(value) < 10):
        raise InputError(f"this database says that its schema is {value[:60]!r}, which is no ledger's")
    return int(value or 0)


def check_version(have: int) -> None:
    """Refuse a ledger of another version."""
    if have > VERSION:
        raise UnsupportedError(f"this ledger has schema {have}, which is newer than this program's {VERSION}")
    if 0 < have < VERSION:
        raise UnsupportedError(
            f"this ledger has schema {have}, without signatures of staff; this program needs {VERSION}, so "
            "keep it for reading with the program that made it, and make a new one"
        )
