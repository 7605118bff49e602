"""More ways to move money, standing or identities than the list of `test_insiders.py` has; each fails.

Tests that write to a database run on SQLite and on a real PostgreSQL; what the state machine alone decides is
asked without one, entry by entry.
"""

import base64
import json
import threading
from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa

from anml.core.canonical import MerkleTree, canonical, leaf_hash, sha256
from anml.core.errors import AnmlError, ConflictError, InputError, IntegrityError
from anml.ledger import book, checkpoint, evidence, keys, kinds, schema, signing, two_people
from anml.ledger import personal_data as people
from anml.ledger.contributors.identity import erase_contributor
from anml.ledger.log import (
    Event,
    Posting,
    decode_event,
    encode_event,
    format_timestamp,
    log_head,
    signed_bytes,
)
from anml.ledger.money import MAX_MICRO
from anml.ledger.pay import payout, settle, statement
from anml.ledger.pay.settle import release_settlement
from anml.ledger.replay import unexpected_objects
from anml.ledger.services import attest, steps
from anml.ledger.services.annotate import Import, import_file
from anml.ledger.services.steps import describe_proposal
from anml.ledger.services.verify import check_against_checkpoints, check_statement, sign_checkpoint, verify
from anml.ledger.signing import from_key
from anml.ledger.state_people import Payees, Proposals
from ledger.ledger_hand import Hand, at, line, manifest, pid, public
from ledger.ledger_queries import balances, events, leaves, open_proposals, who_is
from ledger.ledger_world import World, simple_rows, write_run
from ledger.test_insiders import GOLD, IBANS, merged, posted, problems, r_of, unlock

pytestmark = pytest.mark.slow


def released(world: World) -> tuple[str, dict[str, str]]:
    """Ann and Ben have five euros each to be paid; Ben's go to the first account."""
    sid, pids = posted(world)
    world.pay_to(pids["ben"], {"name": "Ben", "iban": IBANS[0]})
    world.clock.pass_days(15)
    release_settlement(world.ledger, sid)
    return sid, pids


def append_raw(world: World, made: Event, *, sealed: bool = True) -> None:
    """Put an entry at the end of the log, straight into the tables, and seal it with the log's key."""
    entry = encode_event(made)
    row = {"seq": made.seq, "kind": made.kind, "key": made.key, "subject": made.subject, "at": made.at,
           "entry": entry, "hash": leaf_hash(entry)}  # fmt: skip
    lines = [
        {"seq": made.seq, "line": place, "settlement": made.settlement, **item._asdict()}
        for place, item in enumerate(made.postings)
    ]
    inserts = [sa.insert(schema.posting).values(**each) for each in lines]
    unlock(world, sa.insert(schema.event).values(**row), *inserts)
    if sealed:
        with world.ledger.engine.begin() as connection:
            checkpoint.sign_head(connection, world.ledger.ring, made.seq, row["hash"].hex())


def last(world: World) -> tuple[int, str, str]:
    with world.ledger.read() as connection:
        seq, hashed, when = log_head(connection)
    return seq, hashed.hex(), when


# --- with the database and the log's key, and no key of staff
def test_a_signed_entry_of_another_ledger_says_nothing_here(world, make_world):
    """Staff may keep two ledgers with one key; what they approved there is not approved here."""
    sid = world.draft(world.run(simple_rows({"x": 1})), "1").id
    other = make_world("sqlite")
    for name in ("ann", "bob"):
        key = (world.keys / "staff" / f"{name}.pem").read_bytes()
        assert key != (other.keys / "staff" / f"{name}.pem").read_bytes()
    settle.approve_settlement(other.ledger, other.draft(other.run(simple_rows({"x": 1})), "1").id, "bob")
    with other.ledger.read() as connection:
        (foreign,) = events(connection, [kinds.APPROVED])
    seq, prev, when = last(world)
    there = foreign._replace(seq=seq + 1, prev=prev, at=when, key="k", subject=sid, settlement=sid)
    append_raw(world, there)
    assert f"entry {seq + 1}, settlement.approved" in problems(world)


def test_a_signed_entry_at_another_place_of_the_log_is_not_signed(world):
    """A signed entry that is moved to the end and renumbered has no valid signature."""
    released(world)
    with world.ledger.read() as connection:
        signed = [e for e in events(connection) if e.sig]
    for old in (signed[-1], signed[0], next(e for e in signed if e.kind == kinds.PAYEE_SET)):
        seq, prev, when = last(world)
        append_raw(world, old._replace(seq=seq + 1, prev=prev, at=when, key=f"again/{seq}"))
        assert f"entry {seq + 1}, {old.kind}" in problems(world)


def test_a_signature_of_other_bytes_is_no_signature_of_these(world):
    """Neither what was signed of a part of the entry, nor in another context, nor a mirrored signature."""
    sid = world.draft(world.run(simple_rows({"x": 1})), "1").id
    with world.ledger.read() as connection:
        (draft,) = events(connection, [kinds.DRAFTED])
    key = keys.read_private(world.keys / "staff" / "bob.pem")
    seq, prev, when = last(world)
    body = {"manifest": draft.body["manifest"], "head": draft.body["head"]}
    made = Event(seq + 1, kinds.APPROVED, "k", sid, when, body, sid, (), prev, b"", "bob")
    moved = (Posting("source:pool", "EUR", -1_000_000), Posting(f"funding:{sid}", "EUR", 1_000_000))
    whole = signed_bytes(made._replace(postings=moved))
    order = 2**252 + 27742317777372353535851937790883648493
    real = key.sign(whole)
    mirrored = real[:32] + (int.from_bytes(real[32:], "little") + order).to_bytes(32, "little")
    for raw in (key.sign(whole[:-1]), key.sign(encode_event(made)), key.sign(b"x" + whole), mirrored, b""):
        sig = base64.b64encode(raw).decode()
        state = _state_at(world)
        with pytest.raises(IntegrityError, match="did not sign it"):
            state.check_signature(made._replace(postings=moved, sig=sig))
    _state_at(world).check_signature(made._replace(postings=moved, sig=base64.b64encode(real).decode()))


