"""Views for people: there on both engines, and saying what the tables say."""

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

from anml.ledger import evidence, kinds, schema, standing
from anml.ledger.log import format_timestamp
from anml.ledger.money import format_amount
from anml.ledger.schema import views
from ledger.ledger_world import START

VIEWS = {
    "balances",
    "contributors_readable",
    "events_readable",
    "evidence_readable",
    "postings_readable",
    "scores_readable",
    "settlements_readable",
}


def test_all_views_are_there(world):
    with world.ledger.read() as connection:
        assert set(sa.inspect(connection).get_view_names()) == VIEWS


def test_views_for_people(world):
    pid = world.establish("ann")["ann"]
    world.record(evidence.EvidenceRecord("affiliation", pid, "https://lab.example", ""))
    items = ("1", "2", "3", "4")
    world.score(
        standing.Score(pid, "default", "gold", "b", format_timestamp(START), 750_000_000_000, items, 4)
    )
    with world.ledger.read() as connection:

        def rows(query: str) -> list:
            return [tuple(row) for row in connection.exec_driver_sql(query)]

        money = rows("SELECT kind, currency, amount, micro_units FROM balances ORDER BY kind")
        assert [(kind, currency, amount, int(micro)) for kind, currency, amount, micro in money] == [
            ("funding", "EUR", "0.000000", 0),
            ("held", "EUR", "0.000001", 1),
            ("source", "EUR", "-0.000001", -1),
        ]
        assert rows("SELECT DISTINCT holder FROM balances WHERE kind = 'held'") == [(pid,)]
        assert len(rows("SELECT entry, step, amount FROM postings_readable")) == 4
        assert rows("SELECT contributor, kind, issuer, vouched FROM evidence_readable") == [
            (pid, "affiliation", "https://lab.example", "platform")
        ]
        assert rows("SELECT contributor, source, quality, rows_scored FROM scores_readable") == [
            (pid, "gold", 0.75, 4)
        ]
        ((state, pool),) = rows("SELECT approved, pool FROM settlements_readable")
        assert (state is None, pool) == (False, "0.000001")
        assert [
            tuple(map(int, row[1:]))
            for row in rows(
                "SELECT contributor, evidence, scores, credits, erased FROM contributors_readable"
            )
        ] == [(1, 1, 1, 0)]
        found = rows("SELECT kind, body FROM events_readable ORDER BY seq")
    assert found[0][0] == "ledger.created"
    assert "test-ledger" in str(found[0][1])


@pytest.fixture(scope="module")
def base():
    """Empty tables and views in memory; whoever writes takes it back."""
    engine = sa.create_engine("sqlite://")
    with engine.connect() as connection:
        schema.create_all(connection)
        connection.commit()
        yield connection
    engine.dispose()


@given(st.lists(st.integers(-(2**61), 2**61), min_size=1, max_size=2))
def test_amounts_are_shown_exactly(base, amounts):
    """The view says what the program says, also of amounts that no floating point number holds."""
    with base.begin():
        row = {"seq": 1, "kind": "k", "key": "k", "subject": "", "at": "", "entry": b"{}", "hash": b""}
        base.execute(sa.insert(schema.event).values(**row))
        for line, amount in enumerate(amounts):
            values = {"seq": 1, "line": line, "account": "held:a:b", "currency": "EUR", "settlement": ""}
            base.execute(sa.insert(schema.posting).values(**values, amount=amount))
        ((kind, holder, shown, micro),) = base.exec_driver_sql(
            "SELECT kind, holder, amount, micro_units FROM balances"
        ).all()
        base.rollback()
    assert (kind, holder, micro) == ("held", "a:b", sum(amounts))
    assert shown == format_amount(sum(amounts))


def test_both_engines_have_the_same_views_and_columns():
    def shape(dialect: str) -> list[tuple[str, int]]:
        return [(sql.split()[2], sql.count(" AS ")) for sql in views(dialect)]

    assert [name for name, _ in shape("sqlite")] == [name for name, _ in shape("postgresql")]
    assert {name for name, _ in shape("sqlite")} == VIEWS


@pytest.mark.parametrize("dialect", ["sqlite", "postgresql"])
def test_views_speak_of_kinds_that_exist(dialect):
    """A renamed kind would leave a view empty without anybody's noticing."""
    import re

    text = " ".join(views(dialect))
    named = set(re.findall(r"kind = '([a-z.]+)'", text))
    assert named
    assert named <= set(kinds.ENTRY_KINDS)
