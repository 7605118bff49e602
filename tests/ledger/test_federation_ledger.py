"""The folder of a federation goes into a ledger."""

from anml.ledger.contributors.scores import record_run_scores
from anml.pipeline.write import write_run
from experiments.federation_demo import run_demo


def test_the_folder_of_a_federation_can_be_added(make_world, tmp_path):
    world, done = make_world("sqlite"), run_demo(0, rounds=3)
    write_run(tmp_path / "f", done.report, "federate", lambda draft: None)
    assert record_run_scores(world.ledger, tmp_path / "f", "federation") == 10
