"""Rows of reputation over time: one per scenario, rule and trial."""

import json
from dataclasses import replace

import numpy as np
import pytest

from experiments.cells import cells_of
from experiments.kinds import MEASURES, run_block
from experiments.longitudinal.simulate import simulate
from experiments.report import write_report
from experiments.runner import run
from experiments.spec import list_experiments

pytestmark = pytest.mark.slow

FIELD = list_experiments("field")


def test_reputation_over_time_runs_and_is_judged(tmp_path):
    whole = FIELD["longitudinal"]
    experiment = replace(whole, trials=1, vary={"dataset": ["honest", "turncoats"]}, claims=whole.claims[:2])
    run([experiment], tmp_path)
    written = write_report(tmp_path, tmp_path / "cited.md", [experiment], "field")
    assert [path.name for path in written] == ["summary.json", "cited.md"]
    page = (tmp_path / "cited.md").read_text()
    assert "## longitudinal" in page
    [entry] = json.loads((tmp_path / "summary.json").read_text())["experiments"]
    assert [claim["text"] for claim in entry["claims"]] == [claim["text"] for claim in whole.claims[:2]]
    assert entry["unchecked"] == []
    # The loss needs newcomers, who were not run, and is left out.
    assert {row["metric"] for row in entry["rows"]} == set(whole.metrics)


def test_a_row_is_a_simulation_and_some_cells_run_alone():
    whole = FIELD["longitudinal"]
    small = replace(whole, vary={"dataset": ["honest"]}, peers=("uniform", "as given"), methods={})
    chosen = next(cell for cell, _, _, method in cells_of(small) if method == "as given")
    (row,) = run_block(small, [1], "honest", cells=[chosen])
    assert (row["trial"], row["dataset"], row["method"]) == (1, "honest", "as given")
    expected = simulate("honest", "as given", small.seed, 1)
    assert {name: row[name] for name in expected} == expected
    assert all(np.isnan(row[name]) for name in MEASURES["longitudinal"] if name not in expected)
