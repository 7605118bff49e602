"""The ten guarantees, each on SQLite and on a real PostgreSQL."""

import contextlib
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
import sqlalchemy as sa

from anml.core.canonical import canonical
from anml.core.errors import ConflictError, InputError, IntegrityError
from anml.ledger import book, checkpoint, kinds, schema
from anml.ledger import personal_data as people
from anml.ledger import replay as audit
from anml.ledger.contributors import identity
from anml.ledger.log import Posting, check_balanced
from anml.ledger.pay import payout, settle, statement
from anml.ledger.pay.settle import release_settlement
from anml.ledger.services.verify import check_statement, sign_checkpoint, verify
from anml.ledger.state import POOL
from anml.settlement.allocate import UNIT, PayoutRules
from anml.settlement.manifest import parse_manifest as parse_manifest
from ledger.ledger_queries import balance, balances, events, settlements, totals, who_is
from ledger.ledger_world import World, simple_rows

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent


def findings(world: World, *older: str) -> list[str]:
    public = world.ledger.ring.public
    with world.ledger.read() as connection:
        older_notes = tuple(checkpoint.read_checkpoint(note, public) for note in older)
        return audit.verify(connection, older_notes, public).problems


def note(world: World) -> str:
    return sign_checkpoint(world.ledger)["note"]


def full_history(world: World) -> str:
    """Two known contributors and a newcomer, settled, disputed, released, partly paid and reversed."""
    pids = world.establish("ann", "ben")
    sid = world.post(world.run(simple_rows({"ann": 6, "ben": 3, "new": 2})), "1000.01")
    world.ledger.write(lambda tx: book.open_dispute(tx, sid, pids["ben"], "wrong-count", "d1"))
    world.clock.pass_days(15)
    release_settlement(world.ledger, sid)
    upheld = book.Answer("upheld", "count-corrected", "cat", 5_000_000)
    world.ledger.write(lambda tx: book.answer(tx, sid, pids["ben"], upheld, "d1"))
    world.ledger.write(lambda tx: book.resolve(tx, sid, pids["ben"], "dan", "d1"))
    release_settlement(world.ledger, sid)
    payout.create_batch(world.ledger, "p1", "EUR", "cat")
    payout.record_payment_results(world.ledger, "p1", [pids["ann"]], paid=True, by="bob")
    payout.record_payment_results(world.ledger, "p1", [pids["ben"]], paid=False)
    reverse(world, sid, pids["ann"], 1_000_000, "duplicate")
    return sid


def reverse(world: World, sid: str, pid: str, amount: int, reason: str) -> None:
    """One person proposes a reversal, another confirms it."""
    made = world.ledger.write(lambda tx: book.propose_reversal(tx, sid, pid, amount, reason, "cat"))
    world.confirm(made.seq, by="dan")


def test_g1_postings_sum_to_zero_per_entry_and_overall(world):
    full_history(world)
    assert findings(world) == []
    with world.ledger.read() as connection:
        assert totals(connection) == {"EUR": 0}
        moved = [e for e in events(connection) if e.postings]
        assert len(moved) >= 12
        assert all(sum(item.amount for item in e.postings) == 0 for e in moved)
    with pytest.raises(IntegrityError, match="sum to 1 micro-units of EUR"):
        check_balanced([Posting("held:c", "EUR", 1)], "x")
    # Two currencies do not make up for each other.
    with pytest.raises(IntegrityError, match="not to 0"):
        check_balanced([Posting("held:c", "EUR", 1), Posting("held:d", "USD", -1)], "x")
    # What an entry moves follows from its kind; there is no other way to move anything.
    with pytest.raises(IntegrityError, match="no kind of entry 'x'"):
        world.ledger.write(lambda tx: tx.append("x", "x", "", {}))


