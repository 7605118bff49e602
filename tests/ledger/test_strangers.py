"""What lies beside a ledger's tables and could answer in their place is refused by its name."""

import re

import pytest

from anml.app.pay import payout
from anml.core.errors import IntegrityError
from ledger.test_further_attacks import released
from ledger.test_insiders import problems, unlock

STRANGE = {
    "an index of their own": ("CREATE INDEX mine ON alias (salt)", "the index mine", ""),
    "a trigger": (
        "CREATE TRIGGER mine BEFORE INSERT ON posting BEGIN SELECT 1; END", "the trigger mine", "sqlite",
    ),
    "a trigger under a known name": (
        "CREATE TRIGGER event_no_update BEFORE UPDATE ON head BEGIN SELECT 1; END",
        "event_no_update",
        "sqlite",
    ),
    "a rule": (
        "CREATE RULE mine AS ON INSERT TO alias DO ALSO NOTHING", "the rule mine of alias", "postgresql",
    ),
    "a policy": ("CREATE POLICY mine ON event USING (seq < 9)", "the policy mine of event", "postgresql"),
    "row security": ("ALTER TABLE event ENABLE ROW LEVEL SECURITY", "row security", "postgresql"),
    "a heir": ("CREATE TABLE mine () INHERITS (posting)", "inherited", "postgresql"),
    "a column of their own": ("ALTER TABLE alias ADD COLUMN more TEXT", "(columns|column more)", ""),
    "a known index on other columns": (
        ("DROP INDEX event_kind", "CREATE INDEX event_kind ON event (subject)"), "event_kind", "",
    ),
    "an index in another order of letters": (
        ("DROP INDEX event_kind", "CREATE INDEX event_kind ON event (kind COLLATE NOCASE)"),
        "event_kind",
        "sqlite",
    ),
    "an index with operators of their choice": (
        ("DROP INDEX event_kind", "CREATE INDEX event_kind ON event (kind text_pattern_ops)"),
        "event_kind",
        "postgresql",
    ),
    "an index of some rows": ("CREATE INDEX mine ON event (kind) WHERE seq > 3", "the index mine", ""),
    "a check": ("ALTER TABLE event ADD CONSTRAINT mine CHECK (seq > 0)", "constraint mine", "postgresql"),
    "a column of another type": (
        "ALTER TABLE alias ALTER COLUMN pid TYPE varchar", "the column pid of alias", "postgresql",
    ),
    "keys that are text": (
        "ALTER TABLE person ALTER COLUMN sealed TYPE text USING encode(sealed, 'hex')", "column sealed",
        "postgresql",
    ),
    "a trigger that calls itself otherwise": (
        (
            "CREATE TRIGGER mine AFTER INSERT ON event BEGIN DELETE FROM alias; END",
            "PRAGMA writable_schema = ON",
            "UPDATE sqlite_master SET type = 'TRIGGER' WHERE name = 'mine'",
            "PRAGMA writable_schema = OFF",
        ),
        "the trigger mine",
        "sqlite",
    ),
    "a column that compares otherwise": (
        (
            "PRAGMA writable_schema = ON",
            "UPDATE sqlite_master SET sql = replace(sql, 'kind TEXT', 'kind TEXT COLLATE NOCASE') "
            "WHERE name = 'event'",
            "PRAGMA writable_schema = OFF",
        ),
        "event is no plain table",
        "sqlite",
    ),
    "a table that gives up what it holds": (
        (
            "PRAGMA writable_schema = ON",
            "UPDATE sqlite_master SET sql = replace(sql, 'UNIQUE (\"key\")', "
            "'UNIQUE (\"key\") ON CONFLICT REPLACE') WHERE name = 'event'",
            "PRAGMA writable_schema = OFF",
        ),
        "event is no plain table",
        "sqlite",
    ),
    "a reference to a table of their own": (
        (
            "CREATE TABLE mine (pid text PRIMARY KEY)",
            "INSERT INTO mine SELECT DISTINCT pid FROM alias",
            "ALTER TABLE alias ADD CONSTRAINT mine FOREIGN KEY (pid) REFERENCES mine ON DELETE CASCADE",
        ),
        "constraint mine",
        "postgresql",
    ),
    "a value of their own": (
        "ALTER TABLE alias ALTER COLUMN salt SET DEFAULT 'x'", "column salt", "postgresql",
    ),
    "a known trigger that does something else": (
        "CREATE OR REPLACE FUNCTION anml_append_only() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RETURN NULL; END $$",
        "the trigger event_append_only",
        "postgresql",
    ),
    "a trigger that says it is the server's own": (
        (
            "CREATE FUNCTION mine() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$",
            "CREATE TRIGGER mine BEFORE INSERT ON posting FOR EACH ROW EXECUTE FUNCTION mine()",
            "UPDATE pg_trigger SET tgisinternal = true WHERE tgname = 'mine'",
        ),
        "the trigger mine",
        "postgresql",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", STRANGE)
def test_what_a_ledger_does_not_know_is_refused_by_its_name(make_world, what):
    sql, said, only = STRANGE[what]
    for engine in [only] if only else ["sqlite", "postgresql"]:
        world = make_world(engine)
        released(world)
        unlock(world, *([sql] if isinstance(sql, str) else sql))
        world.reopen()
        assert re.search(said, problems(world))
        with pytest.raises(IntegrityError, match=said):
            payout.create(world.ledger, "p1", "EUR", "cat")


def test_a_table_of_their_own_and_the_views_for_people_are_no_problem(world):
    released(world)
    unlock(world, "CREATE TABLE notes (text TEXT)", "CREATE VIEW mine AS SELECT * FROM balances")
    assert problems(world) == ""
