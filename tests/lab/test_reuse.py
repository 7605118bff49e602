"""Freshness across domains: rows of every way to set T."""

from dataclasses import replace

import pytest

from anml.lab.cells import cells_of
from anml.lab.kinds import KINDS, run_block
from anml.lab.reuse import MEASURES, SCENARIOS, TRUE, WAYS, simulate
from anml.lab.spec import catalogue

REUSE = catalogue("beyond")["reuse"]


def test_the_kind_runs_and_measures_these():
    assert KINDS["reuse"].data == SCENARIOS == tuple(REUSE.vary["dataset"])
    assert KINDS["reuse"].peers == WAYS == tuple(REUSE.peers)
    assert all(sum(weights) == pytest.approx(1) for weights in TRUE.values())


def test_many_reuses_lead_to_the_true_clock_and_one_domain_has_nothing_to_learn():
    found = simulate("destination-many", ["none", "by type", "learned", "true"], 0, 0)
    assert found["true"]["off"] == 0
    assert found["learned"]["off"] < 0.05 < found["by type"]["off"] < found["none"]["off"]
    assert found["learned"]["harm"] < found["by type"]["harm"] < found["none"]["harm"]
    same = simulate("same-few", ["of the source", "learned"], 0, 0)
    assert same["learned"]["off"] < 1e-12
    assert same["learned"]["error"] == same["of the source"]["error"]


def test_a_row_is_a_simulation_and_some_cells_run_alone():
    small = replace(REUSE, vary={"dataset": ["both-few"]}, peers=("none", "learned"), methods={})
    chosen = next(cell for cell, _, _, method in cells_of(small) if method == "learned")
    (row,) = run_block(small, [2], "both-few", cells=[chosen])
    assert (row["trial"], row["dataset"], row["method"]) == (2, "both-few", "learned")
    expected = simulate("both-few", ["learned"], small.seed, 2)["learned"]
    assert {name: row[name] for name in MEASURES} == expected
