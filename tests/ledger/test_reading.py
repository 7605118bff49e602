"""One verified reading for whatever moves money: what the database answers afterwards decides nothing.

Attackers here own the database, and some have the log's key too; none has a key of staff.
"""

import sqlite3
from datetime import timedelta

import pytest
import sqlalchemy as sa

from anml.core.canonical import MerkleTree, sha256
from anml.core.errors import AnmlError, ConflictError, IntegrityError
from anml.ledger import book, keys, kinds, schema, two_people
from anml.ledger import replay as audit
from anml.ledger.log import Event, Posting, seconds
from anml.ledger.pay import payout, settle, statement
from anml.ledger.pay.settle import release_settlement
from anml.ledger.records import EvidenceLog, ScoreLog
from anml.ledger.services.verify import check_statement, verify
from anml.ledger.signing import from_key
from anml.ledger.state_people import Keys, Payees
from anml.ledger.store import Ledger, open_ledger
from anml.settlement.allocate import UNIT
from ledger.ledger_hand import Hand, at, pid, private, public
from ledger.ledger_queries import events
from ledger.ledger_world import World, simple_rows
from ledger.test_further_attacks import append_raw, last, released
from ledger.test_insiders import IBANS, posted, problems, unlock


# --- the database answers one question in one way and another in another
def lie(world: World, table: str, *sql: str) -> None:
    """Put a view in the place of a table, as the owner of a PostgreSQL database can."""
    columns = ", ".join(column.name for column in schema.metadata.tables[table].columns)
    filled = [text.format(columns=columns, table=table) for text in sql]
    insert = (
        f"CREATE FUNCTION put_{table}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        f"INSERT INTO {table}_real SELECT NEW.*; RETURN NEW; END $$",
        f"CREATE TRIGGER put INSTEAD OF INSERT ON {table} FOR EACH ROW EXECUTE FUNCTION put_{table}()",
    )
    unlock(world, f"ALTER TABLE {table} RENAME TO {table}_real", *filled, *insert)


def swap_index(world: World, index: str, table: str, column: str, doctored: str) -> None:
    """Let an index of SQLite lead where another one, of a doctored copy of its table, leads."""
    world.ledger.close()
    base = sqlite3.connect(world.url)
    base.execute(f"CREATE TABLE copy AS SELECT rowid AS row, * FROM {table}")
    base.execute("CREATE TABLE other (row INTEGER PRIMARY KEY, value TEXT)")
    base.execute(f"INSERT INTO other SELECT row, {doctored} FROM copy")
    base.execute("CREATE INDEX other_index ON other (value)")
    base.commit()
    base.execute("PRAGMA writable_schema = ON")
    pages = dict(base.execute("SELECT name, rootpage FROM sqlite_master WHERE type = 'index'"))
    for name, page in ((index, pages["other_index"]), ("other_index", pages[index])):
        base.execute("UPDATE sqlite_master SET rootpage = ? WHERE name = ?", (page, name))
    base.commit()
    base.close()
    world.reopen()


def test_an_index_that_hides_a_dispute_releases_nothing(make_world):
    world = make_world("sqlite")
    sid, pids = posted(world)
    world.ledger.write(lambda tx: book.open_dispute(tx, sid, pids["ben"], "other", "d", "cat"))
    world.clock.pass_days(15)
    swap_index(world, "event_kind", "event", "kind", "CASE kind WHEN 'dispute.opened' THEN 'x' ELSE kind END")
    with pytest.raises(IntegrityError, match="integrity check"):
        release_settlement(world.ledger, sid)


def test_a_view_that_knows_what_is_asked_pays_nobody_more(make_world):
    """Sums come out ten times as high, and everything else as it is."""
    world = make_world("postgresql")
    _, pids = released(world)
    said = (
        "CREATE VIEW {table} AS SELECT seq, line, account, currency, "
        f"CASE WHEN account = 'payable:{pids['ben']}' "
        "AND current_query() ILIKE '%sum(%' THEN amount * 10 ELSE amount END AS amount, settlement "
        "FROM {table}_real"
    )
    lie(world, "posting", said)
    world.reopen()
    with pytest.raises(
        IntegrityError, match="nothing is written to a ledger that does not verify: the relation"
    ):
        payout.create_batch(world.ledger, "p1", "EUR", "cat")


