"""An attacker who owns the database and has no keys: any row of any table, any number of steps, sound hashes.

Whatever they do, as soon as anybody's money, standing or identity reads differently, `verify` says so.
"""

import os
import shutil
import sqlite3
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from anml.core.canonical import leaf_hash
from anml.ledger import book, kinds, schema
from anml.ledger import personal_data as people
from anml.ledger import replay as audit
from anml.ledger.log import Event, decode_event, encode_event, format_timestamp
from anml.ledger.pay import payout
from anml.ledger.pay.settle import release_settlement
from anml.ledger.services.verify import verify
from anml.ledger.standing import contributor_statuses
from anml.ledger.state import load_component
from anml.ledger.state_money import Disputes, Payouts, Settlements
from anml.ledger.state_people import Contributors, Keys, Staff
from anml.ledger.store import open_ledger
from ledger.ledger_queries import balances, who_is
from ledger.ledger_world import World, simple_rows

pytestmark = pytest.mark.slow

EXAMPLES = 500 * int(os.environ.get("ANML_EXAMPLES", "1"))
NAMES = ("ann", "ben", "new")


def lived(world: World) -> World:
    """A ledger in which everything happened once: money in every state, evidence, scores, names, papers."""
    from anml.ledger.standing import Score

    pids = world.establish("ann", "ben")
    world.vouch(pids["ann"])
    world.score(
        Score(pids["ben"], "default", "gold", "b", format_timestamp(world.clock.now), 10**12, ("1", "2"), 2)
    )
    world.pay_to(pids["ben"], {"name": "Ben", "iban": "DE89370400440532013000"})
    sid = world.post(world.run(simple_rows({"ann": 3, "ben": 2, "new": 1})), "100")
    said = {"text": "I did more"}
    world.ledger.write(lambda tx: book.open_dispute(tx, sid, pids["ann"], "wrong-count", "d", **said))
    given = book.Answer("upheld", "count-corrected", "cat", 1_000_000)
    world.ledger.write(lambda tx: book.answer(tx, sid, pids["ann"], given, "d"))
    world.clock.pass_days(15)
    release_settlement(world.ledger, sid)
    payout.create_batch(world.ledger, "p1", "EUR", "cat")
    world.draft(world.run(simple_rows({"ann": 1})), "5")
    payout.set_payees(world.ledger, {pids["ann"]: {"name": "Ann"}}, "cat")
    world.ledger.close()
    return world


def meaning(ledger, at: str) -> Any:
    """All that anybody gets, is, or is called."""
    with ledger.read() as connection, TemporaryDirectory() as folder:
        known = load_component(Contributors, connection)
        return (
            {
                kind: balances(connection, kind, "EUR")
                for kind in ("source:", "funding:", "held:", "payable:", "clearing:", "paid:")
            },
            {name: who_is(connection, ledger.ring, "run", name) for name in NAMES},
            people.profiles(connection, ledger.ring),
            contributor_statuses(connection, at),
            (known.since, known.merged, known.erased, known.reviewers),
            load_component(Settlements, connection).found,
            load_component(Disputes, connection).found,
            load_component(Staff, connection).__dict__,
            load_component(Keys, connection).known,
            [
                load_component(Payouts, connection).get(name)
                for name in load_component(Payouts, connection).heads
            ],
            payout.write_files(ledger, "p1", None, Path(folder)).payees,
        )


# --- what the attacker can do; rows and columns are chosen by numbers, so that any table fits
COLUMNS = {table.name: [column.name for column in table.columns] for table in schema.metadata.sorted_tables}
number = st.integers(0, 10**6)
text = st.sampled_from(
    ["", "x", "ann", "EUR", "held:x", "settlement.approved", "2020-01-01T00:00:00.000000Z"]
)
step = st.one_of(
    st.tuples(st.just("delete"), st.sampled_from(sorted(COLUMNS)), number),
    st.tuples(st.just("copy"), st.sampled_from(sorted(COLUMNS)), number, number, number),
    st.tuples(st.just("set"), st.sampled_from(sorted(COLUMNS)), number, number, st.one_of(number, text)),
    st.tuples(st.just("flip"), st.sampled_from(sorted(COLUMNS)), number, number, number),
    st.tuples(st.just("forge"), st.sampled_from(sorted(kinds.ENTRY_KINDS)), number, number),
    st.tuples(st.just("rewrite"), number, st.sampled_from(["body", "subject", "by", "at", "amount"]), number),
    st.tuples(st.just("cut"), st.integers(1, 6)),
    st.tuples(st.just("repeat"), number),
)


