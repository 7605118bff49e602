"""Nothing is paid twice from an old copy of a ledger: whoever pays remembers what they saw."""

import shutil

import pytest

from anml.core.errors import IntegrityError
from anml.ledger.pay import payout
from anml.ledger.pay.settle import release_settlement
from anml.ledger.services.verify import sign_checkpoint, verify
from ledger.ledger_world import simple_rows


def restored(world):
    """Ada is owed ten euros, which are paid; then a backup of before that is put in place."""
    pids = world.establish("ada")
    sid = world.post(world.run(simple_rows({"ada": 1})), "10")
    world.clock.pass_days(15)
    release_settlement(world.ledger, sid)
    world.ledger.close()
    shutil.copy(world.url, f"{world.url}.backup")
    world.reopen()
    payout.create_batch(world.ledger, "p1", "EUR", "cat")
    kept = world.folder / "kept.txt"
    kept.write_text(sign_checkpoint(world.ledger)["note"])
    world.ledger.close()
    shutil.copy(f"{world.url}.backup", world.url)
    world.reopen()
    return pids["ada"], kept


def test_a_restored_backup_pays_nobody_again(world):
    ada, kept = restored(world)
    assert verify(world.ledger).problems == []
    with pytest.raises(
        IntegrityError, match=r"it is an old copy .*what was paid since would be paid again: say what"
    ):
        payout.create_batch(world.ledger, "p2", "EUR", "cat")
    # On another machine, which saw nothing, a checkpoint kept elsewhere says the same.
    for path in (world.keys / "staff").glob("seen-*"):
        path.unlink()
    with pytest.raises(IntegrityError, match="it is an old copy"):
        payout.create_batch(world.ledger, "p2", "EUR", "cat", checkpoint=kept)
    # The bank's own list says what was paid; then there is nothing left to pay.
    made = payout.create_batch(world.ledger, "p1", "EUR", "cat", listed={ada: 10_000_000})
    assert made.batch.total == 10_000_000
    with pytest.raises(Exception, match="nothing can be paid in EUR"):
        payout.create_batch(world.ledger, "p2", "EUR", "cat")
    assert verify(world.ledger).problems == []


def test_the_banks_list_cannot_say_more_than_is_owed(world):
    ada, _ = restored(world)
    with pytest.raises(IntegrityError, match="below zero"):
        payout.create_batch(world.ledger, "p1", "EUR", "cat", listed={ada: 10_010_000})


def test_a_list_of_a_bank_is_read_to_the_cent(tmp_path):
    (tmp_path / "bank.csv").write_text("contributor,amount\nada,10.50\n")
    assert payout.read_bank_list(tmp_path / "bank.csv") == {"ada": 10_500_000}
    for text in ("contributor\nada\n", "contributor,amount\nada,1\nada,2\n", "contributor,amount\nada,x\n"):
        (tmp_path / "bad.csv").write_text(text)
        with pytest.raises(Exception, match=r"bad\.csv|digits"):
            payout.read_bank_list(tmp_path / "bad.csv")