def test_names_and_sums_are_those_that_were_verified(world, monkeypatch):
    """Rows change while the step is under way, after they were read: the step goes by what was read."""
    _, pids = released(world)
    read = audit.read_and_verify

    def then_lie(connection, *more, **named):
        found = read(connection, *more, **named)
        connection.execute(sa.update(schema.alias).values(pid=pids["ann"]))
        rows = {"seq": 1, "account": f"payable:{pids['ben']}", "currency": "EUR", "amount": 10**12}
        connection.execute(sa.insert(schema.posting).values(line=0, settlement="", **rows))
        return found

    monkeypatch.setattr(audit, "read_and_verify", then_lie)
    made = world.ledger.rehearse(lambda tx: book.free_id(tx, "x"))
    run = world.run(simple_rows({"ann": 1, "ben": 1}))
    drafted = settle.draft_settlement(
        world.ledger.dry(), run, settle.SettlementTerms(10**7, "EUR", "ann", source="run")
    )
    assert drafted.amounts[pids["ben"]][0] == 5_000_000
    made = payout.create_batch(world.ledger.dry(), "p1", "EUR", "cat")
    assert {item.pid: item.amount for item in made.batch.payments}[pids["ben"]] == 5_000_000


# --- with the log's key, and no key of staff
FORGED = {
    kinds.FAILED: lambda sid, ben: ({"batch": "p1", "amount": 5_000_000}, ben, "", (
        ("clearing:p1", "EUR", -5_000_000), (f"payable:{ben}", "EUR", 5_000_000))),
    kinds.RELEASED: lambda sid, ben: ({"r": UNIT}, ben, sid, (
        (f"held:{ben}", "EUR", -5_000_000), (f"payable:{ben}", "EUR", 5_000_000))),
    kinds.REVERSED: lambda sid, ben: ({"reason": "other", "amount": 5_000_000, "proposal": 0}, ben, sid, (
        (f"held:{ben}", "EUR", -5_000_000), ("source:pool", "EUR", 5_000_000))),
    kinds.SCORED: lambda sid, ben: ({"domain": "default", "source": "gold", "batch": "b", "of": 1, "rows": 1,
        "at": "2026-01-02T00:00:00.000000Z", "quality": UNIT, "items": ["i"]}, ben, "", ()),
    kinds.REGISTERED: lambda sid, ben: ({"record": "r", "account": "a"}, "c" + "7" * 32, "", ()),
}  # fmt: skip


def forged(world: World, kind: str, sid: str, ben: str) -> Event:
    body, subject, settlement, moved = FORGED[kind](sid, ben)
    seq, prev, when = last(world)
    lines = tuple(Posting(*line) for line in moved)
    made = Event(seq + 1, kind, f"forged/{seq}", subject, when, body, settlement, lines, prev, b"")
    append_raw(world, made)
    return made


@pytest.mark.parametrize("kind", FORGED)
def test_nobody_writes_on_top_of_an_end_that_only_the_logs_key_made(world, kind):
    """The next honest signature would stand for it: a payment that "came back" would be sent twice."""
    sid, pids = posted(world)
    world.clock.pass_days(15)
    if kind == kinds.FAILED:
        world.pay_to(pids["ben"], {"name": "Ben", "iban": IBANS[0]})
        release_settlement(world.ledger, sid)
        payout.create_batch(world.ledger, "p1", "EUR", "cat")
    made = forged(world, kind, sid, pids["ben"])
    world.reopen()
    for step in (
        lambda: world.register("test", ["new"]),
        lambda: release_settlement(world.ledger, sid),
        lambda: payout.create_batch(world.ledger, "p2", "EUR", "cat"),
        lambda: world.draft(world.run(simple_rows({"ann": 1})), "1"),
        lambda: world.ledger.write(
            lambda tx: two_people.propose(tx, kinds.REVIEWER_NAMED, pids["ben"], {"on": True}, "ann")
        ),
        lambda: statement.build(world.ledger, sid),
    ):
        with pytest.raises(IntegrityError, match=f"entry {made.seq}, {kind}"):
            step()
    assert f"entry {made.seq}, {kind}" in problems(world)