def _state_at(world: World):
    from anml.ledger.state import State

    with world.ledger.read() as connection:
        documents = {row.sha256: row.body for row in connection.execute(sa.select(schema.document))}
        log = list(events(connection))
    state = State(documents.get)
    for e in log:
        state.check(e)
        state.accept(e)
    return state


# --- with the database alone
def test_a_batch_whose_amounts_were_changed_is_not_written_again(world, tmp_path):
    """The file for the bank can be written anew at any time; it must not come from changed entries."""
    released(world)
    payout.create_batch(world.ledger, "p1", "EUR", "cat", rail="pain001")
    with world.ledger.read() as connection:
        sent, *_ = events(connection, [kinds.SENT])
    more = encode_event(sent._replace(body={**sent.body, "amount": 9 * 10**12}))
    unlock(world, sa.update(schema.event).where(schema.event.c.seq == sent.seq).values(entry=more))
    world.reopen()
    with pytest.raises(IntegrityError, match="nothing is paid from a ledger that does not verify"):
        payout.write_files(world.ledger, "p1", None, tmp_path)


def test_names_that_are_moved_for_a_moment_move_nothing(world, tmp_path):
    """Re-point a name, wait for somebody to import or settle, put it back: later nothing would be seen."""
    pids = world.establish("ann", "ben")
    table = schema.alias
    with world.ledger.read() as connection:
        handle = connection.scalar(sa.select(table.c.handle).where(table.c.pid == pids["ben"]))
    unlock(world, sa.update(table).where(table.c.handle == handle).values(pid=pids["ann"]))
    with pytest.raises(IntegrityError, match="nothing is written to a ledger that does not verify"):
        world.draft(world.run(simple_rows({"ann": 1, "ben": 1})), "10", source="run")
    with pytest.raises(IntegrityError, match=r"does not verify|the log does not say so"):
        world.register("run", ["ben"])
    (tmp_path / "gold.csv").write_text(GOLD.replace("ann", "ben"))
    with pytest.raises(IntegrityError, match=r"does not verify|the log does not say so"):
        import_file(world.ledger, Import(tmp_path / "gold.csv", "crowd-long", source="run"))
    unlock(world, sa.update(table).where(table.c.handle == handle).values(pid=pids["ben"]))
    assert verify(world.ledger).problems == []


ENTRIES = {
    "not a number": b'{"amount":NaN}',
    "deep nesting": b"[" * 100_000,
    "a field twice": b'{"at":"x","at":"y"}',
    "no text": b"\xff\xfe",
    "a number of many digits": b"9" * 10_000,
    "nothing": b"",
}


@pytest.mark.parametrize("what", ENTRIES)
def test_entries_that_no_program_writes_are_found(world, what):
    unlock(world, sa.update(schema.event).where(schema.event.c.seq == 3).values(entry=ENTRIES[what]))
    assert "entry 3 cannot be read" in problems(world)


def test_another_spelling_of_the_same_entry_is_found(world):
    """Bytes that read the same and are not the same: a space, a field twice, an escaped letter."""
    with world.ledger.read() as connection:
        row = connection.execute(sa.select(schema.event).where(schema.event.c.seq == 2)).one()
    for other in (
        row.entry.replace(b'"at":', b'"at": '),
        row.entry.replace(b'"at":', b'"at":"1","at":'),
        row.entry.replace(b"bob", b"b\\u006fb"),
    ):
        assert decode_event(other, b"")._replace(hash=b"") == decode_event(row.entry, b"")._replace(hash=b"")
        values = {"entry": other, "hash": leaf_hash(other)}
        unlock(world, sa.update(schema.event).where(schema.event.c.seq == 2).values(**values))
        assert "entry 2 is not in canonical form" in problems(world)


# --- with one key of staff, and the ledger's own keys
def test_a_paper_is_not_sealed_anew_under_its_name(world):
    """The payer has the master key and stores other bank details under the approved hash."""
    _, pids = released(world)
    ben, ledger = pids["ben"], world.ledger

    def work(tx):
        name = tx.verified().state.part(Payees).paper[ben]
        own = keys.decrypt(ledger.ring.master, people._wrapped(tx.connection, ben), f"key/{ben}")
        mine = keys.encrypt(own, canonical({"name": "Ben", "iban": IBANS[1]}), f"document/{ben}/{name}")
        table = schema.person_document
        tx.connection.execute(sa.update(table).where(table.c.sha256 == name).values(sealed=mine))
        sent = {"batch": "p1", "amount": 5_000_000, "paper": name, "sealed": sha256(mine)}
        tx.append(kinds.SENT, f"payout/p1/{ben}/EUR", ben, sent)
        tx.append(kinds.BATCHED, "payout/p1", "p1", {"currency": "EUR", "threshold": 0}, by="cat")
        return name

    name = ledger.write(work)
    assert f"the paper {name[:16]} of contributor {ben} is not the one in the log" in problems(world)
    with ledger.read() as connection, pytest.raises(IntegrityError, match="something else than was signed"):
        people.read_document(connection, ledger.ring, ben, name)


