"""A ledger with a history, made once for all files of a run: for use cases that read one."""

from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from anml.ledger import book
from anml.ledger.pay.settle import release_settlement
from ledger.ledger_world import World, copied_world, simple_rows


@pytest.fixture(scope="session")
def lived(tmp_path_factory) -> Iterator[SimpleNamespace]:
    """Ada and Bea are established, Cem is new; ten euros are posted, held and under one dispute.

    Ada has bank details, and the first settlement, of one micro-unit, is released and cannot be paid. Tests
    that write into this ledger rehearse, or take a ledger of their own.
    """
    folder = tmp_path_factory.mktemp("lived")
    world = World(str(folder / "ledger.db"), folder / "keys", folder, ("ann", "bob", "cat", "dan"))
    pids = world.establish("ada", "bea")
    world.pay_to(pids["ada"], {"name": "Ada Lovelace", "iban": "DE89370400440532013000"})
    run = world.run(simple_rows({"ada": 3, "bea": 1, "cem": 1}))
    sid = world.post(run, "10")
    pids |= world.register("run", ["cem"])
    said = {"text": "I did four rows", "recorded_by": "cat"}
    world.ledger.write(lambda tx: book.open_dispute(tx, sid, pids["bea"], "wrong-count", "d", **said))
    world.clock.pass_days(15)
    release_settlement(world.ledger, sid, by="cat")
    yield SimpleNamespace(world=world, ledger=world.ledger, pids=pids, sid=sid, run=run, folder=folder)
    world.ledger.close()


@pytest.fixture
def world(tmp_path) -> Iterator[World]:
    """A fresh ledger with three members of staff."""
    made = copied_world(tmp_path, ("ann", "bob", "cat"))
    yield made
    made.ledger.close()


@pytest.fixture
def paid(world) -> SimpleNamespace:
    """Ada has 7.50 payable in euros and Bea 2.50, of a ledger of their own."""
    pids = world.establish("ada", "bea")
    sid = world.post(world.run(simple_rows({"ada": 3, "bea": 1})), "10")
    world.clock.pass_days(15)
    release_settlement(world.ledger, sid)
    return SimpleNamespace(world=world, ledger=world.ledger, pids=pids, sid=sid)
