"""The tables: append-only where they must be, strict, and refused where they are another program's."""

import sqlite3

import pytest
import sqlalchemy as sa

from anml.core.errors import AnmlError, InputError, UnsupportedError
from anml.ledger import schema
from anml.ledger.reading import ErasableRows


@pytest.fixture
def base():
    engine = sa.create_engine("sqlite://")
    with engine.begin() as connection:
        schema.create_all(connection)
        yield connection
    engine.dispose()


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


def test_the_file_opens_in_any_sqlite_tool_and_tables_are_strict(make_world):
    world = make_world("sqlite")
    world.establish("ann")
    other = sqlite3.connect(f"file:{world.url}?mode=ro", uri=True)
    sql = [text for (text,) in other.execute("SELECT sql FROM sqlite_master WHERE type = 'table'")]
    assert len(sql) == len(schema.metadata.tables)
    assert all("STRICT" in text for text in sql)
    assert other.execute("SELECT COUNT(*) FROM event").fetchone()[0] == world.start + 6
    other.close()


def row(table: sa.Table) -> dict:
    """One row of any table."""
    return {
        column.name: b"x" if isinstance(column.type, sa.LargeBinary) else 1
        if isinstance(column.type, sa.Integer | sa.BigInteger) else "x"
        for column in table.columns
    }  # fmt: skip


@pytest.mark.parametrize("name", sorted(schema.metadata.tables))
def test_append_only_tables_refuse_and_the_others_take_changes(base, name):
    table = schema.metadata.tables[name]
    if name != "event":
        base.execute(sa.insert(schema.event).values(**row(schema.event)))
    base.execute(sa.insert(table).values(**row(table)))
    column = next(c for c in table.columns if not c.primary_key)
    for change in (sa.update(table).values({column: column}), sa.delete(table)):
        if name in schema.APPEND_ONLY:
            with pytest.raises(sa.exc.DatabaseError, match=f"{name} is append-only"):
                base.execute(change)
        else:
            base.execute(change)


def spelt(value: object) -> str:
    """A value as SQL text, whatever its column wants."""
    if isinstance(value, bytes):
        return f"x'{value.hex()}'"
    return f"'{value}'" if isinstance(value, str) else str(value)


@pytest.mark.parametrize("name", sorted(schema.metadata.tables))
def test_tables_refuse_values_of_another_type_and_gaps(base, name):
    table = schema.metadata.tables[name]
    if name == "posting":
        base.execute(sa.insert(schema.event).values(**row(schema.event)))
    for column in table.columns:
        wrong = b"\xff" if isinstance(column.type, sa.Text) else "x"
        values = map(spelt, {**row(table), column.name: wrong}.values())
        with pytest.raises(sa.exc.DatabaseError):
            base.exec_driver_sql(f"INSERT INTO {name} VALUES ({', '.join(values)})")
        # SQLite gives a single whole number that is the key a value by itself.
        if not (column.primary_key and len(table.primary_key) == 1):
            with pytest.raises(sa.exc.DatabaseError):
                base.execute(sa.insert(table).values(**{**row(table), column.name: None}))


def test_every_table_is_in_one_class():
    """Append-only, erasable, or one of the two small ones that hold the version and the seal."""
    erasable = {table.name for table in schema.ERASABLE}
    assert erasable.isdisjoint(schema.APPEND_ONLY)
    assert erasable | set(schema.APPEND_ONLY) | {"meta", "head"} == set(schema.metadata.tables)
    assert all("pid" in table.columns for table in schema.ERASABLE)


def test_everything_erasable_is_vouched_for_by_the_log():
    """A row that no entry holds a hash of could be changed unseen."""
    assert {"contributor.registered", "payee.set", "account.mapped", "evidence.added"} <= set(
        ErasableRows.KINDS
    )


def test_a_new_database_has_this_version(base):
    assert schema.version(base) == schema.VERSION
    schema.check_version(schema.VERSION)


def test_an_empty_database_has_version_nothing():
    engine = sa.create_engine("sqlite://")
    with engine.connect() as connection:
        assert schema.version(connection) == 0
        connection.execute(sa.text("CREATE TABLE meta (name TEXT, value TEXT)"))
        assert schema.version(connection) == 0
    engine.dispose()


def test_another_programs_table_is_left_alone():
    engine = sa.create_engine("sqlite://")
    with engine.connect() as connection:
        connection.execute(sa.text("CREATE TABLE meta (id INTEGER)"))
        with pytest.raises(InputError, match="a table meta that is no ledger's"):
            schema.version(connection)
    engine.dispose()


@pytest.mark.parametrize("found", [1, 2, 3, schema.VERSION + 1, 1000])
def test_every_other_version_is_refused_and_named(found):
    with pytest.raises(UnsupportedError, match=f"schema {found}"):
        schema.check_version(found)


def test_a_ledger_is_not_made_twice_in_one_database(base):
    with pytest.raises(sa.exc.DatabaseError):
        schema.create_all(base)
