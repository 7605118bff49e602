"""The same random history on SQLite and on PostgreSQL gives the same bytes."""

import os
import random
import shutil

import pytest

from anml.core.errors import AnmlError
from anml.ledger import book
from anml.ledger.pay import payout, statement
from anml.ledger.pay.exports import beancount, statements_csv
from anml.ledger.pay.settle import release_settlement
from anml.ledger.services import annotate
from ledger.ledger_queries import events, leaves
from ledger.ledger_world import World, simple_rows

pytestmark = pytest.mark.slow


def live(world: World, seed: int) -> list[str]:
    """A random life of a ledger; what it refuses is part of the story."""
    pick = random.Random(seed)
    story: list[str] = []
    pids = list(world.establish("ann", "ben", "cat", "dan").values())
    sids = [world.post(world.run(simple_rows(dict.fromkeys(pids, 2))), "9")]
    batches = 0
    for number in range(25):
        step = pick.choice(
            ["settle", "settle", "wait", "release", "dispute", "answer", "resolve", "reverse", "pay", "erase"]
        )
        sid, pid = pick.choice(sids), pick.choice(pids)
        amount, days = pick.randrange(1, 5_000_000), pick.choice([1, 15])
        rows = {who: pick.randrange(1, 9) for who in pick.sample([*pids, f"new{number}"], 3)}
        q, pool = pick.random(), str(pick.randrange(1, 100))
        try:
            if step == "settle":
                sids.append(world.post(world.run(simple_rows(rows, q=q)), pool))
            elif step == "wait":
                world.clock.pass_days(days)
            elif step == "release":
                release_settlement(world.ledger, sid)
            elif step == "dispute":
                world.ledger.write(
                    lambda tx, a=(sid, pid, number): book.open_dispute(tx, a[0], a[1], "other", str(a[2]))
                )
            elif step == "answer":
                given = book.Answer("upheld", "other", "cat", amount - 2_000_000)
                world.ledger.write(lambda tx, a=(sid, pid, given, number): book.answer(tx, *a[:3], str(a[3])))
            elif step == "resolve":
                world.ledger.write(
                    lambda tx, a=(sid, pid, number): book.resolve(tx, a[0], a[1], "dan", str(a[2]))
                )
            elif step == "reverse":
                made = world.ledger.write(
                    lambda tx, a=(sid, pid, amount): book.propose_reversal(tx, *a, "other", "cat")
                )
                world.confirm(made.seq)
            elif step == "pay":
                batches += 1
                payout.create_batch(world.ledger, f"p{batches}", "EUR", "cat")
                payout.record_payment_results(world.ledger, f"p{batches}", None, paid=days == 1)
            elif pick.random() < 0.3:
                world.erase(pid)
            story.append(f"{step} done")
        except AnmlError as error:
            story.append(f"{step}: {error}")
    return [*story, *sids]


def twins(make_world, seed: int) -> list[World]:
    """Two ledgers on two engines, with the same keys and the same randomness."""
    first = make_world("sqlite")
    folder = first.folder.parent / f"world{len(list(first.folder.parent.iterdir()))}"
    shutil.copytree(first.keys, folder / "keys")
    # A folder of keys whose ledger was never made: `create` goes on with what it finds.
    (folder / "keys" / "unfinished").touch()
    worlds = [first, make_world("postgresql", folder)]
    for world in worlds:
        object.__setattr__(world.ledger, "entropy", random.Random(seed).randbytes)
    return worlds


@pytest.mark.parametrize("seed", range(int(os.environ.get("ANML_EXAMPLES", "1")) * 3))
def test_both_engines_write_the_same_bytes(seed, make_world):
    worlds = twins(make_world, seed)
    stories = [live(world, seed) for world in worlds]
    assert stories[0] == stories[1]
    sids = [word for word in stories[0] if word.startswith("s") and " " not in word and ":" not in word]
    assert sids
    outcomes = []
    for world in worlds:
        with world.ledger.read() as connection:
            log = leaves(connection)
            text = beancount(events(connection))
        made = [item for sid in sids for item in statement.build(world.ledger, sid).values()]
        signed = [statement.sign(world.ledger, item) for item in made]
        outcomes.append((log, text, statements_csv(made), signed))
    assert outcomes[0] == outcomes[1]


def test_the_same_import_gives_the_same_log(make_world, pytestconfig):
    file = pytestconfig.rootpath / "tests" / "data" / "label_studio.json"
    logs = []
    for world in twins(make_world, 1):
        world.clock.pass_days(30)
        annotate.import_file(world.ledger, annotate.Import(file, "label-studio"))
        with world.ledger.read() as connection:
            logs.append(leaves(connection))
    assert logs[0] == logs[1]
