"""Attacks through the database, or by one staff member with a modified program.

Each worked once. Those that have nothing to do with the database run on one engine.
"""

import json
import os

import pytest
import sqlalchemy as sa

from anml.core.canonical import canonical, leaf_hash, sha256
from anml.core.errors import AnmlError, ConflictError, InputError, IntegrityError
from anml.ledger import book, checkpoint, evidence, keys, kinds, schema, two_people
from anml.ledger import personal_data as people
from anml.ledger import replay as audit
from anml.ledger.contributors.names import by_person, find_person, shown_names
from anml.ledger.log import encode_event
from anml.ledger.pay import disputes as appeals
from anml.ledger.pay import payout, settle, statement
from anml.ledger.pay.settle import release_settlement
from anml.ledger.reading import alias_digest, record_digest
from anml.ledger.rules import appeal_bytes
from anml.ledger.services import steps
from anml.ledger.services.annotate import Import, import_file
from anml.ledger.services.steps import describe_proposal
from anml.ledger.services.verify import (
    check_against_checkpoints,
    make_consistency_proof,
    sign_checkpoint,
    verified,
)
from anml.ledger.signing import from_file, signature
from anml.ledger.state import load_component
from anml.ledger.state_money import Disputes
from anml.pipeline import read as runs
from ledger.ledger_queries import events, who_is
from ledger.ledger_world import World, simple_rows
from ledger.test_further_attacks import last, released
from ledger.test_insiders import IBANS, posted, problems, unlock
from ledger.test_reading import lie


def with_newcomer(world: World) -> tuple[str, str]:
    """A settlement that holds somebody's amount who is new; its window is over."""
    world.establish("ann", "ben")
    sid = world.post(world.run(simple_rows({"ann": 5, "ben": 5, "new": 5})), "15")
    world.clock.pass_days(15)
    with world.ledger.read() as connection:
        return sid, who_is(connection, world.ledger.ring, "run", "new")


# --- one reviewer, with a program of their own
def test_evidence_that_no_key_signed_ends_no_hold(world):
    sid, new = with_newcomer(world)
    lab = world.trust(keys.read_public(keys.create_signer(world.folder / "lab.pem")))

    def forge(tx):
        tx.verified()
        paper = people.store_document(tx, new, b'{"no": "envelope"}')
        said = ("https://lab.example/qa", tx.now, "*", None, "signature", lab, *paper.values())
        evidence.add_records(tx, [evidence.EvidenceRecord("affiliation", new, *said)])
        evidence.sign_records(tx, "attestation", "x", "eve")

    world.ledger.write(forge)
    assert "evidence.added: this is not a DSSE envelope" in problems(world)
    for again in (False, True):
        if again:
            world.reopen()
        with pytest.raises(IntegrityError, match=r"nothing is written to .* not a DSSE envelope"):
            release_settlement(world.ledger, sid)


def test_an_attestation_about_somebody_else_ends_no_hold(world):
    """The paper is sound, and is about another contributor."""
    sid, new = with_newcomer(world)
    world.vouch(new)
    with world.ledger.read() as connection:
        (given,) = events(connection, [kinds.EVIDENCE])
        paper = people.read_document(connection, world.ledger.ring, new, given.body["paper"])
    other = world.register("run", ["other"])["other"]

    def forge(tx):
        tx.verified()
        held = people.store_document(tx, other, paper)
        evidence.add_records(tx, [evidence.EvidenceRecord(**{**given.body, **held}, pid=other)])
        evidence.sign_records(tx, "attestation", "x", "eve")

    world.ledger.write(forge)
    assert "is about something else" in problems(world)
    with pytest.raises(IntegrityError, match="about something else"):
        release_settlement(world.ledger, sid)


def test_an_account_does_not_lead_to_somebody_whose_record_lacks_it(world):
    """Alice's account is registered as another person, who would be shown, confirmed and paid."""
    ledger = world.ledger

    def forge(tx):
        pid, key, salt = ledger.new_id(), ledger.entropy(32), ledger.entropy(16).hex()
        handle = ledger.ring.handle(people.ACCOUNT, "run\x00alice")
        wrapped = keys.encrypt(ledger.ring.master, key, f"key/{pid}")
        sealed = keys.encrypt(key, canonical({"accounts": ["run:mallory"]}), f"person/{pid}")
        body = {"record": record_digest(pid, wrapped, sealed), "account": alias_digest(handle, pid, salt)}
        tx.append(kinds.REGISTERED, f"contributor/{pid}", pid, body)
        rows = {
            schema.person_key: {"wrapped": wrapped},
            schema.person: {"sealed": sealed},
            schema.alias: {"handle": handle, "salt": salt},
        }
        for table, row in rows.items():
            tx.connection.execute(sa.insert(table).values(pid=pid, **row))
        evidence.sign_records(tx, "import", "x", "eve")

    ledger.write(forge)
    with pytest.raises(IntegrityError, match=r"account run:alice leads to c0+1, whose record does not have"):
        world.draft(world.run(simple_rows({"alice": 3, "bea": 3})), "10")


