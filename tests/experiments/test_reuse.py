"""Freshness across domains: rows of every way to set T."""

from dataclasses import replace

import pytest

from experiments.cells import cells_of
from experiments.kinds import KINDS, MEASURES, run_block
from experiments.reuse import (
    CLOCKS,
    DECAY_RULES,
    SCENARIOS,
    SHIFT_WAYS,
    TRUE_WEIGHTS,
    simulate,
    simulate_arrival,
)
from experiments.spec import list_experiments

pytestmark = pytest.mark.slow

REUSE, SHIFT = (list_experiments("beyond")[name] for name in ("reuse", "shift"))


def test_the_kind_runs_and_measures_these():
    assert KINDS["reuse"].data == SCENARIOS == tuple(REUSE.vary["dataset"])
    assert KINDS["reuse"].peers == DECAY_RULES == tuple(REUSE.peers)
    assert all(sum(weights) == pytest.approx(1) for weights in TRUE_WEIGHTS.values())


def test_many_reuses_lead_to_the_true_clock_and_one_domain_has_nothing_to_learn():
    result = simulate("destination-many", ["none", "by type", "learned", "true"], 0, 0)
    assert result["true"]["off"] == 0
    assert result["learned"]["off"] < 0.05 < result["by type"]["off"] < result["none"]["off"]
    assert result["learned"]["harm"] < result["by type"]["harm"] < result["none"]["harm"]
    same = simulate("same-few", ["of the source", "learned"], 0, 0)
    assert same["learned"]["off"] < 1e-12
    assert same["learned"]["error"] == same["of the source"]["error"]


def test_a_row_is_a_simulation_and_some_cells_run_alone():
    small = replace(REUSE, vary={"dataset": ["both-few"]}, peers=("none", "learned"), methods={})
    chosen = next(cell for cell, _, _, method in cells_of(small) if method == "learned")
    (row,) = run_block(small, [2], "both-few", cells=[chosen])
    assert (row["trial"], row["dataset"], row["method"]) == (2, "both-few", "learned")
    expected = simulate("both-few", ["learned"], small.seed, 2)["learned"]
    assert {name: row[name] for name in MEASURES["reuse"]} == expected


def test_domains_that_arrive_are_run_and_measured_so():
    assert list(KINDS["shift"].data) == list(CLOCKS) == SHIFT.vary["dataset"]
    assert KINDS["shift"].peers == SHIFT_WAYS == tuple(SHIFT.peers)
    assert set(SHIFT.metrics) == set(MEASURES["shift"])


def test_where_domains_differ_each_is_learned_by_itself():
    result = simulate_arrival("mixed", SHIFT_WAYS, 3, 0)
    assert result["true"]["off"] == result["true"]["off_new"] == 0
    assert result["learned"]["off"] < result["learned as one"]["off"]
    assert result["learned"]["harm"] < result["given"]["harm"] < result["none"]["harm"]
    (row,) = run_block(replace(SHIFT, vary={"dataset": ["mixed"]}, peers=("true",), seed=3), [0], "mixed")
    # All ways see the same labels, so that one alone gives the same row.
    assert {name: row[name] for name in MEASURES["shift"]} == result["true"]
