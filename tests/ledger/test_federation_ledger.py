"""The folder of a federation goes into a ledger."""

from anml.app.audit.output import write_run
from anml.app.people.scores import add_run
from anml.app.scale.federate import run_demo


def test_the_folder_of_a_federation_can_be_added(make_world, tmp_path):
    world, done = make_world("sqlite"), run_demo(0, rounds=3)
    write_run(tmp_path / "f", done.report, "federate", lambda draft: None)
    assert add_run(world.ledger, tmp_path / "f", "federation") == 10
