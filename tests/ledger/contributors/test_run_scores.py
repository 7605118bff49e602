"""Held-out quality of a run as scores: the same rows count once, whatever run they are in."""

import polars as pl
import pytest

from anml.core.errors import InputError, IntegrityError
from anml.ledger.contributors.reputation import show
from anml.ledger.contributors.scores import record_run_scores
from anml.pipeline.read import record_run_hash
from ledger.ledger_world import simple_rows


def run(world, first: float = 1.0, rows: int = 3):
    frame = simple_rows({"ada": rows, "bea": rows}).with_columns(
        self_confidence=pl.Series([first] * rows + [0.0] * rows)
    )
    folder = world.folder / f"scores{len(list(world.folder.iterdir()))}"
    from ledger.ledger_world import write_run

    write_run(folder, frame)
    return folder


def test_a_run_scores_everybody_once(world):
    folder = run(world)
    assert record_run_scores(world.ledger, folder, "tool") == 2
    standing = show(world.ledger)
    r = sorted(one.track.r for one in standing.values())
    # A quarter of a batch, all right and all wrong: (0.25 + 1.6) / 4.25 and 1.6 / 4.25.
    assert r == pytest.approx([1.6 / 4.25, 1.85 / 4.25], abs=1e-3)
    size = world.size()
    assert record_run_scores(world.ledger, folder, "tool") == 0
    assert world.size() == size


def test_the_same_rows_in_another_run_count_no_more(world):
    assert record_run_scores(world.ledger, run(world), "tool") == 2
    assert record_run_scores(world.ledger, run(world, first=0.1), "tool") == 0


def test_rows_that_are_new_count_as_far_as_they_are_new(world):
    record_run_scores(world.ledger, run(world, rows=2), "tool")
    # Of three rows of Ada's one is new; Bea's rows stand under other numbers, and two of hers are.
    assert record_run_scores(world.ledger, run(world, rows=3), "tool") == 2


def test_a_run_that_was_put_in_the_place_of_another_scores_nobody(world):
    """Whoever can write to the folder changes the samples and their hashes together."""
    folder = run(world)
    record_run_hash(folder, (folder / "run.json").read_bytes())
    for path in run(world, first=0.1).iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    size = world.size()
    with pytest.raises(IntegrityError, match="was written here has"):
        record_run_scores(world.ledger, folder, "tool")
    assert world.size() == size


def test_a_run_that_says_nothing_of_what_it_had_not_seen(world):
    folder = world.run(simple_rows({"ada": 1}))
    size = world.size()
    with pytest.raises(InputError, match="the run has no held-out predictions"):
        record_run_scores(world.ledger, folder, "tool")
    assert world.size() == size
