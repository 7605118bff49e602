"""From rows to a summary: means, intervals, the paper's value beside ours, closeness, verdicts."""

import json

import polars as pl
import pytest

from anml.core.errors import InputError
from experiments.cells import cells_of
from experiments.claims import BETTER, FAILS, HOLDS, OPEN
from experiments.expressions import Results
from experiments.spec import list_experiments, parse
from experiments.store import join_parts, keep_part
from experiments.summary import describe, known_experiments, load_results, summarise, write_summary

pytestmark = pytest.mark.slow

TABLE = {
    "title": "X",
    "trials": 12,
    "vary": {"bad": [0.1, 0.3]},
    "methods": ["uniform", "krum"],
    "derived": {
        "gain": {"saving": ["*.error", "uniform.error"], "methods": ["krum"]},
        "whole": {"mean": ["krum.error"], "over": "bad", "once": True},
    },
    "paper": [
        {"bad": 0.3, "method": "krum", "error": 12.4},
        {"method": "uniform", "error": 30.0, "implied": True},
        {"whole": 10.0},
    ],
    "claims": [
        {"text": "a", "better": ["krum.error", "uniform.error"]},
        {"text": "b", "at_most": ["krum.error", 1], "limit": "paper"},
        {"text": "c", "at_most": ["krum.error", 1], "limit": "paper", "apart": "ours"},
        {"text": "d", "equal": ["krum.error", 12], "margin": 0.5, "limit": "paper"},
    ],
    "notes": ["krum makes {krum.error@bad=0.3} errors", "and {krum.error@bad=0.9}"],
}


def results(**changes) -> Results:
    """krum 10, 12, 14 at 0.1 and half as much again at 0.3; uniform twice that."""
    experiment = parse("x", {**TABLE, **changes})
    rows = [
        {"trial": t, "bad": bad, "method": method, "error": (10.0 + 2 * (t % 3)) * factor * times}
        for t in range(12)
        for bad, factor in (("0.1", 1.0), ("0.3", 1.5))
        for method, times in (("uniform", 2.0), ("krum", 1.0))
    ]
    return Results(experiment, pl.DataFrame(rows))


def row(entry, metric, **key):
    (result,) = [r for r in entry["rows"] if r["metric"] == metric and r["key"] == key]
    return result


def test_means_and_intervals_by_hand():
    """12 with a variance of 32 / 11 over twelve trials: 12 ± 2.201 * sqrt(32 / 11 / 12) = 12 ± 1.084."""
    result = row(describe(results()), "error", bad="0.1", method="krum")
    assert result["ours"] == 12
    assert (result["low"], result["high"]) == pytest.approx((12 - 1.084, 12 + 1.084), abs=1e-3)


def test_the_papers_value_stands_beside_the_place_it_is_of():
    entry = describe(results())
    assert row(entry, "error", bad="0.3", method="krum")["paper"] == 12.4
    assert row(entry, "error", bad="0.1", method="krum")["paper"] is None
    # An axis that the paper's entry does not name stands at its first value.
    first = row(entry, "error", bad="0.1", method="uniform")
    assert (first["paper"], first["implied"]) == (30.0, True)
    assert row(entry, "whole")["paper"] == 10.0


def test_derived_figures_are_of_the_methods_they_name_or_once_for_all():
    entry = describe(results())
    assert {r["key"].get("method") for r in entry["rows"] if r["metric"] == "gain"} == {"krum"}
    assert row(entry, "gain", bad="0.3", method="krum")["ours"] == pytest.approx(50)
    # 12 and 18 over the two values of the axis.
    assert row(entry, "whole")["ours"] == pytest.approx(15)


def test_closeness_counts_cells_of_every_metric_that_the_paper_prints():
    """krum at 0.3 is 18 of 12.4, uniform at 0.1 24 of 30: far; the mean of krum is 15 of 10, too."""
    assert describe(results())["closeness"] == {
        "error": {"cells": 2, "near": 0, "distance": pytest.approx(5.8)},
        "whole": {"cells": 1, "near": 0, "distance": 5},
    }
    near = describe(results(paper=[{"bad": 0.3, "method": "krum", "error": 21}]))["closeness"]
    assert near == {"error": {"cells": 1, "near": 1, "distance": 3}}


