"""Several processes, killed again and again: nothing acknowledged is lost, and the sums always hold."""

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from anml.ledger import kinds
from anml.ledger import replay as audit
from ledger.ledger_queries import balances, events, settlements, totals
from ledger.ledger_world import World, simple_rows

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
KILLS = int(os.environ.get("ANML_KILLS", "6"))


def start(script: str, *arguments: str, output: Path) -> subprocess.Popen:
    with output.open("ab") as file:
        return subprocess.Popen([sys.executable, str(HERE / script), *arguments], stdout=file)


def test_kill_9_in_a_loop_with_several_writers(world, tmp_path):
    pick = random.Random(9)
    writers: dict[int, subprocess.Popen] = {}
    started = 0

    def begin(slot: int) -> None:
        nonlocal started
        started += 1
        # A file for each: what two processes append to one file at once may overlap.
        file = tmp_path / f"acknowledged-{started}"
        writers[slot] = start("ledger_writer.py", world.url, str(world.keys), f"w{started}", output=file)

    def acknowledged() -> list[str]:
        texts = [path.read_text() for path in tmp_path.glob("acknowledged-*")]
        return [line.strip() for text in texts for line in text.splitlines(keepends=True) if "\n" in line]

    for slot in range(3):
        begin(slot)
    for kill in range(KILLS):
        _wait_for(lambda kill=kill: len(acknowledged()) > 4 * (kill + 1))
        time.sleep(pick.uniform(0.02, 0.3))
        slot = pick.randrange(3)
        writers[slot].kill()
        writers[slot].wait()
        with world.ledger.read() as connection:
            # Whatever was killed, and whoever writes now, every read sees balanced books.
            assert set(totals(connection).values()) <= {0}
        begin(slot)
    for process in writers.values():
        process.kill()
        process.wait()
    kept, written = _kept(world), acknowledged()
    assert len(written) > 4 * KILLS
    assert set(written) <= kept
    with world.ledger.read() as connection:
        assert audit.verify(connection).problems == []
    print(f"{KILLS} kills, {len(kept)} entries, {len(written)} acknowledged, none lost")


def _kept(world: World) -> set[str]:
    world.reopen()
    with world.ledger.read() as connection:
        return {e.subject for e in events(connection, [kinds.APPROVED])}


def _wait_for(condition, seconds: float = 300.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "the writers made no progress"
        time.sleep(0.02)


def test_concurrent_settlements_keep_the_total(world, tmp_path):
    """The bank test: transfers by several processes, and every read shows the same total."""
    pids = world.establish("ann", "ben", "cat")
    before = sum(1 for _ in _settlements(world))
    rows = simple_rows({"ann": 1, "ben": 2, "cat": 4})
    processes = []
    for worker in range(3):
        folders = []
        for number in range(3):
            changed = rows.with_columns(score=rows["q"] * 0 + worker * 10 + number)
            folders.append(str(world.run(changed)))
        log = tmp_path / f"log{worker}"
        arguments = [world.url, str(world.keys), *folders]
        processes.append(start("ledger_settler.py", *arguments, output=log))
    reads = 0
    while any(process.poll() is None for process in processes):
        with world.ledger.read() as connection:
            assert totals(connection) == {"EUR": 0}
            for found in settlements(connection).values():
                if found.state == "posted":
                    accounts = ("held:", "payable:")
                    inside = sum(
                        sum(balances(connection, kind, "EUR", found.id).values()) for kind in accounts
                    )
                    assert inside == found.pool
        reads += 1
        time.sleep(0.05)
    assert [process.wait() for process in processes] == [0, 0, 0]
    assert reads > 0
    with world.ledger.read() as connection:
        posted = [s for s in settlements(connection).values() if s.state == "posted"]
        assert len(posted) == before + 9
        payable = balances(connection, "payable:", "EUR")
        assert audit.verify(connection).problems == []
    # 9 pools of 7 EUR, shared 1:2:4 and released at once.
    assert payable == {pids["ann"]: 9_000_000, pids["ben"]: 18_000_000, pids["cat"]: 36_000_000}


def _settlements(world: World):
    with world.ledger.read() as connection:
        return [s for s in settlements(connection).values() if s.state == "posted"]


@pytest.mark.parametrize("engine", ["sqlite"])
def test_sqlite_refuses_to_run_without_full_synchronous(engine, make_world):
    world = make_world(engine)
    with world.ledger.read() as connection:
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
