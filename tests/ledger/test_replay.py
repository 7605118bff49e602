"""Verification: silent on a sound ledger, and one sentence for each thing that is wrong with it."""

import pytest
import sqlalchemy as sa

from anml.core.canonical import MerkleTree, leaf_hash, sha256
from anml.ledger import checkpoint, kinds, schema
from anml.ledger import replay as audit
from anml.ledger.checkpoint import Checkpoint
from anml.ledger.log import decode_event, encode_event, log_head
from ledger.ledger_hand import public
from ledger.ledger_queries import events, leaves
from ledger.ledger_world import World, simple_rows


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """A posted settlement, bank details and evidence; whoever changes it takes that back."""
    folder = tmp_path_factory.mktemp("audit")
    world = World(str(folder / "ledger.db"), folder / "keys", folder, ("ann", "bob"))
    world.pids = world.establish("x", "y")
    world.pay_to(world.pids["x"], {"name": "X", "iban": "DE89370400440532013000"})
    world.sid = world.post(world.run(simple_rows({"x": 3, "y": 1})), "10")
    yield world
    world.ledger.close()


def problems(world: World, change=None, checkpoints=(), public_key=None) -> list[str]:
    """Return the problems found by verification after a direct change of the database (rolled back)."""
    with world.ledger.engine.connect() as connection, connection.begin() as transaction:
        for table in schema.APPEND_ONLY:
            for verb in ("update", "delete"):
                connection.exec_driver_sql(f"DROP TRIGGER {table}_no_{verb}")
        connection.exec_driver_sql("PRAGMA defer_foreign_keys = ON")
        if change is not None:
            change(connection)
        found = audit.verify(connection, checkpoints, public_key or world.ledger.ring.public).problems
        transaction.rollback()
    return found


def test_a_sound_ledger_has_no_problems_and_the_root_of_its_leaves(sound):
    with sound.ledger.read() as connection:
        found = audit.verify(connection)
        hashes = leaves(connection)
    assert found == (len(hashes), MerkleTree(hashes).root, [], 0)


def entry(connection, kind: str):
    return next(e for e in events(connection, [kind]))


def rewrite(connection, e, **changes) -> None:
    """An entry with other bytes and a sound hash; the entries after it do not follow any more."""
    data = encode_event(e._replace(**changes))
    row = {"entry": data, "hash": leaf_hash(data)}
    connection.execute(sa.update(schema.event).where(schema.event.c.seq == e.seq).values(**row))


def test_an_entry_with_other_bytes(sound):
    def change(connection):
        e = entry(connection, kinds.CREDITED)
        table = schema.event
        connection.execute(sa.update(table).where(table.c.seq == e.seq).values(entry=encode_event(e) + b" "))

    said = problems(sound, change)
    assert any("was changed: its hash does not match" in one for one in said)
    assert any("is not in canonical form" in one for one in said)


def test_an_entry_that_nobody_can_read(sound):
    def change(connection):
        last = log_head(connection)[0]
        row = {"entry": b"\xff", "hash": leaf_hash(b"\xff")}
        connection.execute(sa.update(schema.event).where(schema.event.c.seq == last).values(**row))

    assert any(one.endswith("cannot be read") for one in problems(sound, change))


def test_a_rewritten_entry_breaks_the_chain_and_its_own_rule(sound):
    def change(connection):
        e = entry(connection, kinds.CREDITED)
        rewrite(connection, e, body={**e.body, "units": e.body["units"] + 1})

    said = problems(sound, change)
    assert any("does not follow the entry before it" in one for one in said)
    assert any("the credit does not follow from the manifest" in one for one in said)


def test_columns_that_differ_from_the_bytes(sound):
    for column, value in (("subject", "x"), ("kind", "contribution"), ("at", "x"), ("key", "x")):

        def change(connection, column=column, value=value):
            first = sa.update(schema.event).where(schema.event.c.seq == 1)
            connection.execute(first.values({column: value}))

        assert "the columns of entry 1 differ from its bytes" in problems(sound, change)


@pytest.mark.parametrize(
    "change",
    [
        lambda c: c.execute(sa.update(schema.posting).values(amount=schema.posting.c.amount * 2)),
        lambda c: c.execute(sa.update(schema.posting).values(currency="USD")),
        lambda c: c.execute(sa.update(schema.posting).values(settlement="x")),
        lambda c: c.execute(sa.delete(schema.posting)),
        lambda c: c.execute(sa.update(schema.posting).values(line=schema.posting.c.line + 7)),
    ],
)
def test_postings_that_differ_from_the_bytes(sound, change):
    assert any(one.startswith("the postings of entry") for one in problems(sound, change))


