"""A federation's rounds in a ledger: each once, and r that can be replayed from them."""

import numpy as np
import pytest

from anml.app.audit.output import write_run
from anml.app.people.reputation import replay_history, show
from anml.app.people.run_scores import add_run
from anml.app.scale.federate import run_demo
from anml.app.scale.federation_ledger import into_ledger
from anml.core.errors import InputError
from anml.federated.rounds import Federation, Reply


def rounds(federation, count=4):
    for number in range(1, count + 1):
        rng = np.random.default_rng(number)
        rows = np.vstack([rng.normal(0.1, 0.1, (6, 200)), rng.normal(-0.1, 0.1, (3, 200))])
        federation.aggregate(number, [Reply(f"client-{i}", row) for i, row in enumerate(rows)])


def test_rounds_become_scores_once(make_world):
    world = make_world("sqlite")
    rounds(Federation(record=into_ledger(world.ledger, "spring")))
    found = show(world.ledger)
    assert len(found) == 9
    assert all(standing.track.events == 4 for standing in found.values())
    rounds(Federation(record=into_ledger(world.ledger, "spring")))
    assert all(standing.track.events == 4 for standing in show(world.ledger).values())
    tracks = sorted(standing.track.r for standing in found.values())
    assert tracks[2] < tracks[3]
    pid = next(iter(found))
    assert replay_history(world.ledger, pid).now.r == pytest.approx(found[pid].track.r)


def test_a_federation_needs_a_name(make_world):
    with pytest.raises(InputError, match="needs a name"):
        into_ledger(make_world("sqlite").ledger, " ")


def test_the_folder_of_a_federation_can_be_added(make_world, tmp_path):
    world, done = make_world("sqlite"), run_demo(0, rounds=3)
    write_run(tmp_path / "f", done.report, "federate", lambda draft: None)
    assert add_run(world.ledger, tmp_path / "f", "federation") == 10