def test_nobody_is_called_what_one_person_wrote_into_a_profile(world):
    """Ben would be shown as Mallory, whose account whoever confirms it has heard on the telephone."""
    sid, pids = posted(world)
    world.pay_to(pids["ann"], {"name": "Ann Other", "iban": IBANS[1]})

    def alone(tx, pid, **more):
        tx.verified()
        about = people.profile(tx.reading, world.ledger.ring, pid) | more
        body = {"record": people.store_profile(tx, pid, about)}
        tx.append(kinds.CHANGED, f"k{tx.next_seq}", pid, body, by="eve")

    world.ledger.write(lambda tx: alone(tx, pids["ben"], name="Mallory", accounts=["run:mallory", "run:ben"]))
    world.ledger.write(lambda tx: alone(tx, pids["ann"], name="ben", accounts=["run:ben"], iban=IBANS[0]))
    world.reopen()
    assert problems(world) == ""
    asked = payout.set_payees(world.ledger, {pids["ben"]: {"name": "Mallory", "iban": IBANS[0]}}, by="eve")[0]
    (shown,) = world.ledger.rehearse(lambda tx: steps.confirmation(tx, [asked], "bob"))["items"]
    assert shown["name"] == "ben"
    assert describe_proposal(shown).startswith(f"pay ben (run:ben, {pids['ben']}) under ")
    assert [find_person(world.ledger, name) for name in ("ben", "Ann Other")] == [pids["ben"], pids["ann"]]
    for name in ("Mallory", "run:mallory"):
        with pytest.raises(InputError, match="there is no contributor"):
            find_person(world.ledger, name)
    made = statement.build(world.ledger, sid, by="bob")
    assert [made[pids[name]]["name"] for name in ("ann", "ben")] == ["Ann Other", "ben"]


def test_a_place_may_be_an_address_and_a_name_may_have_colons(world):
    rows = simple_rows({"a:b": 3, "c": 3})
    for _ in range(2):
        world.reopen()
        made = world.draft(world.run(rows), "10", source="https://tool.example:8080")
        rows = rows.head(5)
    with verified(world.ledger, "x") as reading:
        shown = shown_names(world.ledger, reading)
    assert len(shown) == len(made.amounts) == 2
    assert sorted(name.rpartition("8080:")[2] for name in shown.values()) == ["a:b", "c"]


def test_a_draft_makes_up_no_line(world, monkeypatch):
    monkeypatch.setattr(settle, "require_single_line", lambda what, text: text)
    with pytest.raises(InputError, match="is one line"):
        world.draft(world.run(simple_rows({"x": 1})), "1", project="Leaves\x1b[2K\rs1: 0.01 EUR")


def test_an_appeal_that_was_signed_once_stands_once(world):
    sid, pids = posted(world)
    ben, public = pids["ben"], keys.read_public(keys.create_signer(world.folder / "ben.pem"))
    world.trust(public, owner=ben, may=["self"])
    paper = sha256(canonical({"text": "more", "salt": "ab"}))
    signed = signature(
        from_file(world.folder / "ben.pem"), appeal_bytes("test-ledger", sid, ben, "other", paper)
    )
    given = {"reason": "other", "text": "more", "salt": "ab", "key": sha256(public)[:16], "signed": signed}
    appeals.open_dispute(world.ledger, sid, ben, "other", signed=given, by="ann")
    appeals.answer(world.ledger, sid, ben, "rejected", "as-computed", by="bob")
    with pytest.raises(ConflictError, match="taken in before"):
        appeals.open_dispute(world.ledger, sid, ben, "other", signed=given, key="again", by="ann")