class Attacker:
    """Works on the file itself, with triggers and references out of the way."""

    def __init__(self, path: Path) -> None:
        self.base = sqlite3.connect(path)
        self.base.execute("PRAGMA foreign_keys = OFF")
        self.base.execute("PRAGMA synchronous = OFF")
        for table in schema.APPEND_ONLY:
            for verb in ("update", "delete"):
                self.base.execute(f"DROP TRIGGER IF EXISTS {table}_no_{verb}")

    def do(self, action: tuple) -> None:
        try:
            getattr(self, action[0])(*action[1:])
        except (sqlite3.Error, OverflowError):
            self.base.rollback()  # the table itself does not take it: nothing was done
        self.base.commit()

    def _row(self, table: str, which: int) -> int | None:
        rows = [row for (row,) in self.base.execute(f"SELECT rowid FROM {table} ORDER BY rowid")]
        return rows[which % len(rows)] if rows else None

    def delete(self, table: str, which: int) -> None:
        self.base.execute(f"DELETE FROM {table} WHERE rowid = ?", (self._row(table, which),))

    def copy(self, table: str, one: int, other: int, column: int) -> None:
        name = COLUMNS[table][column % len(COLUMNS[table])]
        query = f"UPDATE {table} SET {name} = (SELECT {name} FROM {table} WHERE rowid = ?) WHERE rowid = ?"
        self.base.execute(query, (self._row(table, one), self._row(table, other)))

    def set(self, table: str, which: int, column: int, value: object) -> None:
        name = COLUMNS[table][column % len(COLUMNS[table])]
        self.base.execute(f"UPDATE {table} SET {name} = ? WHERE rowid = ?", (value, self._row(table, which)))

    def flip(self, table: str, which: int, column: int, bit: int) -> None:
        name = COLUMNS[table][column % len(COLUMNS[table])]
        row = self._row(table, which)
        found = self.base.execute(f"SELECT {name} FROM {table} WHERE rowid = ?", (row,)).fetchone()
        if found and isinstance(found[0], bytes) and found[0]:
            data = bytearray(found[0])
            data[bit % len(data)] ^= 1 << bit % 8
            self.base.execute(f"UPDATE {table} SET {name} = ? WHERE rowid = ?", (bytes(data), row))

    def _log(self) -> list[Event]:
        found = []
        for entry, hashed in self.base.execute("SELECT entry, hash FROM event ORDER BY seq"):
            try:
                found.append(decode_event(entry, hashed))
            except (ValueError, TypeError, KeyError, AttributeError):
                break
        return found

    def _write(self, log: list[Event]) -> None:
        """A whole log with sound numbers, links, hashes and postings, and a seal without a key."""
        for table in ("posting", "event"):
            self.base.execute(f"DELETE FROM {table}")
        prev = "0" * 64
        for place, e in enumerate(log, start=1):
            made = e._replace(seq=place, prev=prev)
            entry = encode_event(made)
            prev = leaf_hash(entry).hex()
            row = (
                place,
                e.kind,
                f"{e.key}" if place <= len(log) else "",
                e.subject,
                e.at,
                entry,
                leaf_hash(entry),
            )
            self.base.execute("INSERT OR REPLACE INTO event VALUES (?, ?, ?, ?, ?, ?, ?)", row)
            for line, item in enumerate(e.postings):
                posted = (place, line, item.account, item.currency, item.amount, e.settlement)
                self.base.execute("INSERT INTO posting VALUES (?, ?, ?, ?, ?, ?)", posted)
        self.base.execute("UPDATE head SET seq = ?, hash = ?", (len(log), bytes.fromhex(prev)))

    def forge(self, kind: str, which: int, pool: int) -> None:
        """A new entry at the end, shaped like an earlier one of that kind where there is one."""
        log = self._log()
        if not log:
            return
        like = [e for e in log if e.kind == kind] or [log[which % len(log)]]
        model = like[which % len(like)]
        body = {k: v + pool if type(v) is int and k in ("amount", "correction", "pool") else v
                for k, v in model.body.items()}  # fmt: skip
        lines = tuple(item._replace(amount=item.amount * (1 + pool % 3)) for item in model.postings)
        made = model._replace(kind=kind, key=f"f{len(log)}", body=body, postings=lines, at=log[-1].at)
        self._write([*log, made])

    def rewrite(self, which: int, field: str, value: int) -> None:
        """Change an earlier entry, and all hashes after it."""
        log = self._log()
        if not log:
            return
        place = which % len(log)
        e, subjects = log[place], sorted({one.subject for one in log})
        if field == "amount":
            log[place] = e._replace(
                postings=tuple(item._replace(amount=item.amount * (value % 5)) for item in e.postings)
            )
        elif field == "body":
            keys = sorted(e.body)
            if keys:
                name = keys[value % len(keys)]
                old = e.body[name]
                new = old + 1 if type(old) is int else subjects[value % len(subjects)]
                log[place] = e._replace(body={**e.body, name: new})
        else:
            new = {"subject": subjects[value % len(subjects)], "by": ("bob", "ann", "")[value % 3],
                   "at": log[value % len(log)].at}[field]  # fmt: skip
            log[place] = e._replace(**{field: new})
        self._write(log)

    def cut(self, count: int) -> None:
        self._write(self._log()[:-count])

    def repeat(self, which: int) -> None:
        log = self._log()
        if log:
            self._write([*log, log[which % len(log)]._replace(key=f"r{len(log)}", at=log[-1].at)])


