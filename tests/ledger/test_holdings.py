"""Rows that hold what is personal: the log vouches for every one of them, and nothing else lies there."""

import pytest
import sqlalchemy as sa

from anml.ledger import book, kinds, reading, schema
from anml.ledger import personal_data as people
from anml.ledger.state import load_component
from anml.ledger.state_people import Contributors
from ledger.ledger_hand import event
from ledger.ledger_queries import events
from ledger.ledger_world import World, simple_rows


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    folder = tmp_path_factory.mktemp("holdings")
    world = World(str(folder / "ledger.db"), folder / "keys", folder, ("ann", "bob", "cat"))
    world.pids = world.establish("x", "y", "gone")
    world.pay_to(world.pids["x"], {"name": "X", "iban": "DE89370400440532013000"})
    sid = world.post(world.run(simple_rows({"x": 3, "y": 1})), "10")
    said = {"text": "I did more"}
    world.ledger.write(lambda tx: book.open_dispute(tx, sid, world.pids["y"], "wrong-count", "d", **said))
    people.erase(world.ledger, world.pids["gone"], "asked", "ann")
    yield world
    world.ledger.close()


def problems(world: World, change=None) -> list[str]:
    with world.ledger.engine.connect() as connection, connection.begin() as transaction:
        held = reading.ErasableRows()
        for e in events(connection, reading.ErasableRows.KINDS):
            held.fold(e)
        if change is not None:
            change(connection)
        found = list(
            reading.table_problems(
                connection, held, load_component(Contributors, connection).erased, {}, {}, None
            )
        )
        transaction.rollback()
    return found


def test_a_sound_ledger_holds_what_the_log_says(sound):
    assert problems(sound) == []


def test_there_is_something_to_be_held(sound):
    """A test over empty tables would prove nothing."""
    with sound.ledger.read() as connection:
        for table in schema.ERASABLE:
            assert connection.scalar(sa.select(sa.func.count()).select_from(table)) > 0


def another(value: str | bytes) -> str | bytes:
    """The same but for its last letter."""
    if isinstance(value, bytes):
        return value[:-1] + bytes([value[-1] ^ 1])
    return value[:-1] + ("0" if value[-1] != "0" else "1")


COLUMNS = [(table, column.name) for table in schema.ERASABLE for column in table.columns]


@pytest.mark.parametrize(("table", "column"), COLUMNS, ids=lambda value: getattr(value, "name", value))
def test_any_column_of_any_row_that_is_changed_is_found(sound, table, column):
    def change(connection):
        row = connection.execute(sa.select(table)).first()._mapping
        other = another(row[column])
        same = sa.and_(*(table.c[name] == row[name] for name in row))
        connection.execute(sa.update(table).where(same).values({column: other}))

    assert problems(sound, change)


@pytest.mark.parametrize("table", schema.ERASABLE, ids=lambda table: table.name)
def test_any_row_that_is_removed_is_found_and_its_owner_named(sound, table):
    def change(connection):
        row = connection.execute(sa.select(table)).first()._mapping
        owner.append(row["pid"])
        same = sa.and_(*(table.c[name] == row[name] for name in row))
        connection.execute(sa.delete(table).where(same))

    owner: list[str] = []
    said = problems(sound, change)
    assert any(owner[0] in one for one in said)


@pytest.mark.parametrize("table", schema.ERASABLE, ids=lambda table: table.name)
def test_any_row_of_a_stranger_or_of_whom_was_erased_is_found(sound, table):
    row = {column.name: b"x" if isinstance(column.type, sa.LargeBinary) else "x" for column in table.columns}
    for who in ("c" + "9" * 32, sound.pids["gone"]):
        said = problems(sound, lambda c, who=who: c.execute(sa.insert(table).values(**{**row, "pid": who})))
        assert any(who in one for one in said)
    assert f"the table {table.name} holds rows of contributor {sound.pids['gone']}, who was erased" in said


def test_two_people_whose_records_changed_places_are_found(sound):
    def change(connection):
        rows = connection.execute(sa.select(schema.person).order_by(schema.person.c.pid)).all()
        for row, other in ((rows[0], rows[1]), (rows[1], rows[0])):
            where = schema.person.c.pid == row.pid
            connection.execute(sa.update(schema.person).where(where).values(sealed=other.sealed))

    assert len([one for one in problems(sound, change) if one.startswith("the record of contributor")]) == 2


def test_kinds_with_something_to_hold_are_followed():
    """Whatever names a record, an account, a payee or a paper is among them, by the table of kinds."""
    for kind, found in kinds.ENTRY_KINDS.items():
        holds = bool({"record", "account", "payee", "paper", "kept"} & set(found.fields))
        assert (kind in reading.ErasableRows.KINDS) == holds


def test_the_newest_record_counts_and_all_names_do():
    held = reading.ErasableRows()
    held.fold(event(kinds.REGISTERED, "c", {"record": "one", "account": "a"}))
    held.fold(event(kinds.PAYEE_SET, "c", {"record": "two", "payee": "b", "digest": ""}))
    held.fold(event(kinds.PAYEE_SET, "c", {"record": "three", "payee": "", "digest": ""}))
    held.fold(event(kinds.OPENED, "c", {"paper": "p", "sealed": "s"}))
    assert held.records == {"c": "three"}
    assert held.names == {"c": {"a", "b"}}
    assert held.papers == {("p", "c"): "s"}
