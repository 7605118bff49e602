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
    """Make the tables, their guards and the views."""
    metadata.create_all(connection)
    for statement in _guards(connection.dialect.name):
        connection.exec_driver_sql(statement)
    for statement in views(connection.dialect.name):
        # Text with a per cent sign in it is no template for the driver.
        connection.execute(sa.text(statement.replace(":", "\\:")))
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


# Views for people: what Datasette or any SQL prompt shows. The program itself never reads them.
# In braces: values of an entry, and what the engines write in two ways.
_VIEWS = """
CREATE VIEW events_readable AS SELECT seq, at, kind, subject, {by} AS signed_by, {body} AS body FROM event;
CREATE VIEW balances AS SELECT account, {sort} AS kind, {holder} AS holder, currency,
  {total} AS amount, SUM(amount) AS micro_units FROM posting GROUP BY account, currency;
CREATE VIEW postings_readable AS SELECT posting.seq AS entry, event.at, event.kind AS step, {sort} AS kind,
  {holder} AS holder, currency, {amount} AS amount, settlement
  FROM posting JOIN event ON event.seq = posting.seq;
CREATE VIEW evidence_readable AS SELECT seq AS entry, subject AS contributor, {kind} AS kind,
  {issuer} AS issuer, {at} AS at, {until} AS until, {vouched} AS vouched, {scope} AS scope,
  {key} AS signing_key, {paper} AS envelope FROM event WHERE kind = 'evidence.added';
CREATE VIEW scores_readable AS SELECT seq AS entry, subject AS contributor, {domain} AS domain,
  {source} AS source, {at} AS at, CAST({quality} AS DOUBLE PRECISION) / 1e12 AS quality,
  CAST({rows} AS BIGINT) AS rows_scored, {batch} AS batch FROM event WHERE kind = 'reputation.scored';
CREATE VIEW settlements_readable AS SELECT subject AS settlement, at AS drafted, {by} AS drafted_by,
  {currency} AS currency, {pool} AS pool, (SELECT MIN(e.at) FROM event e
    WHERE e.subject = event.subject AND e.kind = 'settlement.approved') AS approved,
  (SELECT MIN(e.at) FROM event e
    WHERE e.subject = event.subject AND e.kind = 'settlement.withdrawn') AS withdrawn,
  (SELECT MIN(e.at) FROM event e
    WHERE e.subject = event.subject AND e.kind = 'settlement.reversed') AS reversed
  FROM event WHERE kind = 'settlement.drafted';
CREATE VIEW contributors_readable AS SELECT subject AS contributor,
  MIN(at) FILTER (WHERE kind = 'contributor.registered') AS since,
  COUNT(*) FILTER (WHERE kind = 'contribution') AS files,
  COUNT(*) FILTER (WHERE kind = 'evidence.added') AS evidence,
  COUNT(*) FILTER (WHERE kind = 'reputation.scored') AS scores,
  COUNT(*) FILTER (WHERE kind = 'credit.held') AS credits,
  COUNT(*) FILTER (WHERE kind = 'dispute.opened') AS disputes,
  COUNT(*) FILTER (WHERE kind = 'contributor.erased') AS erased
  FROM event GROUP BY subject HAVING COUNT(*) FILTER (WHERE kind = 'contributor.registered') > 0
"""
_EVIDENCE_COLUMNS = (
    "kind",
    "issuer",
    "at",
    "until",
    "vouched",
    "scope",
    "key",
    "paper",
    "domain",
    "source",
    "quality",
    "rows",
    "batch",
    "currency",
)


def views(dialect: str) -> list[str]:
    """Money as people write it, and one view for each thing people look for."""
    lite = dialect == "sqlite"

    def value(*path: str) -> str:
        if lite:
            return f"json_extract(CAST(entry AS TEXT), '$.{'.'.join(path)}')"
        return f"(convert_from(entry, 'UTF8')::jsonb #>> '{{{','.join(path)}}}')"

    def money(micro: str) -> str:
        m = f"CAST({micro} AS BIGINT)"
        digits = f"substr(CAST(1000000 + abs({m}) % 1000000 AS TEXT), 2)"
        return f"CASE WHEN {m} < 0 THEN '-' ELSE '' END || (abs({m}) / 1000000) || '.' || {digits}"

    colon = "instr(account, ':')" if lite else "position(':' in account)"
    named = {"by": value("by"), "body": value("body"), "sort": f"substr(account, 1, {colon} - 1)",
             "holder": f"substr(account, {colon} + 1)", "amount": money("amount"),
             "total": money("SUM(amount)"), "pool": money(value("body", "pool"))}  # fmt: skip
    return (
        _VIEWS.format(**named, **{name: value("body", name) for name in _EVIDENCE_COLUMNS})
        .strip()
        .split(";\n")
    )
