"""Verification, the watch over a ledger, and proofs that it only grew."""

import json
import os

import pytest
import sqlalchemy as sa

from anml.core.errors import AnmlError, InputError, IntegrityError
from anml.ledger import schema
from anml.ledger.checkpoint import Checkpoint
from anml.ledger.keys import public_text
from anml.ledger.services import verify as verify_module
from anml.ledger.services.verify import (
    check_against_checkpoints,
    check_consistency_proof,
    make_consistency_proof,
    sign_checkpoint,
    verify,
)
from anml.ledger.store import open_ledger


def note(ledger) -> str:
    return sign_checkpoint(ledger)["note"]


def test_a_sound_ledger_has_no_problems_with_and_without_its_keys(lived):
    assert verify(lived.ledger).problems == []
    public = lived.ledger.ring.public
    bare = open_ledger(lived.world.url, lived.folder / "keys")
    without = type(bare)(bare.engine, None)
    assert verify(without, public=public).problems == []
    assert verify(without).entries == verify(lived.ledger).entries
    bare.close()


def test_another_ledgers_key_and_checkpoint_are_told(lived):
    said = verify(lived.ledger, (Checkpoint("other", 1, bytes(32)),), bytes(range(32))).problems
    assert any("another public key" in one for one in said)
    assert any("the checkpoint is of 'other'" in one for one in said)


def test_a_watch_keeps_a_checkpoint_for_every_state_it_saw(world, tmp_path):
    folder = tmp_path / "watch"
    folder.mkdir()
    first = check_against_checkpoints(world.ledger, folder)
    assert (first.compared, first.problems) == (0, [])
    again = check_against_checkpoints(world.ledger, folder)
    assert (again.compared, len(list(folder.iterdir()))) == (1, 1)
    world.register("test", ["x"])
    third = check_against_checkpoints(world.ledger, folder)
    assert (third.compared, third.entries) == (1, first.entries + 2)
    assert len(list(folder.glob("*.txt"))) == 2
    assert (folder / sorted(path.name for path in folder.iterdir())[1]).read_text() == note(world.ledger)


def test_checkpoints_that_cannot_be_listed_are_not_taken_for_none(world, tmp_path, monkeypatch):
    """A folder may be written to and not read: `Path.glob` finds nothing there, and says nothing."""

    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    for name in ("listdir", "scandir"):
        monkeypatch.setattr(os, name, refuse)
    with pytest.raises(InputError, match="cannot be read: Permission denied"):
        check_against_checkpoints(world.ledger, tmp_path)


def test_a_watch_that_finds_something_keeps_nothing(world, tmp_path):
    folder = tmp_path / "watch"
    folder.mkdir()
    check_against_checkpoints(world.ledger, folder)
    (folder / "forged.txt").write_text("not a checkpoint")
    found = check_against_checkpoints(world.ledger, folder)
    assert any(one.startswith("forged.txt: the checkpoint is not signed") for one in found.problems)
    with world.ledger.engine.begin() as connection:
        connection.execute(sa.update(schema.meta).where(schema.meta.c.name == "origin").values(value="x"))
    before = sorted(path.name for path in folder.iterdir())
    assert check_against_checkpoints(world.ledger, folder).problems
    assert sorted(path.name for path in folder.iterdir()) == before


def test_growth_is_proved_to_who_has_the_public_key_alone(world):
    older = note(world.ledger)
    size = world.size()
    world.register("test", ["x", "y"])
    proof = make_consistency_proof(world.ledger, older)
    assert check_consistency_proof(proof, public_text(world.ledger.ring.public)) == (size, size + 3)
    with pytest.raises(IntegrityError, match="not signed by this ledger's key"):
        check_consistency_proof(proof, public_text(bytes(range(32))))


def test_a_rewritten_history_cannot_be_proved(world, tmp_path):
    from ledger.ledger_world import World

    older = note(world.ledger)
    world.register("test", ["x"])
    proof = json.loads(make_consistency_proof(world.ledger, older))
    for change in ({"path": proof["path"][:-1]}, {"path": [*proof["path"], proof["path"][0]]}):
        with pytest.raises(IntegrityError, match="does not continue the older one"):
            check_consistency_proof(
                json.dumps({**proof, **change}).encode(), public_text(world.ledger.ring.public)
            )
    other = World(str(tmp_path / "o.db"), tmp_path / "o", tmp_path, ("ann",))
    with pytest.raises(IntegrityError, match="not signed by this ledger's key"):
        make_consistency_proof(other.ledger, older)
    other.ledger.close()


@pytest.mark.parametrize(
    "data", [b"", b"[]", b"{}", b"\xff", b'{"path": [1], "older": "", "newer": ""}', b"[" * 10**5]
)
def test_what_is_no_proof_is_one_sentence(data):
    with pytest.raises(InputError, match=r"^a proof of growth is JSON with older, newer and path$"):
        check_consistency_proof(data, public_text(bytes(32)))


def test_an_older_checkpoint_from_the_future_is_refused(lived):
    from anml.ledger import checkpoint

    ahead = checkpoint.sign_checkpoint(lived.ledger.ring, 10**6, bytes(32))
    with pytest.raises(AnmlError, match="does not start with what the older checkpoint saw"):
        make_consistency_proof(lived.ledger, ahead)


@pytest.mark.parametrize(
    "error", [TypeError("'<' not supported"), UnicodeDecodeError("utf-8", b"\xe7", 0, 1, "odd")]
)
def test_a_file_that_holds_what_no_ledger_writes_is_said(world, tmp_path, monkeypatch, error):
    def damaged(*_):
        raise error

    monkeypatch.setattr(verify_module.audit, "unexpected_objects", damaged)
    for command in (verify, sign_checkpoint, lambda ledger: check_against_checkpoints(ledger, tmp_path)):
        with pytest.raises(InputError, match="the ledger's file is damaged: it holds what no ledger writes"):
            command(world.ledger)


@pytest.mark.parametrize(
    "change", [{"at": 5}, {"key": []}, {"kind": {}}, {"subject": []}, {"postings": [[[], "EUR", 1]]}]
)
def test_an_entry_of_other_kinds_is_a_problem_for_all_who_read(world, tmp_path, change):
    """Also for a watch that saw the log end right before it."""
    last, folder = world.size(), tmp_path / "watch"
    folder.mkdir()
    check_against_checkpoints(world.ledger, folder)
    world.register("test", ["x"])
    with world.ledger.engine.begin() as connection:
        guards = sa.text("SELECT name FROM sqlite_master WHERE type = 'trigger'")
        for name in connection.scalars(guards).all():
            connection.exec_driver_sql(f"DROP TRIGGER {name}")
        which = schema.event.c.seq == last + 1
        entry = json.loads(connection.scalar(sa.select(schema.event.c.entry).where(which)))
        damaged = json.dumps(entry | change).encode()
        connection.execute(sa.update(schema.event).where(which).values(entry=damaged))
    world.ledger.memory.clear()
    for found in (verify(world.ledger), check_against_checkpoints(world.ledger, folder)):
        assert f"entry {last + 1} cannot be read" in found.problems
    assert len(list(folder.iterdir())) == 1
    with pytest.raises(IntegrityError, match="nothing is signed of a ledger that does not verify"):
        sign_checkpoint(world.ledger)