def test_what_is_confirmed_is_what_was_read(world):
    """A proposal that shows one paper and names another has its reader sign for what they never saw."""
    _, pids = released(world)
    ben, ledger = pids["ben"], world.ledger
    payout.set_payees(ledger, {ben: {"iban": IBANS[1]}}, "cat")
    with ledger.read() as connection:
        (mine,) = open_proposals(connection)

    def work(tx):
        shown = people.store_values(tx, ben, {"name": "Ben", "iban": IBANS[0]})
        body = {"step": kinds.PAYEE_SET, "body": {"digest": mine.body["paper"]}, **shown}
        tx.append(kinds.PROPOSED, "k", ben, body, by="cat")

    with pytest.raises(IntegrityError, match="the paper of this proposal is not the one that it is about"):
        ledger.write(work)


def test_what_somebody_began_who_left_lapses(world):
    """A leaked key's proposals and drafts wait for no second person; nor is one's successor that person."""
    sid, pids = posted(world)
    number = payout.set_payees(world.ledger, {pids["ben"]: {"iban": IBANS[1]}}, "cat")[0]
    draft = world.draft(world.run(simple_rows({"x": 1})), "1", by="cat").id
    world.ledger.write(lambda tx: book.open_dispute(tx, sid, pids["ben"], "other", "d"))
    given = book.Answer("upheld", "other", "cat", 1_000_000)
    world.ledger.write(lambda tx: book.answer(tx, sid, pids["ben"], given, "d"))
    world.ledger.write(lambda tx: two_people.remove_staff(tx, "cat", "ann", compromised=True))
    world.hire("cat-2")
    for step in (
        lambda: world.confirm(number, by="cat-2"),
        lambda: settle.approve_settlement(world.ledger, draft, "cat-2"),
        lambda: world.ledger.write(lambda tx: book.resolve(tx, sid, pids["ben"], "cat-2", "d")),
    ):
        with pytest.raises(ConflictError, match="'cat' was removed from the staff"):
            step()
    # Somebody else answers it anew, and it goes on.
    again = book.Answer("upheld", "other", "dan", 1_000_000)
    world.ledger.write(lambda tx: book.answer(tx, sid, pids["ben"], again, "e"))
    world.ledger.write(lambda tx: book.resolve(tx, sid, pids["ben"], "cat-2", "e"))
    assert verify(world.ledger).problems == []


def test_who_sent_a_payment_does_not_say_that_it_came_back(world):
    """A returned payment is paid again, so a single payer must not be able to declare a return."""
    _, pids = released(world)
    payout.create_batch(world.ledger, "p1", "EUR", "cat")
    before = last(world)
    with pytest.raises(ConflictError, match="'cat' made this batch; a second person must record"):
        payout.record_payment_results(world.ledger, "p1", [pids["ben"]], paid=False, by="Cat ")
    assert last(world) == before
    payout.record_payment_results(world.ledger, "p1", [pids["ann"]], paid=True, by="dan")
    payout.record_payment_results(world.ledger, "p1", [pids["ben"]], paid=False, by="dan")
    assert verify(world.ledger).problems == []


def test_one_key_is_not_two_identities_in_either_order(world):
    raw = keys.read_public(keys.create_signer(world.folder / "own.pem"))
    world.trust(raw)
    made = world.ledger.write(lambda tx: two_people.propose_staff(tx, "zed", raw, [kinds.ADMIN], "ann"))
    with pytest.raises(ConflictError, match="a member of staff needs another one"):
        world.confirm(made.seq)
    with pytest.raises(ConflictError, match="signs for a member of staff"):
        world.trust(world.key("bob"), "https://bob.example")
    with pytest.raises(ConflictError, match="is known"):
        world.trust(raw, "https://other.example")


def test_nobody_speaks_unsigned_for_somebody_with_a_key(world):
    """A record without a signature in the name of a trusted laboratory would count as its word."""
    who = world.register("test", ["ben"])["ben"]
    lab = "https://lab.example/qa"
    world.trust(keys.read_public(keys.create_signer(world.folder / "lab.pem")), lab)
    with pytest.raises(IntegrityError, match="has a key and signs what it says"):
        world.record(evidence.EvidenceRecord("reproduced", who, lab, ""))


def test_a_key_that_was_taken_before_is_a_sentence(world):
    """Somebody uses the name of an entry to come; the step that needs it says so, and nothing is written."""
    sid = world.draft(world.run(simple_rows({"x": 1})), "1").id
    with world.ledger.read() as connection:
        who = who_is(connection, world.ledger.ring, "run", "x")

    def take(tx):
        record = people.store_profile(tx, who, {"accounts": ["run:x"]})
        tx.append(kinds.CHANGED, f"credit/{sid}/{who}", who, {"record": record}, by="eve")

    world.ledger.write(take)
    before = last(world)
    with pytest.raises(ConflictError, match="was used before for another entry"):
        settle.approve_settlement(world.ledger, sid, "bob")
    assert last(world) == before
    assert verify(world.ledger).problems == []


def test_a_clock_set_ahead_is_seen_and_pays_nothing(world):
    """Windows and waits end by the writer's clock; whoever verifies has one too."""
    sid, _ = posted(world)
    right = world.clock.now
    world.clock.pass_days(30)
    release_settlement(world.ledger, sid, by="cat")
    number = world.size()
    world.clock.now = right + timedelta(minutes=5)
    found = problems(world)
    assert f"entry {number - 2} is dated later than it is here" in found
    with pytest.raises(ConflictError, match="mend the ledger's with `anml-ledger verify --repair-clock`"):
        payout.create_batch(world.ledger, "p1", "EUR", "cat")
    world.clock.now = right + timedelta(days=30)
    assert problems(world) == ""


