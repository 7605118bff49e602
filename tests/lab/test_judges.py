"""The judge of the grid: regret by hand, and what it says where nothing was run."""

import numpy as np
import polars as pl
import pytest

from anml.core.stats import Estimate
from anml.lab.expressions import Results
from anml.lab.judges import JUDGES, NEEDED, OURS, ROWS, Cell, cells, clearly_worse, regret, regret_rows
from anml.lab.spec import catalogue, parse

EVERY = {**catalogue(), **catalogue("beyond"), **catalogue("field")}


def grid(errors: dict[str, dict[str, float]], credentials: str = "noise") -> Results:
    """Two trials, the second one point worse, of each method at each share of bad data."""
    table = {
        "title": "x", "methods": ["evidence", "uniform", "adaptive"],
        "vary": {"bad": [float(bad) for bad in errors], "credentials": [{"label": credentials}],
                 "profile": ["paper", "default"]},
    }  # fmt: skip
    rows = [
        {"trial": trial, "bad": f"{float(bad):g}", "credentials": credentials, "profile": profile,
         "method": method, "error": error + trial}
        for bad, methods in errors.items()
        for method, error in methods.items()
        for profile in ("paper", "default")
        for trial in (0, 1)
    ]  # fmt: skip
    return Results(parse("x", table), pl.DataFrame(rows))


def test_judges_have_rows_and_name_the_methods_they_need():
    assert set(JUDGES) == set(ROWS) == set(NEEDED)


@pytest.mark.parametrize("name", [name for name, found in EVERY.items() if found.judge])
def test_every_experiment_that_is_judged_has_what_its_judge_needs(name):
    assert set(NEEDED[EVERY[name].judge]) <= set(EVERY[name].methods)


def test_regret_by_hand():
    """Ours 10 and 11, the best other 14 and 15: four points less in every trial."""
    results = grid({"0.3": {"evidence": 10, "uniform": 30, "adaptive": 14}})
    (cell,) = cells(results)
    assert (cell.ours, cell.best) == (10.5, "adaptive (paper q)")
    assert cell.regret.mean == pytest.approx(-4)
    (row,) = regret_rows(results)
    assert row["ours"] == pytest.approx(-4)
    assert row["key"] == {"bad": "0.3", "credentials": "noise", "best other": "adaptive (paper q)"}


def verdicts(results: Results) -> list[bool]:
    return [verdict.holds for verdict in regret(results)]


def test_all_four_promises_by_hand():
    """At 30% bad ours is at 10 of the gate's 20; without bad data 0.2 above uniform."""
    kept = {
        "0": {"evidence": 5.2, "uniform": 5, "adaptive": 12},
        "0.3": {"evidence": 10, "uniform": 40, "adaptive": 21},
    }
    # Mean regret is (0.2 - 11) / 2 = -5.4.
    assert verdicts(grid(kept)) == [True, True, True, True]
    worse = {**kept, "0": {"evidence": 5.4, "uniform": 5, "adaptive": 12}}
    assert verdicts(grid(worse)) == [True, True, False, True]
    lost = {**kept, "0.3": {"evidence": 11, "uniform": 40, "adaptive": 21}}
    assert verdicts(grid(lost)) == [True, True, True, False]
    behind = {"0.3": {"evidence": 10, "uniform": 9, "adaptive": 21}}
    assert verdicts(grid(behind))[:2] == [False, False]


def test_a_promise_about_what_was_not_run_does_not_hold():
    results = grid({"0.3": {"evidence": 1, "uniform": 9, "adaptive": 9}}, credentials="high")
    nothing_lost, against = regret(results)[2:]
    assert (nothing_lost.holds, nothing_lost.detail) == (False, "no such cell was run")
    assert (against.holds, against.detail) == (False, "no such cell was run")


@pytest.mark.parametrize(("low", "worse"), [(0.51, True), (0.5, False), (-1.0, False)])
def test_worse_is_worse_beyond_the_interval(low, worse):
    assert clearly_worse(Cell({}, 0.0, "x", Estimate(2.0, low, 3.0))) == worse


def test_details_name_numbers_and_places():
    for verdict in regret(grid({"0.3": {"evidence": 10, "uniform": 30, "adaptive": 14}})):
        assert verdict.text
        assert verdict.detail
        assert "nan" not in verdict.detail
    assert np.isfinite(cells(grid({"0.3": {OURS: 1, "uniform": 3, "adaptive": 4}}))[0].regret).all()
