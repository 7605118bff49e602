"""Fixtures: a ledger with a history, and its commands run in this process."""

import json
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from anml.ledger.pay.settle import release_settlement


@pytest.fixture(scope="session")
def first_books(tmp_path_factory: pytest.TempPathFactory) -> SimpleNamespace:
    """A ledger with a history, closed: ten euros posted for three people, one dispute, one draft to come."""
    from anml.ledger import book
    from ledger.ledger_world import World, simple_rows

    folder = tmp_path_factory.mktemp("books")
    world = World(str(folder / "ledger.db"), folder / "keys", folder, ("ann", "bob", "cat", "dan"))
    pids = world.establish("ada", "bea")
    world.pay_to(pids["ada"], {"name": "Ada Lovelace", "iban": "DE89370400440532013000"})
    sid = world.post(world.run(simple_rows({"ada": 3, "bea": 1, "cem": 1})), "10")
    said = {"text": "I did four rows", "recorded_by": "cat"}
    world.ledger.write(lambda tx: book.open_dispute(tx, sid, pids["bea"], "wrong-count", "d", **said))
    world.clock.pass_days(15)
    release_settlement(world.ledger, sid, by="cat")
    world.run(simple_rows({"ada": 2, "bea": 2}))
    size = world.size()
    world.ledger.close()
    return SimpleNamespace(folder=folder, sid=sid, pids=pids, size=size, run="run3")


class Books:
    """A copy of that ledger, and a way to call commands on it."""

    def __init__(self, first: SimpleNamespace, folder: Path, anml_ledger: Callable) -> None:
        self.folder, self.sid, self.pids, self.anml_ledger = folder, first.sid, first.pids, anml_ledger
        self.run, self._place = (
            folder / first.run,
            ["--ledger", folder / "ledger.db", "--keys", folder / "keys"],
        )

    def __call__(self, *arguments: object) -> Any:
        """Run a command on this ledger."""
        return self.anml_ledger(*arguments, *self._place)

    def json(self, *arguments: object) -> Any:
        """Run a command that succeeds, and read the one object it prints."""
        ran = self(*arguments, "--json")
        assert (ran.code, ran.err) == (0, ""), ran
        return json.loads(ran.out)

    def sign(self, *arguments: object) -> Any:
        """Look at what a second person would sign, then sign exactly that."""
        ran = self(*arguments, "--json")
        assert ran.code == 3, ran
        return self.json(*arguments, "--yes", json.loads(ran.out)["digest"])

    def waiting(self) -> list[int]:
        """The numbers of what waits for a second person."""
        return [found["proposal"] for found in self.json("show", "waiting")["proposals"]]

    def refused(self, *arguments: object) -> str:
        """Run a command that is refused: one sentence, and the ledger as it was."""
        before = self.size()
        ran = self(*arguments)
        assert (ran.code, ran.out) == (2, ""), ran
        assert ran.err.startswith("error: ")
        assert ran.err.count("\n") == 1
        assert self.size() == before
        return ran.err.removeprefix("error: ").rstrip("\n")

    def size(self) -> int:
        """Return the number of entries of the log."""
        base = sqlite3.connect(self.folder / "ledger.db")
        (found,) = base.execute("SELECT COUNT(*) FROM event").fetchone()
        base.close()
        return int(found)


@pytest.fixture
def books(first_books: SimpleNamespace, tmp_path: Path, anml_ledger: Callable) -> Books:
    """A ledger of this test's own."""
    folder = tmp_path / "books"
    shutil.copytree(first_books.folder, folder)
    return Books(first_books, folder, anml_ledger)