@pytest.fixture(scope="module")
def victim(tmp_path_factory):
    folder = tmp_path_factory.mktemp("victim")
    world = lived(World(str(folder / "ledger.db"), folder / "keys", folder, ("ann", "bob", "cat")))
    ledger = open_ledger(world.url, world.keys, world.clock)
    at = format_timestamp(world.clock.now)
    before = meaning(ledger, at)
    assert verify(ledger).problems == []
    ledger.engine.dispose()
    with sqlite3.connect(world.url) as base:
        base.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        base.execute("PRAGMA journal_mode = DELETE")
    base.close()
    return world, ledger, at, before, Path(world.url).read_bytes()


SEEN = {"all": 0, "looked": 0, "changed": 0, "found": 0}


def test_whoever_owns_the_database_changes_nothing_unseen(victim):
    world, ledger, at, before, clean = victim

    @settings(max_examples=EXAMPLES, deadline=None, database=None, derandomize=True,
              suppress_health_check=list(HealthCheck), phases=[Phase.generate, Phase.shrink])  # fmt: skip
    @given(st.lists(step, min_size=1, max_size=4))
    def attack(actions):
        Path(world.url).write_bytes(clean)
        attacker = Attacker(Path(world.url))
        for action in actions:
            attacker.do(action)
        attacker.base.close()
        found = verify(ledger).problems
        SEEN["found"] += bool(found)
        SEEN["all"] += 1
        # Reading everything takes long: always where nothing was found, and now and then to see that
        # attacks do change something.
        if not found or SEEN["all"] % 10 == 0:
            same = _reads_the_same(ledger, at, before)
            SEEN["looked"] += 1
            SEEN["changed"] += not same
            assert same or found, actions
        ledger.engine.dispose()
        for name in ("-wal", "-shm"):
            Path(world.url + name).unlink(missing_ok=True)

    attack()
    # A test of attacks that change nothing would prove nothing.
    assert SEEN["all"] >= EXAMPLES
    assert SEEN["changed"] > EXAMPLES // 100
    print(SEEN)


def _reads_the_same(ledger, at: str, before: Any) -> bool:
    try:
        return meaning(ledger, at) == before
    except Exception:
        return False  # it cannot even be read any more


def test_the_same_on_a_server(make_world):
    """Rows changed, moved and removed in every table of a PostgreSQL; each is found."""
    world = make_world("postgresql")
    lived(world)
    world.reopen()
    at = format_timestamp(world.clock.now)
    before = meaning(world.ledger, at)
    done = 0
    for table in schema.metadata.sorted_tables:
        for column in table.columns:
            with world.ledger.engine.connect() as connection:
                transaction = connection.begin()
                connection.exec_driver_sql("SET LOCAL session_replication_role = replica")
                values = sa.select(sa.func.max(column)).scalar_subquery()
                try:
                    connection.execute(sa.update(table).values({column: values}))
                except sa.exc.DBAPIError:
                    transaction.rollback()
                    continue
                done += 1
                problems = audit.verify(connection, (), world.ledger.ring.public).problems
                transaction.rollback()
            same = connection.closed and meaning(world.ledger, at) == before
            assert problems or same, f"{table.name}.{column.name}"
    assert done > 10


def test_a_copy_of_the_whole_file_is_sound(victim, tmp_path):
    """The other way round: what nobody touched is never accused."""
    world, _, _, _, clean = victim
    shutil.copytree(world.keys, tmp_path / "keys")
    (tmp_path / "copy.db").write_bytes(clean)
    ledger = open_ledger(str(tmp_path / "copy.db"), tmp_path / "keys", world.clock)
    assert verify(ledger).problems == []
    ledger.close()