def test_a_clock_set_back_does_not_date_entries_back(world):
    sid, _ = posted(world)
    when = last(world)[2]
    world.clock.now -= timedelta(minutes=9)
    world.register("test", ["late"])
    assert last(world)[2] == when
    world.clock.now -= timedelta(days=400)
    with pytest.raises(ConflictError, match="set this clock"):
        world.register("test", ["later"])
    world.clock.now += timedelta(days=400)
    with pytest.raises(ConflictError, match="dispute window"):
        world.ledger.write(
            lambda tx: tx.append(kinds.RELEASED, "k", next(iter(_held(tx, sid))), {"r": 10**12}, sid)
        )


def _held(tx, sid):
    return tx.verified().state.balances.of_kind("held:", "EUR", sid)


# --- contributors with many accounts
def test_merging_two_accounts_does_not_count_their_judgements_again(world, tmp_path):
    (tmp_path / "gold.csv").write_text(GOLD)
    one = import_file(world.ledger, Import(tmp_path / "gold.csv", "crowd-long")).contributors["ann"]
    other = world.register("crowd", ["bea"])["bea"]
    once = r_of(world, "ann")
    merged(world, one, other)
    assert import_file(world.ledger, Import(tmp_path / "gold.csv", "crowd-long")).scores == 0
    assert r_of(world, "bea") == once
    with world.ledger.read() as connection:
        (scored,) = events(connection, [kinds.SCORED])
    with pytest.raises(ConflictError, match="3 judgements by gold were counted before"):
        world.ledger.write(lambda tx: tx.append(kinds.SCORED, "again", other, scored.body))


def test_the_same_rows_settle_once_after_identities_were_merged(world, tmp_path):
    """By name, and by identifier as a new run with the ledger would name them."""
    pids = world.establish("ann", "ben")
    rows = simple_rows({"ann": 2, "ben": 2})
    write_run(tmp_path / "first", rows)
    world.post(tmp_path / "first", "10")
    merged(world, pids["ann"], pids["ben"])
    write_run(tmp_path / "shuffled", rows.reverse())
    named = rows.with_columns(contributor=rows["contributor"].replace(dict.fromkeys(pids, pids["ben"])))
    write_run(tmp_path / "named", named)
    for name in ("shuffled", "named"):
        with pytest.raises(ConflictError, match="this run is posted as settlement"):
            world.draft(tmp_path / name, "10")
    # Another person's rows about the same items are another run.
    write_run(tmp_path / "cid", simple_rows({"cid": 4}))
    assert world.draft(tmp_path / "cid", "10").id


def test_rows_that_were_settled_before_are_pointed_out(world, tmp_path):
    """A run with some rows more or less is another run; who drafts and who approves it read what it is."""
    names = [f"p{number}" for number in range(40)]
    world.establish(*names)
    rows = simple_rows(dict.fromkeys(names, 10))
    write_run(tmp_path / "whole", rows)
    write_run(tmp_path / "less", rows.head(399))
    write_run(tmp_path / "new", rows.with_columns(row=rows["row"] + 1000))
    sid = world.post(tmp_path / "whole", "10")
    made = world.draft(tmp_path / "less", "10")
    assert made.warnings == (
        f"about 100% of these rows are in settlement {sid} too, which is posted: they would be paid twice "
        "unless it is superseded",
    )
    shown = world.ledger.rehearse(lambda tx: steps.approval(tx, made.id, "bob"))
    assert shown["overlaps"] == list(made.warnings)
    assert world.draft(tmp_path / "new", "10").warnings == ()
    settle.withdraw(world.ledger, made.id)
    assert world.draft(tmp_path / "less", "10", supersedes=sid).warnings == ()


def test_a_name_that_looks_like_one_on_record_is_pointed_out(world):
    world.establish("ann")
    made = world.draft(world.run(simple_rows({"Ann ": 1})), "1")
    assert made.warnings == ("these contributors look alike and are not one: 'Ann ', 'ann'",)


def test_an_account_named_like_a_member_of_staff_is_nobody_of_the_staff(world):
    who = world.register("test", ["ann", "bob"])
    with pytest.raises(InputError, match="is not a member of staff"):
        settle.approve_settlement(
            world.ledger, world.draft(world.run(simple_rows({"x": 1})), "1").id, who["bob"]
        )
    number = payout.set_payees(world.ledger, {who["bob"]: {"name": "B"}}, "ann")[0]
    with pytest.raises(ConflictError, match="'ann' proposed this"):
        world.confirm(number, by=" ANN")


def test_merged_money_waits_like_new_bank_details(make_world):
    """Merging is a way to other bank details, and takes as long."""
    world = make_world("sqlite", payee_wait_days=3)
    _, pids = released(world)
    world.pay_to(pids["ann"], {"name": "Ann", "iban": IBANS[1]})
    world.clock.pass_days(10)
    merged(world, pids["ben"], pids["ann"])
    with pytest.raises(ConflictError, match="new bank details: paid from 2026-"):
        payout.create_batch(world.ledger, "p1", "EUR", "cat", rail="pain001")
    world.clock.pass_days(3)
    (sent,) = payout.create_batch(world.ledger, "p1", "EUR", "cat", rail="pain001").batch.payments
    assert (sent.pid, sent.amount) == (pids["ann"], 10_000_000)


def test_a_dispute_after_an_erasure_brings_nothing_back(world):
    sid, pids = posted(world)
    world.erase(pids["ben"])
    for text in ("", "my name is Ben"):
        with pytest.raises(ConflictError, match="was erased"):
            world.ledger.write(
                lambda tx, text=text: book.open_dispute(tx, sid, pids["ben"], "other", "d", text=text)
            )
    assert verify(world.ledger).problems == []


