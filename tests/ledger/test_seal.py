"""The seal on the end of the log: made with every write, and broken by every change of the end."""

import pytest
import sqlalchemy as sa

from anml.core.errors import IntegrityError
from anml.ledger import checkpoint, schema
from anml.ledger.keys import KeyRing
from ledger.ledger_hand import private

RING = KeyRing("o", private("log"), bytes(32))
HASHES = [bytes([number]) * 32 for number in range(4)]


@pytest.fixture
def base():
    """The two tables that a seal needs, in memory, with two entries and a seal on the second."""
    engine = sa.create_engine("sqlite://")
    schema.metadata.create_all(engine, [schema.event, schema.head])
    with engine.connect() as connection:
        for seq in (1, 2):
            enter(connection, seq)
        checkpoint.sign_head(connection, RING, 2, HASHES[2].hex())
        yield connection
    engine.dispose()


def enter(connection, seq: int) -> None:
    row = {
        "seq": seq,
        "kind": "k",
        "key": f"k{seq}",
        "subject": "",
        "at": "",
        "entry": b"",
        "hash": HASHES[seq],
    }
    connection.execute(sa.insert(schema.event).values(**row))


def test_a_sealed_end_is_sound(base):
    assert checkpoint.head_signature_problem(base, RING.public, "o") is None
    assert checkpoint.head_signature_problem(base, RING.public, "o", (2, HASHES[2])) is None
    checkpoint.require_signed_head(base, RING.public, "o", (2, HASHES[2]))


def test_an_empty_log_needs_no_seal():
    engine = sa.create_engine("sqlite://")
    schema.metadata.create_all(engine, [schema.event, schema.head])
    with engine.connect() as connection:
        assert checkpoint.head_signature_problem(connection, RING.public, "o") is None
        checkpoint.sign_head(connection, RING, 1, HASHES[1].hex())
        # A seal without an entry: the log was cut off as a whole.
        assert "some were added or cut off" in checkpoint.head_signature_problem(connection, RING.public, "o")
    engine.dispose()


def test_it_is_made_anew_and_stays_one_row(base):
    enter(base, 3)
    assert checkpoint.head_signature_problem(base, RING.public, "o").startswith(
        "entry 3, the last, is not the one"
    )
    checkpoint.sign_head(base, RING, 3, HASHES[3].hex())
    assert checkpoint.head_signature_problem(base, RING.public, "o") is None
    assert base.scalar(sa.select(sa.func.count()).select_from(schema.head)) == 1


def test_an_entry_that_was_cut_off_shows(base):
    base.execute(sa.delete(schema.event).where(schema.event.c.seq == 2))
    assert checkpoint.head_signature_problem(base, RING.public, "o").startswith(
        "entry 1, the last, is not the one"
    )


@pytest.mark.parametrize("values", [{"seq": 1}, {"hash": HASHES[1]}, {"id": 2}])
def test_a_seal_on_something_else_shows(base, values):
    base.execute(sa.update(schema.head).values(**values))
    assert "is not the one that the ledger's key sealed" in checkpoint.head_signature_problem(
        base, RING.public, "o"
    )


def test_two_seals_are_none(base):
    row = base.execute(sa.select(schema.head)).one()
    base.execute(sa.insert(schema.head).values(id=2, seq=row.seq, hash=row.hash, sig=row.sig))
    assert "is not the one" in checkpoint.head_signature_problem(base, RING.public, "o")


@pytest.mark.parametrize("thief", ["other key", "other ledger", "no signature"])
def test_only_this_ledgers_key_seals(base, thief):
    ring = {
        "other key": KeyRing("o", private("thief"), bytes(32)),
        "other ledger": KeyRing("p", RING.log, bytes(32)),
    }
    if thief == "no signature":
        base.execute(sa.update(schema.head).values(sig=b""))
    else:
        checkpoint.sign_head(base, ring[thief], 2, HASHES[2].hex())
    assert (
        checkpoint.head_signature_problem(base, RING.public, "o")
        == "the seal on entry 2 was not made by this ledger's key"
    )
    with pytest.raises(IntegrityError, match="nothing may be added until `anml-ledger verify` was run"):
        checkpoint.require_signed_head(base, RING.public, "o", (2, HASHES[2]))


def test_whoever_writes_refuses_an_end_that_nobody_sealed(make_world):
    """The next writer must not seal what somebody put in behind the ledger's back."""
    world = make_world("sqlite")
    with world.ledger.engine.begin() as connection:
        connection.execute(sa.update(schema.head).values(seq=1))
    with pytest.raises(IntegrityError, match="nothing may be added"):
        world.register("test", ["a"])
