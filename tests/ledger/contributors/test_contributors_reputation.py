"""Track records shown and replayed from scratch: the same value to the last bit."""

import pytest

from anml.core.errors import InputError
from anml.ledger.contributors.reputation import show
from anml.ledger.log import format_timestamp
from anml.ledger.standing import Score, item_hash
from anml.settlement.allocate import UNIT
from ledger.ledger_reputation import replay_history


@pytest.fixture
def scored(world):
    world.pids = world.register("ls", ["ada", "bea"])
    for number, quality in enumerate((1.0, 0.5, 0.9)):
        marks = (item_hash("t", str(number)),)
        now = format_timestamp(world.clock.now)
        world.score(
            Score(world.pids["ada"], "default", "gold", f"b{number}", now, round(quality * UNIT), marks, 1)
        )
        world.clock.pass_days(10)
    return world


def test_a_history_has_a_step_for_each_event_and_ends_where_the_record_stands(scored):
    steps, now = replay_history(scored.ledger, scored.pids["ada"])
    assert [step["quality"] for step in steps] == [1.0, 0.5, 0.9]
    assert now == show(scored.ledger)[scored.pids["ada"]].track
    # After the first: (1 + 1.6) / (1 + 4).
    assert steps[0]["r"] == pytest.approx(0.52)


def test_an_earlier_moment_knows_what_was_known_then(scored):
    at = "2026-01-15T00:00:00.000000Z"
    steps, now = replay_history(scored.ledger, scored.pids["ada"], at=at)
    assert len(steps) == 2
    assert now == show(scored.ledger, at=at)[scored.pids["ada"]].track


def test_who_has_no_record_has_an_empty_history_and_who_is_nobody_none(scored):
    steps, now = replay_history(scored.ledger, scored.pids["bea"])
    assert (steps, now.r) == ([], pytest.approx(0.4))
    with pytest.raises(InputError, match="there is no contributor 'nobody'"):
        replay_history(scored.ledger, "nobody")


def test_domains_are_apart(scored):
    assert replay_history(scored.ledger, scored.pids["ada"], "faces")[0] == []