def test_a_forged_signature_on_top_of_forged_entries_is_no_end_either(world):
    sid, pids = posted(world)
    world.clock.pass_days(15)
    forged(world, kinds.RELEASED, sid, pids["ben"])
    seq, prev, when = last(world)
    with world.ledger.read() as connection:
        (known,) = [e for e in events(connection, [kinds.APPROVED]) if e.subject == sid]
    place = {"seq": seq + 1, "key": "k", "at": when, "prev": prev, "first": seq, "root": "0" * 64}
    append_raw(world, known._replace(kind=kinds.RELEASED_ALL, body={}, postings=(), **place))
    world.reopen()
    with pytest.raises(IntegrityError, match="nothing is written to a ledger that does not verify"):
        world.register("test", ["new"])


def test_a_signature_names_the_first_entry_it_covers_and_what_they_are(world):
    sid, _ = posted(world)
    world.clock.pass_days(15)
    release_settlement(world.ledger, sid)
    with world.ledger.read() as connection:
        own = [e for e in events(connection, [kinds.RELEASED]) if e.settlement == sid]
        signed = [e for e in events(connection, [kinds.RELEASED_ALL]) if e.subject == sid][-1]
    assert (signed.first, signed.root) == (own[0].seq, MerkleTree([e.hash for e in own]).root.hex())
    assert signed.seq == own[-1].seq + 1


@pytest.mark.parametrize(
    "changed", [{"first": 0, "root": ""}, {"first": 1}, {"root": "0" * 64}, {"root": ""}]
)
def test_a_signature_for_other_entries_is_refused(changed):
    hand = Hand(staff=("bob",))
    hand.state.strict = True
    made = hand.make(kinds.REGISTERED, pid(1), {"record": "r", "account": "a"})._replace(hash=b"1" * 32)
    hand.state.check(made)
    hand.state.accept(made)
    hand.log.append(made)
    first, root = hand.state.covering(made.seq + 1)
    good = hand.make(kinds.RECORDS_SIGNED, "x", {"what": "import"}, by="ann")._replace(first=first, root=root)
    hand.state.check(good)
    with pytest.raises(IntegrityError, match="did not sign for just the entries that it covers"):
        hand.state.check(good._replace(**changed))


# --- what is kept between transactions
def test_what_was_read_before_is_used_where_the_log_goes_on_from_it(world):
    posted(world)
    (kept,) = world.ledger.memory
    other = open_ledger(world.url, world.keys, world.clock)
    other.signers.name = "ann"
    other.write(lambda tx: tx.append(kinds.RECORDS_SIGNED, "k", "x", {"what": "import"}, by="ann"))
    other.close()
    found = world.ledger.rehearse(lambda tx: tx.verified())
    assert found is kept
    assert len(found.hashes) == world.size()


def test_a_log_that_was_put_back_is_no_continuation_of_what_was_read(make_world):
    import shutil

    world = make_world("sqlite")
    world.ledger.close()
    shutil.copy(world.url, f"{world.url}.old")
    world.reopen()
    posted(world)
    memory = world.ledger.memory
    world.ledger.close()
    shutil.copy(f"{world.url}.old", world.url)
    ledger = Ledger(
        world.reopen().engine, world.ledger.keys, world.clock, signers=world.ledger.signers, memory=memory
    )
    with pytest.raises(IntegrityError, match="does not verify"):
        ledger.rehearse(lambda tx: tx.verified())


def test_a_proposal_lapses(world):
    pids = world.register("run", ["ben"])
    made = world.ledger.write(
        lambda tx: two_people.propose(tx, kinds.REVIEWER_NAMED, pids["ben"], {"on": True}, "ann")
    )
    world.clock.pass_days(61)
    with pytest.raises(
        ConflictError, match=f"proposal {made.seq} is of 2026-01-01 and has lapsed; propose it again"
    ):
        world.confirm(made.seq)
    assert verify(world.ledger).problems == []