def test_a_posting_of_no_entry(sound):
    def change(connection):
        row = {"seq": 999, "line": 0, "account": "a", "currency": "EUR", "amount": 1, "settlement": ""}
        connection.exec_driver_sql("PRAGMA foreign_keys = OFF")
        connection.execute(sa.insert(schema.posting).values(**row))

    assert "posting of entry 999 belongs to no entry" in problems(sound, change)


def test_a_missing_entry(sound):
    def change(connection):
        connection.execute(sa.delete(schema.event).where(schema.event.c.seq == 3))

    assert "entry 3 is missing or out of order (found 4)" in problems(sound, change)


def test_an_end_that_was_cut_off(sound):
    def change(connection):
        last = log_head(connection)[0]
        connection.execute(sa.delete(schema.event).where(schema.event.c.seq == last))

    assert any("some were added or cut off" in one for one in problems(sound, change))


def test_documents_that_were_changed_lost_or_are_of_nothing(sound):
    name = schema.document.c.sha256
    assert any(one.endswith("was changed") for one in problems(
        sound, lambda c: c.execute(sa.update(schema.document).values(body=b"x"))
    ))  # fmt: skip
    assert any("is missing or was changed" in one for one in problems(
        sound, lambda c: c.execute(sa.delete(schema.document))
    ))  # fmt: skip
    stray = {"sha256": sha256(b"x"), "kind": "manifest", "body": b"x"}
    assert any("is of no settlement" in one for one in problems(
        sound, lambda c: c.execute(sa.insert(schema.document).values(**stray))
    ))  # fmt: skip
    assert any("of another kind" in one for one in problems(
        sound, lambda c: c.execute(sa.update(schema.document).where(name != "").values(kind="note"))
    ))  # fmt: skip


@pytest.mark.parametrize("change", [{"name": "other"}, {"value": "other"}])
def test_a_table_meta_that_says_something_else(sound, change):
    origin = schema.meta.c.name == "origin"
    said = problems(sound, lambda c: c.execute(sa.update(schema.meta).where(origin).values(**change)))
    assert "the table meta differs from the first entry of the log" in said


def test_the_key_that_the_asker_knows(sound):
    said = problems(sound, public_key=public("other"))
    assert "the log names another public key than the one you gave: it is another ledger" in said
    assert any("was not made by this ledger's key" in one for one in said)


def test_a_seal_without_a_key(sound):
    def change(connection):
        connection.execute(sa.update(schema.head).values(sig=b"x" * 64))

    assert any(one.startswith("the seal on entry") for one in problems(sound, change))


# --- checkpoints that somebody kept
def kept(sound, upto: int, **changes) -> Checkpoint:
    with sound.ledger.read() as connection:
        root = MerkleTree(leaves(connection, upto)).root
    return Checkpoint(**{"origin": "test-ledger", "size": upto, "root": root, **changes})


@pytest.mark.parametrize("size", [1, 2, 7])
def test_every_earlier_checkpoint_holds(sound, size):
    assert problems(sound, checkpoints=(kept(sound, size),)) == []


def test_checkpoints_of_another_history(sound):
    for changes, said in (
        ({"root": bytes(32)}, "the first 5 entries are not those that the checkpoint saw"),
        ({"size": 10_000}, "its end was cut off, or it is an old copy"),
        ({"origin": "other"}, "the checkpoint is of 'other', and this ledger is 'test-ledger'"),
    ):
        found = problems(sound, checkpoints=(kept(sound, 5, **changes),))
        assert any(said in one for one in found)


def test_a_forged_entry_with_sound_hashes_and_a_sound_seal(sound):
    """Somebody has the log's key, and no key of staff: a payment of their own is still found."""

    def change(connection):
        seq, prev, when = log_head(connection)
        model = (
            entry(connection, kinds.RECORDS_SIGNED)
            if any(events(connection, [kinds.RECORDS_SIGNED]))
            else None
        )
        e = decode_event(
            connection.scalar(sa.select(schema.event.c.entry).where(schema.event.c.seq == 1)), b""
        )
        made = (model or e)._replace(
            seq=seq + 1, kind=kinds.CHANGED, key="forged", subject=sound.pids["x"], at=when,
            body={"record": "0" * 64}, prev=prev.hex(), by="ann", first=seq + 1, root="",
        )  # fmt: skip
        data = encode_event(made)
        row = {"seq": made.seq, "kind": made.kind, "key": made.key, "subject": made.subject, "at": when,
               "entry": data, "hash": leaf_hash(data)}  # fmt: skip
        connection.execute(sa.insert(schema.event).values(**row))
        checkpoint.sign_head(connection, sound.ledger.ring, made.seq, leaf_hash(data).hex())

    assert any("the key of 'ann' did not sign it" in one for one in problems(sound, change))


def test_nothing_of_this_was_left_behind(sound):
    with sound.ledger.read() as connection:
        assert audit.verify(connection).problems == []