@pytest.mark.parametrize(
    "rules", [PayoutRules(), PayoutRules(max_share=UNIT // 5), PayoutRules(volume="0.5")]
)
def test_g2_the_pool_is_given_out_to_the_unit(world, rules):
    world.establish("a", "b", "c")
    sid = world.post(world.run(simple_rows({"a": 1, "b": 1, "c": 1, "d": 7})), "100.000001", rules=rules)
    with world.ledger.read() as connection:
        held = balances(connection, "held:", "EUR", sid)
        back = balance(connection, POOL, "EUR", sid)
        assert balance(connection, f"funding:{sid}", "EUR") == 0
    # What came out of the pool is what is held; what nobody may have went back.
    assert sum(held.values()) == -back
    expected = 100_000_001 if rules.max_share == UNIT else 4 * 20_000_000
    assert sum(held.values()) == expected


def test_g3_nobody_goes_below_zero_but_by_a_recorded_reversal(world):
    pids = world.establish("ann", "ben")
    sid = world.post(world.run(simple_rows({"ann": 1, "ben": 1})), "10")
    world.clock.pass_days(15)
    release_settlement(world.ledger, sid)
    payout.create_batch(world.ledger, "p1", "EUR", "cat")
    with pytest.raises(ConflictError, match="nothing can be paid"):
        payout.create_batch(world.ledger, "p2", "EUR", "cat")
    with pytest.raises(ConflictError, match="can be reversed"):
        reverse(world, sid, pids["ann"], 5_000_001, "fraud")
    reverse(world, sid, pids["ann"], 5_000_000, "fraud")
    with world.ledger.read() as connection:
        assert balance(connection, f"payable:{pids['ann']}", "EUR") == -5_000_000
    assert findings(world) == []
    # The carry is taken from what comes next before anything is paid.
    next_sid = world.post(world.run(simple_rows({"ann": 3, "ben": 1})), "8")
    world.clock.pass_days(15)
    release_settlement(world.ledger, next_sid)
    made = payout.create_batch(world.ledger, "p3", "EUR", "cat").batch
    assert {p.pid: p.amount for p in made.payments} == {pids["ann"]: 1_000_000, pids["ben"]: 2_000_000}
    # Released twice, an amount would overdraw what is held; the rule itself refuses it.
    body = {"r": 0}
    with pytest.raises(IntegrityError, match="nothing is held"):
        world.ledger.write(lambda tx: tx.append(kinds.RELEASED, "odd", pids["ben"], body, next_sid))


def size(world: World) -> int:
    with world.ledger.read() as connection:
        return audit.verify(connection).entries


def test_g4_the_same_key_twice_is_one_effect_and_another_body_a_conflict(world):
    pids = world.establish("ann", "ben")
    run = world.run(simple_rows({"ann": 1, "ben": 1}))
    first = world.draft(run, "10")
    before = size(world)
    assert world.draft(run, "10").id == first.id
    settle.approve_settlement(world.ledger, first.id, "bob")
    after = size(world)
    settle.approve_settlement(world.ledger, first.id, "bob")
    assert (before, size(world)) == (after - 3, after)
    with pytest.raises(ConflictError, match="used before for another request"):
        settle.approve_settlement(world.ledger, first.id, "eve")
    world.clock.pass_days(15)
    release_settlement(world.ledger, first.id)
    assert release_settlement(world.ledger, first.id).released == {}
    one = payout.create_batch(world.ledger, "p1", "EUR", "cat").batch
    assert payout.create_batch(world.ledger, "p1", "EUR", "cat").batch == one
    with pytest.raises(ConflictError, match="another request"):
        payout.create_batch(world.ledger, "p1", "EUR", "cat", threshold=5)
    payout.record_payment_results(world.ledger, "p1", [pids["ann"]], paid=True, by="bob")
    payout.record_payment_results(world.ledger, "p1", [pids["ann"]], paid=True, by="bob")
    with pytest.raises(ConflictError, match="another request"):
        payout.record_payment_results(world.ledger, "p1", [pids["ann"]], paid=False)
    with world.ledger.read() as connection:
        assert balance(connection, f"paid:{pids['ann']}", "EUR") == 5_000_000


def test_g5_an_acknowledged_write_survives_kill_9(world):
    rounds = int(os.environ.get("ANML_KILLS", "3"))
    acknowledged: list[str] = []
    for round_ in range(rounds):
        writer = subprocess.Popen(
            [sys.executable, str(HERE / "ledger_writer.py"), world.url, str(world.keys), f"w{round_}"],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert writer.stdout is not None
        wanted = 5 + 10 * round_
        for line in writer.stdout:
            acknowledged.append(line.strip())
            wanted -= 1
            if not wanted:
                break
        writer.send_signal(signal.SIGKILL)
        # What was written to the pipe before the kill was acknowledged too.
        acknowledged += writer.stdout.read().split()
        writer.wait()
        writer.stdout.close()
    world.reopen()
    with world.ledger.read() as connection:
        kept = {e.subject for e in events(connection, [kinds.APPROVED])}
        assert totals(connection) == {"EUR": 0}
    assert len(acknowledged) >= 5 * rounds
    assert set(acknowledged) <= kept
    assert findings(world) == []


def _tamper(world: World, *statements: str) -> None:
    """Change the database behind the ledger's back, as somebody who owns the server can."""
    if world.ledger.engine.dialect.name == "sqlite":
        # A plain connection, which does not hold references between tables either.
        with contextlib.closing(sqlite3.connect(world.url)) as plain, plain:
            for table in schema.APPEND_ONLY:
                for verb in ("update", "delete"):
                    plain.execute(f"DROP TRIGGER IF EXISTS {table}_no_{verb}")
            for text in statements:
                plain.execute(text)
        return
    with world.ledger.engine.connect() as connection, connection.begin():
        connection.exec_driver_sql("SET session_replication_role = replica")
        for text in statements:
            connection.execute(sa.text(text))
        connection.exec_driver_sql("SET session_replication_role = origin")


LAST = "(SELECT MAX(seq) FROM event)"


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (f"DELETE FROM event WHERE seq = {LAST} - 2", "missing or out of order"),
        ("UPDATE head SET seq = seq - 1", "added or cut off"),
        ("DELETE FROM head", "added or cut off"),
        (f"DELETE FROM event WHERE seq = {LAST}", "cut off"),
        (f"DELETE FROM posting WHERE seq = {LAST}|DELETE FROM event WHERE seq = {LAST}", "cut off"),
        ("DELETE FROM event", "cut off"),
        ("UPDATE event SET subject = 'x' WHERE seq = 3", "columns of entry 3 differ"),
        ("UPDATE event SET kind = 'x' WHERE seq = 2", "columns of entry 2 differ"),
        ("UPDATE event SET at = '2025-01-01T00:00:00.000000Z' WHERE seq = 2", "columns of entry 2 differ"),
        ("UPDATE posting SET amount = amount + 1 WHERE line = 0", "differ from its bytes"),
        ("UPDATE posting SET account = 'held:x' WHERE line = 1", "differ from its bytes"),
        ("INSERT INTO posting VALUES (999, 0, 'held:x', 'EUR', 5, '')", "belongs to no entry"),
        ("UPDATE document SET sha256 = replace(sha256, 'a', 'b')", "was changed"),
    ],
)
def test_g6_removed_or_changed_rows_are_found(world, change, found):
    full_history(world)
    older = note(world)
    assert findings(world, older) == []
    _tamper(world, *change.split("|"))
    assert any(found in problem for problem in findings(world, older)), findings(world, older)


def test_g6_any_single_byte_of_any_entry(world):
    full_history(world)
    older = note(world)
    table = schema.event
    with world.ledger.read() as connection:
        rows = connection.execute(sa.select(table.c.seq, table.c.entry).order_by(table.c.seq)).all()
    pick = random.Random(6)
    for row in pick.sample(rows, 6):
        place = pick.randrange(len(row.entry))
        changed = bytearray(row.entry)
        changed[place] ^= 1 << pick.randrange(8)
        _tamper(world)
        _set_entry(world, row.seq, bytes(changed))
        problems = findings(world, older)
        assert any(f"entry {row.seq} " in problem for problem in problems)
        _set_entry(world, row.seq, row.entry)
    assert findings(world, older) == []


def _set_entry(world: World, seq: int, entry: bytes) -> None:
    with world.ledger.engine.connect() as connection, connection.begin():
        if world.ledger.engine.dialect.name != "sqlite":
            connection.exec_driver_sql("SET LOCAL session_replication_role = replica")
        table = schema.event
        connection.execute(sa.update(table).where(table.c.seq == seq).values(entry=entry))


def test_g6_a_whole_history_rewritten_with_sound_hashes_is_found_by_a_checkpoint(world, make_world):
    """Whoever owns the server can recompute every hash; only what was kept elsewhere gives it away."""
    full_history(world)
    older = note(world)
    forged = make_world(world.ledger.engine.dialect.name)
    full_history(forged)
    assert findings(forged) == []
    read = checkpoint.read_checkpoint(older, world.ledger.ring.public)
    with forged.ledger.read() as connection:
        assert "not those that the checkpoint saw" in audit.verify(connection, (read,)).problems[0]
        # And whoever knows the ledger's key sees that this is another ledger.
        known = audit.verify(connection, (), world.ledger.ring.public).problems
    assert "the log names another public key than the one you gave: it is another ledger" in known


def test_g6_a_credit_that_follows_from_no_manifest_is_refused(world):
    """Whoever holds all keys cannot write it by the rules; forged around them it is found (test_insiders)."""
    sid = full_history(world)
    assert verify(world.ledger).problems == []
    facts = {"rows": 1, "kept": 1, "counted": 1, "units": 1, "units_sha256": "", "newcomer": False, "r": 0,
             "share": 1, "by_r": False}  # fmt: skip
    with pytest.raises(IntegrityError, match="no approval owes friend this credit"):
        world.ledger.write(lambda tx: tx.append(kinds.CREDITED, "x", "friend", facts, sid))


def test_g6_two_entries_that_changed_places_are_found(world):
    full_history(world)
    older = note(world)
    swap = (
        "UPDATE event SET seq = 900000 WHERE seq = 4",
        "UPDATE event SET seq = 4 WHERE seq = 5",
        "UPDATE event SET seq = 5 WHERE seq = 900000",
    )
    _tamper(world, *swap)
    assert any("entry 4 does not follow" in problem for problem in findings(world, older))


def test_g6_the_database_itself_refuses_changes(world):
    full_history(world)
    for text in ("UPDATE event SET kind = 'x'", "DELETE FROM posting", "DELETE FROM document"):
        with (
            pytest.raises(sa.exc.DBAPIError, match="append-only"),
            world.ledger.engine.connect() as connection,
            connection.begin(),
        ):
            connection.execute(sa.text(text))


def test_g7_a_second_program_recomputes_the_statement_from_the_manifest(world, tmp_path):
    sid = full_history(world)
    with world.ledger.read() as connection:
        name = settlements(connection)[sid].manifest
        found = parse_manifest(
            connection.scalar(sa.select(schema.document.c.body).where(schema.document.c.sha256 == name))
        )
    manifest_file = tmp_path / "manifest.json"
    manifest_file.write_bytes(canonical(found))
    for pid, made in statement.build(world.ledger, sid).items():
        file = tmp_path / f"{pid}.json"
        file.write_bytes(statement.sign(world.ledger, made))
        done = subprocess.run(
            [sys.executable, "-I", str(HERE / "recompute_statement.py"), str(manifest_file), str(file)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, pid in done.stdout) == (0, True), done.stdout + done.stderr
    # And it says so where a statement is wrong by one micro-unit.
    made["amounts"]["gross"] += 1
    file.write_bytes(statement.sign(world.ledger, made))
    with pytest.raises(IntegrityError, match="other than its entries"):
        check_statement(file.read_bytes(), world.ledger.ring.public)
    command = [sys.executable, "-I", str(HERE / "recompute_statement.py"), str(manifest_file), str(file)]
    wrong = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (wrong.returncode, "gross" in wrong.stdout) == (1, True)


def test_g8_the_result_does_not_depend_on_the_order_of_rows(world):
    pick = random.Random(8)
    n = 200
    rows = pl.DataFrame(
        {
            "row": list(range(n)),
            "contributor": [pick.choice("abcdefg") for _ in range(n)],
            "item": [f"i{pick.randrange(90)}" for _ in range(n)],
            **{name: [pick.random() for _ in range(n)] for name in "qvrt"},
            "kept": [pick.random() < 0.7 for _ in range(n)],
        }
    )
    plain = settle.draft_settlement(world.ledger.dry(), world.run(rows), _terms("77.7"))
    shuffled = rows.sample(fraction=1, shuffle=True, seed=1)
    other = settle.draft_settlement(world.ledger.dry(), world.run(shuffled), _terms("77.7"))
    assert sorted(plain.amounts.values()) == sorted(other.amounts.values())
    units = [sorted(line["units"] for line in d.manifest["contributors"]) for d in (plain, other)]
    assert units[0] == units[1]
    # The identifiers are drawn anew in each dry run, in order of name: the lines match one by one.
    strip = [[{**line, "pid": ""} for line in d.manifest["contributors"]] for d in (plain, other)]
    assert strip[0] == strip[1]


def _terms(pool: str) -> settle.SettlementTerms:
    from anml.ledger.money import parse_amount

    return settle.SettlementTerms(parse_amount(pool), "EUR", "ann", source="run")


def test_g9_nothing_is_paid_from_an_unapproved_or_superseded_run(world):
    pids = world.establish("ann", "ben")
    run = world.run(simple_rows({"ann": 1, "ben": 1}))
    first = world.draft(run, "10")
    with world.ledger.read() as connection:
        assert balances(connection, "held:", "EUR", first.id) == {}
    with pytest.raises(ConflictError, match="drafted; this step needs it to be posted"):
        release_settlement(world.ledger, first.id)
    with pytest.raises(ConflictError, match="a second person must approve"):
        settle.approve_settlement(world.ledger, first.id, "ann")
    with pytest.raises(ConflictError, match="supersede that one"):
        world.draft(run, "20")
    second = world.draft(run, "20", supersedes=first.id)
    with pytest.raises(ConflictError, match="is withdrawn"):
        settle.approve_settlement(world.ledger, first.id, "bob")
    settle.approve_settlement(world.ledger, second.id, "bob")
    # A posted settlement that is superseded is taken back when the new one is approved.
    third = world.draft(run, "4", supersedes=second.id)
    settle.approve_settlement(world.ledger, third.id, "bob")
    world.clock.pass_days(15)
    with pytest.raises(ConflictError, match="is reversed"):
        release_settlement(world.ledger, second.id)
    release_settlement(world.ledger, third.id)
    paid = payout.create_batch(world.ledger, "p1", "EUR", "cat").batch
    assert {p.pid: p.amount for p in paid.payments} == {pids["ann"]: 2_000_000, pids["ben"]: 2_000_000}
    assert findings(world) == []


SECRETS = ("Grace Hopper", "grace@navy.example", "DE89370400440532013000", "hopper-account")


def test_g10_an_erased_contributor_leaves_no_personal_data(world, request, tmp_path):
    ledger = world.ledger
    pids = world.register("label-studio", ["hopper-account", "ben"])
    pid = pids["hopper-account"]
    world.pay_to(pid, {"name": SECRETS[0], "iban": SECRETS[2]})
    payout.set_email(ledger, pid, SECRETS[1])
    sid = world.post(world.run(simple_rows({pid: 2, pids["ben"]: 1})), "10")
    said = f"signed by {SECRETS[1]}"
    ledger.write(lambda tx: book.open_dispute(tx, sid, pid, "other", "d", text=said))
    older = note(world)
    with ledger.read() as connection:
        assert people.profile(connection, ledger.ring, pid)["name"] == SECRETS[0]
        wrapped = connection.scalar(
            sa.select(schema.person_key.c.wrapped).where(schema.person_key.c.pid == pid)
        )
    with pytest.raises(ConflictError, match="pay or answer first"):
        identity.erase_contributor(ledger, pid)
    left = world.erase(pid)
    assert (left["settlements"], left["unpaid"]) == ([sid], {"EUR": 6_666_667})
    # Names never stood in the files in the clear, and the sealed key is gone from the tables.
    with ledger.read() as connection:
        assert people.profile(connection, ledger.ring, pid) == {}
        assert who_is(connection, ledger.ring, "label-studio", "hopper-account") is None
        for table in schema.ERASABLE:
            rows = connection.execute(sa.select(table).where(table.c.pid == pid)).all()
            assert rows == []
    ledger.engine.dispose()
    places = _files(world, request)
    assert len(places) >= 1
    for path in places:
        data = path.read_bytes()
        for secret in SECRETS:
            assert secret.encode() not in data, path
    if world.ledger.engine.dialect.name == "sqlite":
        assert all(wrapped not in path.read_bytes() for path in places)
    # The books still verify, and statements are made and say nothing personal.
    assert findings(world, older) == []
    for made in statement.build(ledger, sid).values():
        assert not any(secret in json.dumps(made) for secret in SECRETS)
    with pytest.raises(InputError, match="was erased"):
        world.draft(world.run(simple_rows({pid: 1})), "1")


def _files(world: World, request) -> list[Path]:
    """Every file of the database: tables, WAL and log."""
    if world.ledger.engine.dialect.name == "sqlite":
        return [path for path in world.folder.glob("ledger.db*") if path.is_file()]
    server = request.getfixturevalue("postgres_server")
    with world.ledger.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql("CHECKPOINT")
    return [path for path in Path(server.pgdata).rglob("*") if path.is_file()]