# --- lost keys, and clocks that were ahead
def recovering(make_world, engine: str = "sqlite") -> World:
    """Two people and a sealed key; bob loses his."""
    return make_world(engine, staff=("ann", "bob"), recovery=keys.public_text(public("sealed")))


@pytest.mark.parametrize("engine", ["sqlite", "postgresql"])
def test_of_two_people_one_with_the_recovery_key_renews_the_lost_key_of_the_other(make_world, engine):
    world = recovering(make_world, engine)
    (world.keys / "staff" / "bob.pem").unlink()
    new = world.key("bob")
    with pytest.raises(IntegrityError, match="is not the key that is registered for 'bob'"):
        settle.approve_settlement(world.ledger, world.draft(world.run(simple_rows({"x": 1})), "1").id, "bob")
    world.reopen()
    signer = from_key(private("sealed"))
    made = world.ledger.write(lambda tx: two_people.propose_key_renewal(tx, "bob", new, signer, "ann"))
    assert (made.kind, made.by, made.subject) == (kinds.STAFF_RENEWED, "ann", "bob")
    sid = world.post(world.run(simple_rows({"x": 1})), "1")
    assert problems(world) == ""
    # Statements follow the new key back to the founder, too.
    (found,) = statement.build(world.ledger, sid).values()
    assert check_statement(statement.sign(world.ledger, found), world.ledger.ring.public)


@pytest.mark.parametrize("who", ["nobody", "another", "none"])
def test_without_the_recovery_key_one_person_renews_nothing(make_world, who):
    world = recovering(make_world) if who != "none" else make_world("sqlite", staff=("ann", "bob"))
    signer = from_key(private("sealed" if who == "none" else "thief"))
    with pytest.raises(AnmlError, match=r"recovery key did not sign it|no recovery key"):
        world.ledger.write(lambda tx: two_people.propose_key_renewal(tx, "bob", public("new"), signer, "ann"))
    number = world.ledger.write(
        lambda tx: two_people.propose_key_renewal(tx, "bob", public("new"), None, "ann")
    ).seq
    with pytest.raises(ConflictError, match="'ann' proposed this"):
        world.confirm(number, by="ann")


def test_a_recovery_signature_counts_at_its_place_alone(make_world):
    """A recovery signature names the previous entry, so it cannot be reused later."""
    world = recovering(make_world)
    signer = from_key(private("sealed"))
    world.ledger.write(lambda tx: two_people.propose_key_renewal(tx, "bob", public("new"), signer, "ann"))
    with world.ledger.read() as connection:
        (old,) = events(connection, [kinds.STAFF_RENEWED])
    with pytest.raises(AnmlError):
        world.ledger.write(lambda tx: tx.append(kinds.STAFF_RENEWED, "again", "bob", old.body, by="ann"))
    other = {**old.body, "public": keys.public_text(public("newer"))}
    with pytest.raises(IntegrityError, match="the recovery key did not sign it"):
        world.ledger.write(lambda tx: tx.append(kinds.STAFF_RENEWED, "again", "bob", other, by="ann"))


def test_an_old_key_signs_no_more_and_is_nobodys_again(make_world):
    world = make_world("sqlite", staff=("ann", "bob", "cat"))
    old = world.key("bob")
    number = world.ledger.write(
        lambda tx: two_people.propose_key_renewal(tx, "bob", public("new"), None, "ann")
    ).seq
    world.confirm(number, by="cat")
    with pytest.raises(IntegrityError, match="is not the key that is registered for 'bob'"):
        world.ledger.write(lambda tx: tx.append(kinds.RECORDS_SIGNED, "k", "x", {"what": "import"}, by="bob"))
    number = world.ledger.write(lambda tx: two_people.propose_staff(tx, "dan", old, ["payer"], "ann")).seq
    with pytest.raises(ConflictError, match="this key belongs to somebody else already"):
        world.confirm(number, by="cat")