# --- old copies and other ledgers
def test_an_approval_that_is_dated_back_is_seen_by_who_watched(world, tmp_path):
    """With a clock set back, an entry is as old as the one before it, and its window ends before it began."""
    world.draft(world.run(simple_rows({"x": 1})), "1")
    sid, early = world.draft(world.run(simple_rows({"y": 1})), "1").id, world.clock.now
    world.clock.pass_days(13)
    (tmp_path / "notes").mkdir()
    assert check_against_checkpoints(world.ledger, tmp_path / "notes").problems == []
    world.clock.now = early
    settle.approve_settlement(world.ledger, sid, "bob")
    world.clock.now = early + timedelta(days=15)
    assert verify(world.ledger).problems == []
    (found,) = check_against_checkpoints(world.ledger, tmp_path / "notes").problems
    assert "is dated 2026-01-01T00:00:00Z, and was not in the log on 2026-01-14 00:00" in found


def test_a_checkpoint_of_another_ledger_of_the_same_name_is_not_ours(world, make_world, tmp_path):
    other = make_world("sqlite")
    note = sign_checkpoint(other.ledger)["note"]
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "1.txt").write_text(note)
    found = check_against_checkpoints(world.ledger, tmp_path / "notes")
    assert found.problems == ["1.txt: the checkpoint is not signed by this ledger's key"]
    assert len(list((tmp_path / "notes").iterdir())) == 1


