"""Worth of coalitions on disk: asked once each, written as it goes, and never another game's."""

import numpy as np
import polars as pl
import pytest

from anml.app.value import store as value_store
from anml.app.value.store import CACHE, CoalitionStore
from anml.core.errors import InputError


class Game:
    """Worth is the number of members; counts how often it is asked."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, coalitions):
        self.asked += len(coalitions)
        return coalitions.sum(axis=1).astype(float)


EVERY = np.array([[bool(code >> place & 1) for place in range(4)] for code in range(16)])


def test_a_coalition_is_asked_once(tmp_path):
    game = Game()
    ask = CoalitionStore(tmp_path, "a").wrap(game, 16, None)
    assert ask(EVERY).tolist() == EVERY.sum(axis=1).tolist()
    assert game.asked == 16
    assert ask(EVERY[::-1]).tolist() == EVERY[::-1].sum(axis=1).tolist()
    assert ask(np.vstack([EVERY[3], EVERY[3]])).tolist() == [2, 2]
    assert game.asked == 16


def test_a_run_that_was_stopped_goes_on(tmp_path):
    first, second = Game(), Game()
    CoalitionStore(tmp_path, "a").wrap(first, 16, None)(EVERY[:10])
    ask = CoalitionStore(tmp_path, "a").wrap(second, 16, None)
    assert ask(EVERY).tolist() == EVERY.sum(axis=1).tolist()
    assert second.asked == 6


def test_another_game_is_asked_anew(tmp_path):
    CoalitionStore(tmp_path, "a").wrap(Game(), 16, None)(EVERY)
    other = Game()
    CoalitionStore(tmp_path, "b").wrap(other, 16, None)(EVERY)
    assert other.asked == 16


def test_what_is_known_is_written_as_it_goes(tmp_path, monkeypatch):
    monkeypatch.setattr(value_store, "TOGETHER", 4)
    told = []

    def progress(what, done, of):
        told.append((done, pl.read_parquet(tmp_path / CACHE).height if (tmp_path / CACHE).exists() else 0))

    CoalitionStore(tmp_path, "a").wrap(Game(), 16, progress)(EVERY)
    assert told == [(4, 0), (8, 4), (12, 8), (16, 12)]
    assert [path.name for path in tmp_path.iterdir()] == [CACHE]


def test_without_a_folder_nothing_is_written():
    game = Game()
    store = CoalitionStore(None, "a")
    store.wrap(game, 16, None)(EVERY)
    store.keep()
    assert len(store.known) == 16


@pytest.mark.parametrize("data", [b"", b"PAR1", b"rubbish"])
def test_a_damaged_file_is_named(tmp_path, data):
    (tmp_path / CACHE).write_bytes(data)
    with pytest.raises(InputError, match=r"coalitions.parquet is damaged; remove it"):
        CoalitionStore(tmp_path, "a")


def test_a_table_of_another_shape_is_named(tmp_path):
    pl.DataFrame({"of": ["a"], "coalition": ["no hex"], "worth": [1.0]}).write_parquet(tmp_path / CACHE)
    with pytest.raises(InputError, match="is damaged"):
        CoalitionStore(tmp_path, "a")
