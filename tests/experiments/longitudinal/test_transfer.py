"""Reputation that moves between domains: what is learned from those who are in both, by hand and at work."""

import numpy as np
import pytest

from anml.signals.track_record import ReputationEvent, ReputationRule
from experiments.kinds import KINDS, MEASURES, run_block
from experiments.longitudinal.transfer import TRANSFER_RULES, fit_transfer, simulate
from experiments.spec import list_experiments

pytestmark = pytest.mark.slow

TRANSFER = list_experiments("beyond")["transfer"]


def record(*shares: float) -> list[ReputationEvent]:
    return [ReputationEvent(float(at), share, "gold", str(at)) for at, share in enumerate(shares)]


def test_the_kind_runs_and_measures_these():
    assert KINDS["transfer"].peers == TRANSFER_RULES == tuple(TRANSFER.peers)
    assert set(TRANSFER.metrics) == set(MEASURES["transfer"])


def test_a_line_through_records_says_where_to_start_and_how_much_that_is_worth():
    """Records .5 and .9 with equal accuracy calibrate a record of .7 to .7."""
    both = [record(0.4, 0.6), record(0.4, 0.6), record(0.8, 1.0), record(0.8, 1.0)]
    rules = fit_transfer(np.array([0.5, 0.5, 0.9, 0.9]), both, np.array([0.7, 0.5, 2.0]))
    assert [rule.r0 for rule in rules] == pytest.approx([0.7, 0.5, ReputationRule.high])
    # The line leaves nothing: it is worth as much as may be remembered.
    assert {rule.kappa for rule in rules} == {ReputationRule.cap}


def test_a_record_that_says_nothing_is_worth_little():
    """Half of those who earned .8 are always right there, half never: batches vary less than people."""
    both = [record(1.0, 1.0, 1.0), record(0.0, 0.0, 0.1)] * 4
    (rule,) = fit_transfer(0.8 + 1e-3 * np.repeat(np.arange(4.0), 2), both, np.array([0.8]))
    assert 0.4 < rule.r0 < 0.6
    assert rule.kappa == 0.5


def test_full_transfer_misleads_where_skills_are_opposed_and_learned_does_not():
    result = simulate(-0.5, TRANSFER_RULES, 7, 0)
    assert (
        result["full"]["off"] > result["none"]["off"] > result["learned"]["off"] > result["known"]["off"] == 0
    )
    assert result["full"]["ranks"] < 0 < result["learned"]["ranks"] < result["known"]["ranks"]


def test_a_row_is_a_simulation_at_its_correlation():
    rows = [row for row in run_block(TRANSFER, [1], "digits") if row["correlation"] == "0.9"]
    expected = simulate(0.9, TRANSFER_RULES, TRANSFER.seed, 1)
    assert [row["method"] for row in rows] == list(TRANSFER_RULES)
    assert all({name: row[name] for name in MEASURES["transfer"]} == expected[row["method"]] for row in rows)