@pytest.mark.parametrize("change", ["cut", "size", "two", "origin"])
def test_a_checkpoint_that_was_changed_is_refused(world, change):
    note, entries, _, _ = sign_checkpoint(world.ledger).values()
    text, _, signature = note.partition("\n\n")
    origin, size, root = text.splitlines()
    spoilt = {
        "cut": note[: len(note) // 2],
        "size": note.replace(f"\n{size}\n", f"\n{entries - 1}\n"),
        "two": f"{origin}\n{size}\n{root}\nmore\n\n{signature}",
        "origin": f"other\n{size}\n{root}\n\n{signature}",
    }
    with pytest.raises(IntegrityError, match="not signed by this ledger's key"):
        checkpoint.read_checkpoint(spoilt[change], world.ledger.ring.public)


# --- two at once
def test_of_two_who_decide_at_once_one_counts(world):
    """Approval and withdrawal, and two resolutions, by threads that start together."""
    sid, pids = posted(world)
    made = world.draft(world.run(simple_rows({"x": 1})), "1").id
    world.ledger.write(lambda tx: book.open_dispute(tx, sid, pids["ben"], "other", "d"))
    given = book.Answer("upheld", "other", "cat", 1_000_000)
    world.ledger.write(lambda tx: book.answer(tx, sid, pids["ben"], given, "d"))
    steps = [
        lambda: settle.approve_settlement(world.ledger, made, "bob"),
        lambda: settle.withdraw(world.ledger, made, "dan"),
        lambda: world.ledger.write(lambda tx: book.resolve(tx, sid, pids["ben"], "dan", "d")),
        lambda: world.ledger.write(lambda tx: book.resolve(tx, sid, pids["ben"], "eve", "e")),
    ]
    assert len(at_once(steps)) == 2
    assert verify(world.ledger).problems == []


def test_of_those_who_release_or_pay_at_once_one_moves_the_money(world):
    sid, pids = posted(world)
    for name, iban in zip(("ann", "ben"), IBANS, strict=False):
        world.pay_to(pids[name], {"name": name, "iban": iban})
    world.clock.pass_days(15)
    done = []
    at_once([lambda: done.append(release_settlement(world.ledger, sid).released)] * 3)
    # Five euros each, in millionths; who comes later finds nothing held.
    assert sorted(sum(each.values()) for each in done) == [0, 0, 10_000_000]
    at_once([lambda batch=f"p{n}": payout.create_batch(world.ledger, batch, "EUR", "cat") for n in range(3)])
    with world.ledger.read() as connection:
        assert sum(balances(connection, "payable:", "EUR").values()) == 0
        assert sum(balances(connection, "clearing:", "EUR").values()) == 10_000_000
    assert verify(world.ledger).problems == []


def at_once(steps) -> list[str]:
    """Take steps in threads that start together; what the refused were told."""
    start, refused = threading.Barrier(len(steps)), []

    def act(step) -> None:
        start.wait()
        try:
            step()
        except AnmlError as error:
            refused.append(str(error))

    threads = [threading.Thread(target=act, args=(step,)) for step in steps]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return refused


# --- by the rules alone
@pytest.fixture
def hand() -> Hand:
    made = Hand()
    made.register(1, 2, 3)
    return made


def assert_refused(hand: Hand, kind: str, subject: str, body: dict, said: str, **more) -> None:
    with pytest.raises(AnmlError, match=said):
        hand.check(kind, subject, body, **more)


def test_asking_changes_nothing(hand):
    """Whoever asks what a step would do, and asks again, gets the same answer; and so does everybody else."""
    hand.draft("s1", [line(pid(1), 3), line(pid(2), 1)], 1_000_001)
    found = {"manifest": hand.log[-1].body["manifest"], "head": hand.log[-1].body["head"]}
    said = {"settlement": "s1", "by": "bob"}
    once = hand.check(kinds.APPROVED, "s1", found, **said)
    assert hand.state.owed is None
    assert hand.check(kinds.APPROVED, "s1", found, **said) == once
    hand.add(kinds.APPROVED, "s1", found, **said)
    facts = hand.state.owed.credits[pid(1)][1]
    for _ in range(2):
        hand.check(kinds.CREDITED, pid(1), facts, settlement="s1")
    assert len(hand.state.owed.credits) == 2
    hand.add(kinds.CREDITED, pid(1), facts, settlement="s1")
    assert list(hand.state.owed.credits) == [pid(2)]


@pytest.mark.parametrize("when", ["zzz", "2026", "2026-01-01T00:00:00Z", "９999-01-01T00:00:00.000000Z", ""])
def test_times_have_one_spelling(hand, when):
    made = hand.make(kinds.CHANGED, pid(1), {"record": "r"}, by="ann")._replace(at=when)
    with pytest.raises(AnmlError):
        hand.state.check(made)


def test_years_of_few_digits_sort():
    early = [datetime(year, 1, 1, tzinfo=UTC) for year in (1, 99, 999, 1000, 9999)]
    texts = [format_timestamp(when) for when in early]
    assert texts == sorted(texts)
    assert texts[2] == "0999-01-01T00:00:00.000000Z"


@pytest.mark.parametrize("name", ["", "../../x", "s1/approved", "s 1", "ｓ1", "s1\n", "s" * 65])
def test_settlements_have_plain_names(hand, name):
    body = hand.draft_body([line(pid(1), 1)], 1)
    assert_refused(hand, kinds.DRAFTED, name, body, "named by letters, digits or hyphens", by="ann")


@pytest.mark.parametrize("pool", [0, -1, MAX_MICRO + 1, 2**64, 2**126])
def test_pools_fit(hand, pool):
    body = {**hand.draft_body([line(pid(1), 1)], 5), "pool": pool}
    assert_refused(
        hand, kinds.DRAFTED, "s1", body, "a pool (is more than 0|of .* does not fit 64 bits)", by="ann"
    )


def test_the_largest_pool_is_shared_to_the_unit(hand):
    hand.post("s1", [line(pid(1), 1), line(pid(2), 2)], MAX_MICRO)
    assert hand.held("s1", pid(1)) + hand.held("s1", pid(2)) == MAX_MICRO
    hand.draft("s2", [line(pid(1), 1)], 1, run="2")
    found = {"manifest": hand.log[-1].body["manifest"], "head": hand.log[-1].body["head"]}
    assert_refused(hand, kinds.APPROVED, "s2", found, "more EUR than 64 bits hold", settlement="s2", by="bob")


WRONG_LINES = {
    "somebody twice": [line(pid(1), 5), line(pid(1), 7)],
    "less than nothing": [line(pid(1), -5), line(pid(2), 10)],
    "a fraction of a row": [{**line(pid(1), 5), "rows": True}],
    "nobody on record": [line(pid(9), 5)],
    "a multiplier below zero": [{**line(pid(1), 5), "multiplier": -1}, line(pid(2), 9)],
}


@pytest.mark.parametrize("what", WRONG_LINES)
def test_manifests_name_each_contributor_once_with_what_they_have(hand, what):
    with pytest.raises(AnmlError):
        hand.draft("s1", WRONG_LINES[what], 100)


def test_a_manifest_whose_totals_are_made_up_is_refused(hand):
    made = {**manifest([line(pid(1), 5)], 100), "totals": {"newcomers": "0", "others": "1"}}
    data = canonical(made)
    hand.documents[sha256(data)] = data
    body = {**hand.draft_body([line(pid(1), 5)], 100), "manifest": sha256(data)}
    assert_refused(hand, kinds.DRAFTED, "s1", body, "whose totals follow from its lines", by="ann")


def test_merges_make_no_ring(hand):
    def merge(one: int, into: int) -> None:
        hand.by_two(kinds.MERGED, pid(one), {"into": pid(into)})

    merge(1, 2)
    for one, into in ((2, 1), (1, 3), (2, 2)):
        with pytest.raises(ConflictError):
            merge(one, into)
    merge(2, 3)
    with pytest.raises(ConflictError, match="was merged into"):
        merge(3, 1)
    assert hand.state.people.same(pid(1)) == [pid(1), pid(2), pid(3)]


def test_a_reversal_that_nobody_signs_confirms_no_proposal(hand):
    hand.post("s1", [line(pid(1), 1)], 100)
    number = hand.propose(kinds.REVIEWER_NAMED, pid(2), {"on": True})
    body = {"reason": "other", "amount": 100, "proposal": number}
    assert_refused(hand, kinds.REVERSED, pid(1), body, "confirms no proposal", settlement="s1")
    assert hand.state.part(Proposals).open(number)


def test_nothing_is_closed_or_released_that_is_not_there(hand):
    hand.post("s1", [line(pid(1), 1)], 100_000)
    assert_refused(hand, kinds.CLOSED, "p1", {"bank": ""}, "there is no payout batch 'p1'", by="ann")
    assert_refused(hand, kinds.RELEASED_ALL, "s1", {}, "it releases nothing", settlement="s1", by="ann")
    hand.days = 20
    hand.release("s1", pid(1))
    hand.pay("p1", c1=100_000)
    assert_refused(hand, kinds.CLOSED, "p1", {"bank": ""}, "it closes no payment", by="ann")


@pytest.mark.parametrize(
    ("currency", "amount", "fits"),
    [("JPY", 1_000_000, True), ("JPY", 999_999, False), ("JPY", 10_000, False), ("KWD", 1_000, True),
     ("KWD", 999, False), ("EUR", 10_000, True), ("EUR", 1_000, False), ("EUR", 0, False),
     ("EUR", -10_000, False), ("EUR", 10_010_000, False)],
)  # fmt: skip
def test_banks_move_whole_units_of_what_is_there(hand, currency, amount, fits):
    hand.post("s1", [line(pid(1), 1)], 10_000_000, currency=currency)
    hand.days = 20
    hand.release("s1", pid(1))
    body = {"batch": "p1", "amount": amount, "paper": "", "sealed": ""}
    key = f"payout/p1/{pid(1)}/{currency}"
    if fits:
        assert hand.check(kinds.SENT, pid(1), body, key=key)
    else:
        assert_refused(hand, kinds.SENT, pid(1), body, "no bank can move|below zero", key=key)


def test_a_batch_pays_one_currency(hand):
    for number, currency in enumerate(("EUR", "JPY")):
        hand.post(f"s{number}", [line(pid(1), 1)], 10_000_000, currency=currency, run=str(number))
    hand.days = 20
    for number in range(2):
        hand.release(f"s{number}", pid(1))
    for currency in ("EUR", "JPY"):
        body = {"batch": "p1", "amount": 1_000_000, "paper": "", "sealed": ""}
        hand.add(kinds.SENT, pid(1), body, key=f"payout/p1/{pid(1)}/{currency}")
    body = {"currency": "EUR", "threshold": 0}
    assert_refused(hand, kinds.BATCHED, "p1", body, "is of another batch or currency", by="ann")


BOUNDARY = [(-1, False), (0, True), (9, True), (10, False)]


@pytest.mark.parametrize(("day", "counts"), BOUNDARY)
def test_a_key_counts_from_its_first_moment_to_before_its_last(hand, day, counts):
    body = {"owner": "lab", "public": keys.public_text(public("lab")), "may": ["reproduced"],
            "since": at(2), "until": at(12)}  # fmt: skip
    name = sha256(public("lab"))[:16]
    hand.by_two(kinds.KEY_TRUSTED, name, body)
    hand.days = 2 + day
    said = {"kind": "reproduced", "issuer": "lab", "at": at(2 + day), "scope": "*", "until": None,
            "vouched": "signature", "key": name, "paper": "p", "sealed": "s"}  # fmt: skip
    if counts:
        assert hand.check(kinds.EVIDENCE, pid(1), said) == []
        hand.add(kinds.KEY_REVOKED, name, {"compromised": False}, by="ann")
    assert_refused(hand, kinds.EVIDENCE, pid(1), said, "is not valid for")


def test_roles_are_those_of_the_log_and_change_by_two_people_alone(hand):
    """Nobody gives a role to themselves, in the entry that uses it or before."""
    hand.hire("pat", kinds.DRAFTER)
    body = {"public": keys.public_text(public("pat-2")), "roles": sorted(kinds.ROLES), "proposal": 0}
    assert_refused(hand, kinds.STAFF_ADDED, "pat", body, "needs one of admin", by="pat")
    assert_refused(
        hand, kinds.STAFF_ADDED, "pat", body, "there is, or was, a member of staff 'pat'", by="ann"
    )
    asked = {"step": kinds.STAFF_ADDED, "body": {"public": body["public"], "roles": ["admin"]},
             "paper": "", "sealed": ""}  # fmt: skip
    assert_refused(hand, kinds.PROPOSED, "pat-2", asked, "needs one of admin", by="pat")


@pytest.mark.parametrize("name", ["Bob", "bob ", "bоb", "bob\u200b", "ｂob", "bob@x", "BOB"])
def test_the_log_knows_one_spelling_of_staff(hand, name):
    assert_refused(hand, kinds.CHANGED, pid(1), {"record": "r"}, "staff identifier", by=name)


@pytest.mark.parametrize("body", [{"on": "yes"}, {"on": 1}, {}, {"on": True, "more": 1}, {"on": None}])
def test_proposals_hold_what_their_step_holds(hand, body):
    asked = {"step": kinds.REVIEWER_NAMED, "body": body, "paper": "", "sealed": ""}
    assert_refused(hand, kinds.PROPOSED, pid(1), asked, r"a proposal of reviewer\.named holds", by="ann")


# --- statements
def test_who_has_the_log_key_alone_makes_no_statement_that_holds(world):
    """An answer was given; its resolution, which moves the money, is forged."""
    sid, pids = posted(world)
    world.ledger.write(lambda tx: book.open_dispute(tx, sid, pids["ben"], "other", "d"))
    given = book.Answer("upheld", "other", "cat", 7)
    world.ledger.write(lambda tx: book.answer(tx, sid, pids["ben"], given, "d"))
    seq, prev, when = last(world)
    lines = (Posting("source:pool", "EUR", -7), Posting(f"held:{pids['ben']}", "EUR", 7))
    append_raw(
        world,
        Event(seq + 1, kinds.RESOLVED, "k", pids["ben"], when, {"correction": 7}, sid, lines, prev, b"",
              "dan", base64.b64encode(bytes(64)).decode()),
    )  # fmt: skip
    with pytest.raises(IntegrityError, match="nothing is stated from a ledger that does not verify"):
        statement.build(world.ledger, sid, [pids["ben"]])


LIES = {
    "another name": lambda s: s.update(name="Somebody else"),
    "paid": lambda s: s["amounts"].update(paid=5_000_000),
    "on another day": lambda s: s.update(posted="2026-01-01T00:00:00.000000Z"),
    "earned nothing": lambda s: s["amounts"].update(reversed=5_000_000),
    "in nobody's name": lambda s: s.pop("issued_by"),
    "in another's name": lambda s: s["issued_by"].update(name="bob"),
    "an older format": lambda s: s.update(format="anml-statement/2"),
    "no cover": lambda s: s["proof"].update(covers={}),
    "as it is": lambda s: None,
}


@pytest.mark.parametrize("lie", LIES)
def test_a_statement_that_only_the_logs_key_signed_is_refused(world, lie):
    sid, pids = posted(world)
    world.clock.pass_days(15)
    release_settlement(world.ledger, sid)
    made = statement.build(world.ledger, sid, [pids["ben"]])[pids["ben"]]
    assert check_statement(statement.sign(world.ledger, made), world.ledger.ring.public)["name"]
    LIES[lie](made)
    forged = canonical(
        signing.sign_envelope(statement.PAYLOAD, canonical(made), from_key(world.ledger.ring.log))
    )
    with pytest.raises(AnmlError):
        check_statement(forged, world.ledger.ring.public)


def test_nobody_who_may_not_release_signs_for_nine_tenths_that_went_back(world):
    """A log with an honest end under a forged release: who issues a statement cannot make it hold."""
    sid, pids = posted(world)
    world.clock.pass_days(15)
    release_settlement(world.ledger, sid)
    made = statement.build(world.ledger, sid, [pids["ben"]])[pids["ben"]]
    part = next(p for p in made["proof"]["entries"] if '"credit.released"' in p["entry"])
    entry = json.loads(part["entry"])
    entry["postings"] = [
        [f"held:{pids['ben']}", "EUR", -5_000_000], [f"payable:{pids['ben']}", "EUR", 500_000],
        ["source:pool", "EUR", 4_500_000],
    ]  # fmt: skip
    part["entry"] = canonical(entry).decode()
    with world.ledger.read() as connection:
        hashes = leaves(connection)
    hashes[entry["seq"] - 1] = leaf_hash(canonical(entry))
    tree = MerkleTree(hashes)
    made["proof"]["checkpoint"] = checkpoint.sign_checkpoint(world.ledger.ring, len(tree), tree.root)
    for each in (*made["proof"]["entries"], *made["proof"]["covers"].values()):
        each["path"] = [base64.b64encode(node).decode() for node in tree.inclusion(each["index"])]
    made["amounts"].update(released=500_000, returned=4_500_000)
    with pytest.raises(IntegrityError, match="did not sign for entry"):
        check_statement(statement.sign(world.ledger, made), world.ledger.ring.public)


def test_attestations_with_more_than_they_should_hold(world, tmp_path):
    """Fields twice, numbers that are none, nesting without end: a sentence each, and nothing is recorded."""
    who = world.register("test", ["ben"])["ben"]
    path = tmp_path / "lab.pem"
    world.trust(keys.read_public(keys.create_signer(path)), "https://lab.example/qa")
    paper = attest.sign_attestation(
        path, "https://lab.example/qa", ["ANML_REPRODUCED"], world.clock.now, [who]
    )
    outer = json.loads(paper)
    before = last(world)
    for spoilt in (
        b'{"payload": NaN, "payloadType": 1, "signatures": []}',
        b"[" * 50_000,
        json.dumps({**outer, "signatures": []}).encode(),
        json.dumps({**outer, "signatures": [{"sig": "AAAA"}]}).encode(),
        json.dumps({**outer, "payload": outer["payload"][:-8] + "AAAAAAA="}).encode(),
    ):
        with pytest.raises(AnmlError):
            attest.record_attestations(world.ledger, {"": spoilt})
    assert last(world) == before


# --- what erasures and servers could hide
def test_one_admin_erases_nobody_whose_payment_is_on_its_way(world):
    sid, pids = posted(world)
    world.clock.pass_days(15)
    release_settlement(world.ledger, sid)
    payout.create_batch(world.ledger, "b1", "EUR", "dan")
    with pytest.raises(ConflictError, match=r"still has 5\.00 EUR open"):
        erase_contributor(world.ledger, pids["ben"], by="eve")
    asked = erase_contributor(world.ledger, pids["ben"], by="eve", anyway=True)["proposal"]
    (shown,) = world.ledger.rehearse(lambda tx: steps.confirmation(tx, [asked], "bob"))["items"]
    assert describe_proposal(shown) == (
        f"erase all that is personal of ben (run:ben, {pids['ben']}), "
        "with 5.000000 EUR owed to them still open"
    )
    # A changed client that does not ask first is refused by the rules themselves.
    body = {"reason": "request", "also": [], "kept": []}
    with pytest.raises(ConflictError, match="this step needs two people"):
        world.ledger.write(
            lambda tx: tx.append(kinds.ERASED, "e", pids["ben"], {**body, "proposal": 0}, by="eve")
        )


def test_nobody_is_credited_who_was_erased_since_the_draft(world):
    pids = world.establish("ann", "ben")
    made = world.draft(world.run(simple_rows({"ann": 1, "ben": 1})), "10")
    world.erase(pids["ben"])
    with pytest.raises(ConflictError, match="was erased since it was drafted"):
        settle.approve_settlement(world.ledger, made.id, "bob")


def test_an_operator_of_somebody_else_does_not_answer_for_the_servers_own(make_world):
    """With other schemas before the server's own, "<>" could say that nothing stands beside the tables."""
    world = make_world("postgresql")
    posted(world)
    with world.ledger.engine.connect() as connection, connection.begin():
        connection.exec_driver_sql(
            "CREATE FUNCTION never(name, name) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT false'"
        )
        connection.exec_driver_sql("CREATE OPERATOR <> (FUNCTION = never, LEFTARG = name, RIGHTARG = name)")
        name = connection.scalar(sa.text("SELECT current_schema()"))
        connection.exec_driver_sql(f"SET search_path = {name}, pg_catalog")
        assert any(
            "puts other schemas before the server's own" in said for said in unexpected_objects(connection)
        )
        connection.exec_driver_sql(f"SET search_path = {name}")
        assert not list(unexpected_objects(connection))