# --- the database answers otherwise for a moment
def test_an_import_goes_by_the_names_that_were_verified(make_world, tmp_path):
    """Two names change places, and the entries that vouch for them say so while they are asked for."""
    world = make_world("postgresql")
    pids, handle = world.establish("ann", "ben"), world.ledger.ring.handle
    ann, ben = (handle(people.ACCOUNT, f"run\x00{name}") for name in ("ann", "ben"))
    with world.ledger.read() as connection:
        there = {pids["ann"]: ben, pids["ben"]: ann}
        fake = {
            e.subject: encode_event(
                e._replace(body={**e.body, "account": alias_digest(there[e.subject], e.subject, "aa")})
            )
            for e in events(connection, [kinds.REGISTERED])
        }
    swapped = f"CASE handle WHEN '{ann}' THEN '{ben}' WHEN '{ben}' THEN '{ann}' ELSE handle END"
    lie(world, "alias", f"CREATE VIEW {{table}} AS SELECT {swapped} AS handle, pid, 'aa' AS salt "
        "FROM {table}_real")  # fmt: skip
    cases = " ".join(
        f"WHEN subject = '{pid}' AND kind = 'contributor.registered' "
        f"AND current_query() ILIKE '%subject in%' THEN decode('{entry.hex()}', 'hex')"
        for pid, entry in fake.items()
    )
    lie(world, "event", "CREATE VIEW {table} AS SELECT seq, kind, key, subject, at, "
        f"CASE {cases} ELSE entry END AS entry, hash FROM {{table}}_real")  # fmt: skip
    world.reopen()
    (tmp_path / "e.csv").write_text("item,annotator,label\ni1,ann,a\ni1,ben,b\n")
    columns = {"label": "label", "contributor": "annotator", "item": "item"}
    with pytest.raises(IntegrityError, match="nothing is written to a ledger that does not verify"):
        import_file(world.ledger, Import(tmp_path / "e.csv", source="run", columns=columns))
    with pytest.raises(IntegrityError, match="nothing is looked up in"):
        find_person(world.ledger, "ann")


def test_nothing_is_signed_of_a_log_that_was_not_verified(world, tmp_path):
    """A column of hashes, or an end that was cut off, would get the signature of the log's key."""
    note = sign_checkpoint(world.ledger)["note"]
    released(world)
    size = world.size()
    world.reopen()
    with world.ledger.read() as connection:
        kept = connection.execute(sa.select(schema.event).where(schema.event.c.seq == 3)).one().hash
    hashed = sa.update(schema.event).where(schema.event.c.seq == 3)
    ends = [sa.delete(table).where(table.c.seq > size - 3) for table in (schema.posting, schema.event)]
    for changes in ([hashed.values(hash=bytes(32))], [hashed.values(hash=kept), *ends]):
        unlock(world, *changes)
        with pytest.raises(IntegrityError, match="nothing is signed of a ledger that does not verify"):
            sign_checkpoint(world.ledger)
        with pytest.raises(IntegrityError, match="nothing is proved of"):
            make_consistency_proof(world.ledger, note)
        assert check_against_checkpoints(world.ledger, tmp_path).problems
        assert list(tmp_path.glob("*.txt")) == []


def test_the_books_beside_a_batch_are_those_that_were_verified(world, monkeypatch, tmp_path):
    released(world)
    read = audit.read_and_verify

    def then_lie(connection, *more, **named):
        found = read(connection, *more, **named)
        guard = "DROP TRIGGER event_no_update" if connection.dialect.name == "sqlite" else (
            "SET LOCAL session_replication_role = replica")  # fmt: skip
        connection.exec_driver_sql(guard)
        (row, *_) = connection.execute(
            sa.select(schema.event).where(schema.event.c.kind == kinds.RELEASED)
        ).all()
        other = row.entry.replace(b"5000000", b"9000000")
        connection.execute(sa.update(schema.event).where(schema.event.c.seq == row.seq).values(entry=other))
        return found

    world.reopen()
    monkeypatch.setattr(audit, "read_and_verify", then_lie)
    with pytest.raises(IntegrityError, match="gives another entry"):
        payout.create_batch(world.ledger, "p1", "EUR", "cat", out=tmp_path / "bank")
    assert list((tmp_path / "bank").glob("*")) == []


def test_no_batch_counts_whose_payer_could_not_remember_it(world, tmp_path):
    """Its files were gone, and it stood in the log, where the note beside the payer's key has no place."""
    released(world)
    (place,) = payout.draft_last_seen(world.ledger, world.ledger.rehearse(lambda tx: tx.verified()))
    for draft in place.parent.glob(f".{place.name}.*"):
        draft.unlink()
    place.mkdir()
    size = world.size()
    with pytest.raises(InputError, match="cannot be written: it is a folder"):
        payout.create_batch(world.ledger, "p1", "EUR", "cat", out=tmp_path / "bank")
    assert (world.size(), list((tmp_path / "bank").iterdir())) == (size, [])
    place.rmdir()
    made = payout.create_batch(world.ledger, "p1", "EUR", "cat", out=tmp_path / "bank")
    assert sorted(made.files) == sorted((tmp_path / "bank").iterdir())
    assert [path.name for path in place.parent.glob(".*")] == []