def test_claims_are_checked_and_those_about_missing_rows_are_named():
    entry = describe(results())
    assert [claim["verdict"] for claim in entry["claims"]] == [HOLDS, FAILS, FAILS, OPEN]
    assert entry["unchecked"] == []
    # A sentence about a place without rows is not said.
    assert entry["notes"] == ["krum makes 18 errors"]
    subset = results()
    fewer = Results(subset.experiment, subset.rows.filter(pl.col("method") == "uniform"))
    entry = describe(fewer)
    assert entry["unchecked"] == ["a", "b", "c", "d"]
    assert {r["key"].get("method") for r in entry["rows"]} == {"uniform"}


@pytest.fixture
def folder(tmp_path):
    result = results()
    named = [{**r, "method": r["method"]} for r in result.rows.iter_rows(named=True)]
    keep_part(result.experiment, tmp_path, "a", named, set())
    join_parts(result.experiment, tmp_path)
    return tmp_path


def test_a_summary_counts_the_papers_claims_and_not_ours(folder):
    summary = write_summary(folder, [results().experiment], "own")
    assert summary["claims"] == {HOLDS: 1, BETTER: 0, OPEN: 1, FAILS: 1}
    assert (summary["claims_apart"], summary["stale"]) == ({"ours": 1}, [])
    assert json.loads((folder / "summary.json").read_text()) == summary


def test_rows_of_all_seeds_are_pooled(folder):
    """Errors of seed 1 are twice those of seed 0: 12 and 24 of krum at 0.1."""
    both = parse("x", {**TABLE, "seeds": [0, 1]})
    rows = [{**r, "error": 2 * r["error"]} for r in results().rows.iter_rows(named=True)]
    keep_part(both.draws[1], folder, "b", rows, set())
    join_parts(both, folder)
    (entry,) = write_summary(folder, [both], "own")["experiments"]
    assert (entry["trials"], entry["seeds"]) == (24, 2)
    assert row(entry, "error", bad="0.1", method="krum")["ours"] == 18
    # One seed of the two alone is what it was.
    (entry,) = write_summary(folder, [results().experiment], "own")["experiments"]
    assert (entry["trials"], entry["seeds"]) == (12, 1)
    assert row(entry, "error", bad="0.1", method="krum")["ours"] == 12


def test_distances_of_readings_are_in_units_of_what_is_near():
    """krum is 12 at the first reading and 18 at the second; 15 is printed, and 3 points are near."""
    axis = [{"label": "one", "bad": 0.1}, {"label": "two", "bad": 0.3}]
    table = {**TABLE, "vary": {"reading": axis}, "derived": {}, "claims": [], "notes": [],
             "paper": [{"method": "krum", "error": 15}, {"method": "uniform", "error": 24}]}  # fmt: skip
    rows = results().rows.rename({"bad": "reading"})
    rows = rows.with_columns(pl.col("reading").replace({"0.1": "one", "0.3": "two"}))
    entry = describe(Results(parse("x", table), rows))
    # uniform is 24 and 36.
    assert entry["readings"] == {"one": pytest.approx((1 + 0) / 2), "two": pytest.approx((1 + 4) / 2)}
    assert describe(results())["readings"] == {}


def test_rows_of_other_settings_are_stale_and_no_rows_an_error(folder, tmp_path):
    changed = parse("x", {**TABLE, "seed": 7})
    assert load_results(changed, folder) is None
    assert summarise(folder, {"x": changed})["stale"] == ["x"]
    with pytest.raises(InputError, match=r"there are no rows under .*; use `python -m experiments run`"):
        summarise(tmp_path / "none", {"x": changed})


def test_ones_own_stand_in_for_those_of_the_same_name():
    mine = parse("main-100", {"title": "Mine", "methods": ["krum"]})
    assert known_experiments("paper", [mine])["main-100"] is mine
    assert list(known_experiments("own", [mine])) == ["main-100"]
    for room in ("paper", "beyond", "field"):
        assert list(known_experiments(room)) == list(list_experiments(room))


def test_one_trial_has_no_interval():
    result = results()
    alone = Results(result.experiment, result.rows.filter(pl.col("trial") == 0))
    entry = describe(alone)
    assert all(r["low"] is None and r["high"] is None for r in entry["rows"])
    json.dumps(entry, allow_nan=False)
    assert len(list(cells_of(result.experiment))) == 4
