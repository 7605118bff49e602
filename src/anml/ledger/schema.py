"""The tables, the triggers that keep them append-only, and the steps from one version to the next.

`event` is the log and the truth. `posting` repeats the money of its events for sums, `document` keeps
manifests by hash. What is personal lies in `person`, `person_key`, `person_document` and `alias`, is
encrypted or keyed, and is the only part that can be erased.
"""

from collections.abc import Callable

import sqlalchemy as sa

from anml.core.errors import InputError, UnsupportedError
from anml.ledger.views import first_views, money_views

Big = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
metadata = sa.MetaData()


def _table(name: str, *columns: sa.schema.SchemaItem) -> sa.Table:
    # STRICT: without it SQLite would quietly store text in a BLOB column, and a hash would change.
    return sa.Table(name, metadata, *columns, sqlite_strict=True)


meta = _table(
    "meta", sa.Column("name", sa.Text, primary_key=True), sa.Column("value", sa.Text, nullable=False)
)
event = _table(
    "event",
    sa.Column("seq", Big, primary_key=True, autoincrement=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("key", sa.Text, nullable=False, unique=True),
    sa.Column("subject", sa.Text, nullable=False),
    sa.Column("at", sa.Text, nullable=False),
    sa.Column("entry", sa.LargeBinary, nullable=False),
    sa.Column("hash", sa.LargeBinary, nullable=False),
    sa.Index("event_subject", "subject", "kind"),
    sa.Index("event_kind", "kind"),
)
posting = _table(
    "posting",
    sa.Column("seq", Big, sa.ForeignKey("event.seq"), primary_key=True, autoincrement=False),
    sa.Column("line", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("account", sa.Text, nullable=False),
    sa.Column("currency", sa.Text, nullable=False),
    sa.Column("amount", Big, nullable=False),
    sa.Column("settlement", sa.Text, nullable=False),
    sa.Index("posting_account", "account", "currency"),
    sa.Index("posting_settlement", "settlement"),
)
document = _table(
    "document",
    sa.Column("sha256", sa.Text, primary_key=True),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("body", sa.LargeBinary, nullable=False),
)
person = _table(
    "person",
    sa.Column("pid", sa.Text, primary_key=True),
    sa.Column("sealed", sa.LargeBinary, nullable=False),
)
person_key = _table(
    "person_key",
    sa.Column("pid", sa.Text, primary_key=True),
    sa.Column("wrapped", sa.LargeBinary, nullable=False),
)
person_document = _table(
    "person_document",
    sa.Column("sha256", sa.Text, primary_key=True),
    sa.Column("pid", sa.Text, primary_key=True),
    sa.Column("sealed", sa.LargeBinary, nullable=False),
)
alias = _table(
    "alias",
    sa.Column("handle", sa.Text, primary_key=True),
    sa.Column("pid", sa.Text, nullable=False),
    sa.Index("alias_pid", "pid"),
)

APPEND_ONLY = ("event", "posting", "document")
ERASABLE = (person, person_key, person_document, alias)


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
        "$$ BEGIN RAISE EXCEPTION USING MESSAGE = TG_TABLE_NAME || ' is append-only'; END $$"
    )
    return [refuse] + [
        f"CREATE TRIGGER {table}_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} "
        "FOR EACH STATEMENT EXECUTE FUNCTION anml_append_only()"
        for table in APPEND_ONLY
    ]


def _first(connection: sa.Connection) -> None:
    metadata.create_all(connection)
    for statement in _guards(connection.dialect.name):
        connection.exec_driver_sql(statement)


def _second(connection: sa.Connection) -> None:
    _run(connection, first_views(connection.dialect.name))


def _third(connection: sa.Connection) -> None:
    _run(connection, money_views(connection.dialect.name))


def _run(connection: sa.Connection, statements: list[str]) -> None:
    for statement in statements:
        # Text with a per cent sign in it is no template for the driver.
        connection.execute(sa.text(statement.replace(":", "\\:")))


# Each step is run once, in order, inside one transaction; a step that is out is never changed.
MIGRATIONS: tuple[Callable[[sa.Connection], None], ...] = (_first, _second, _third)


def version(connection: sa.Connection) -> int:
    """The version of the schema in this database; 0 where there is none."""
    if not sa.inspect(connection).has_table("meta"):
        return 0
    if not {"name", "value"} <= {column["name"] for column in sa.inspect(connection).get_columns("meta")}:
        raise InputError("this database has a table meta that is no ledger's; choose another database")
    value = connection.scalar(sa.select(meta.c.value).where(meta.c.name == "schema"))
    return int(value or 0)


def migrate(connection: sa.Connection, upto: int = len(MIGRATIONS)) -> int:
    """Bring the schema up to date and return its version; a newer one than ours is refused."""
    found = version(connection)
    if found > len(MIGRATIONS):
        raise UnsupportedError(
            f"this ledger has schema {found}, which is newer than this program's {len(MIGRATIONS)}"
        )
    for step in range(found, upto):
        MIGRATIONS[step](connection)
        connection.execute(sa.delete(meta).where(meta.c.name == "schema"))
        connection.execute(sa.insert(meta).values(name="schema", value=str(step + 1)))
    return max(found, upto)