SPOILT = (
    b'{"a":' + b"9" * 5_000 + b"}", b"[" * 100_000, b'{"a":NaN}', b"\xff", b"null", b'{"postings":[[1]]}',
)  # fmt: skip


@pytest.mark.parametrize("raw", SPOILT, ids=range(len(SPOILT)))
def test_what_no_program_writes_is_one_sentence_sealed_or_not(world, raw):
    """With the log's key even the end of the log can be anything."""
    seq, _, when = last(world)
    row = {"seq": seq + 1, "kind": "x", "key": "x", "subject": "x", "at": when}
    unlock(world, sa.insert(schema.event).values(**row, entry=raw, hash=leaf_hash(raw)))
    with world.ledger.engine.begin() as connection:
        checkpoint.sign_head(connection, world.ledger.ring, seq + 1, leaf_hash(raw).hex())
    world.reopen()
    assert problems(world)
    with pytest.raises(IntegrityError, match="cannot be read"):
        world.register("test", ["x"])


# --- clocks, files and lists
def test_what_began_ahead_of_time_is_due_and_lapses_from_when_the_clock_was_mended(world):
    sid, pids = posted(world, window_days=3_650)
    world.clock.pass_days(365 * 9)
    asked = payout.set_payees(world.ledger, {pids["ben"]: {"name": "X", "iban": IBANS[0]}})[0]
    world.ledger.write(lambda tx: book.open_dispute(tx, sid, pids["ben"], "other", "d", "cat"))
    world.clock.pass_days(-365 * 9)
    mend = world.ledger.write(lambda tx: two_people.propose(tx, kinds.CLOCK, "", {}, "ann"))
    world.confirm(mend.seq)
    world.clock.pass_days(61)
    with world.ledger.read() as connection:
        assert load_component(Disputes, connection).every[0].late(world.clock.now.timestamp())
    with pytest.raises(ConflictError, match="has lapsed"):
        world.confirm(asked)


def test_a_run_is_the_record_that_was_read(make_world, monkeypatch):
    """Whoever can write to its folder changes the record back while it is read."""
    world = make_world("sqlite")
    folder, other = world.run(simple_rows({"a": 1, "b": 1})), world.run(simple_rows({"a": 1, "b": 99}))
    honest = (folder / "run.json").read_bytes()
    for name in ("samples.parquet", "run.json"):
        (folder / name).write_bytes((other / name).read_bytes())
    read = runs._read_info

    def then_back(*given):
        found = read(*given)
        (folder / "run.json").write_bytes(honest)
        return found

    monkeypatch.setattr(runs, "_read_info", then_back)
    with pytest.raises(IntegrityError, match="is not the run"):
        world.draft(folder, "10", digest=sha256(honest))


def test_no_key_is_written_through_what_somebody_planted(tmp_path, monkeypatch):
    theirs = tmp_path / "theirs"
    theirs.write_text("")
    theirs.chmod(0o666)
    shared = tmp_path / "shared"
    shared.mkdir()
    monkeypatch.setattr(keys.secrets, "token_hex", lambda size: "guessed")
    for name in (f".recovery.pem-{os.getpid()}", ".recovery.pem-guessed", "log.pub"):
        (shared / name).symlink_to(theirs)
    with pytest.raises(InputError, match="cannot be written"):
        keys.create_signer(shared / "recovery.pem")
    monkeypatch.undo()
    keys.create_keys(shared, "office")
    assert theirs.read_text() == ""
    assert not (shared / "log.pub").is_symlink()


def test_a_list_names_each_contributor_once_whatever_they_are_called(world):
    _, pids = released(world)
    with pytest.raises(InputError, match=r"list\.csv names a contributor twice, in two ways"):
        by_person(world.ledger, {"Ben": 1, pids["ben"]: 2}, "list.csv")
    assert by_person(world.ledger, {"Ben": 1, "run:ann": 2}, "list.csv") == {pids["ben"]: 1, pids["ann"]: 2}
    for amount in (6_000_000, -1, 0):
        with pytest.raises(AnmlError):
            payout.create_batch(world.ledger, "b", "EUR", "cat", listed={pids["ben"]: amount})
    assert json.loads(canonical(payout.batches(world.ledger))) == []