def test_a_clock_that_was_thirty_years_ahead_is_mended_by_two(world):
    """One import under a wrong clock would stop every payout until then."""
    sid, pids = posted(world)
    now = world.clock.now
    world.clock.pass_days(30 * 365)
    world.pay_to(pids["ben"], {"iban": IBANS[0]})
    world.clock.now = now + timedelta(days=15)
    for step in (lambda: world.register("test", ["x"]), lambda: release_settlement(world.ledger, sid)):
        with pytest.raises(AnmlError, match="`anml-ledger verify --repair-clock`"):
            step()
    assert "is dated later than it is here" in problems(world)
    number = world.ledger.write(lambda tx: two_people.propose(tx, kinds.CLOCK, "", {}, "ann")).seq
    with pytest.raises(ConflictError, match="'ann' proposed this"):
        world.confirm(number, by="ann")
    world.confirm(number, by="bob")
    assert problems(world) == ""
    release_settlement(world.ledger, sid)
    made = payout.create_batch(world.ledger, "p1", "EUR", "cat", rail="pain001")
    assert [item.pid for item in made.batch.payments] == [pids["ben"]]
    # Where nothing is ahead there is nothing to mend: windows would begin anew.
    number = world.ledger.write(lambda tx: two_people.propose(tx, kinds.CLOCK, "", {}, "ann")).seq
    with pytest.raises(ConflictError, match="is not ahead"):
        world.confirm(number, by="bob")


def test_waits_that_began_ahead_of_time_begin_when_the_clock_is_mended():
    hand = Hand()
    hand.register(1)
    hand.days = 9_000
    hand.by_two(kinds.PAYEE_SET, pid(1), {"digest": "d"}, record="r", payee="")
    number = hand.propose(kinds.CLOCK, "", {})
    hand.days = 5
    hand.add(kinds.CLOCK, "", {"proposal": number}, by="bob")
    assert hand.state.part(Payees).changed[pid(1)] == at(5)
    hand.days = 4
    with pytest.raises(IntegrityError, match="older than the entry before it"):
        hand.register(2)


def test_what_was_revoked_ahead_of_time_stays_revoked_when_the_clock_is_mended():
    """Until that time came, the key would have vouched again, and a flag would have been none."""
    hand = Hand()
    hand.register(1)
    name, said = sha256(public("lab"))[:16], {"scope": "*", "until": None, "paper": "", "sealed": ""}
    body = {"owner": "lab", "public": keys.public_text(public("lab")), "may": ["reproduced"],
            "since": at(0), "until": None}  # fmt: skip
    hand.by_two(kinds.KEY_TRUSTED, name, body)
    hand.days = 9_000
    hand.add(kinds.KEY_REVOKED, name, {"compromised": False}, by="ann")
    flag = {"kind": "admin-flag", "issuer": "tool", "at": at(9_000), "vouched": "platform", "key": "", **said}
    hand.add(kinds.EVIDENCE, pid(1), flag)
    score = {"domain": "default", "source": "gold", "batch": "b", "at": at(9_000), "quality": 0, "rows": 1,
             "of": 1, "items": ["i"]}  # fmt: skip
    hand.add(kinds.SCORED, pid(1), score)
    hand.add(kinds.RECORDS_SIGNED, "", {"what": "import"}, by="ann")
    number = hand.propose(kinds.CLOCK, "", {})
    hand.days = 5
    hand.add(kinds.CLOCK, "", {"proposal": number}, by="bob")
    hand.days = 6
    known = hand.state.part(Keys).known[name]
    assert (known.since, known.revoked, known.stands(at(6), at(6))) == (at(0), at(5), False)
    (flagged,) = hand.state.part(EvidenceLog).found
    assert (flagged.at, flagged.received) == (at(5), at(5))
    ((_, _, scored),) = hand.state.part(ScoreLog).found
    assert scored.at == seconds(at(5))
    vouched = {
        **said,
        "kind": "reproduced",
        "issuer": "lab",
        "at": at(6),
        "vouched": "signature",
        "key": name,
    }
    with pytest.raises(IntegrityError, match="is not valid for"):
        hand.check(kinds.EVIDENCE, pid(1), vouched)
