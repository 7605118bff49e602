"""From rows to a summary: means, intervals, the paper's value beside ours, closeness, verdicts."""

import json

import polars as pl
import pytest

from anml.core.errors import InputError
from anml.lab.cells import cells_of
from anml.lab.expressions import Results
from anml.lab.spec import catalogue, parse
from anml.lab.store import join_parts, keep_part
from anml.lab.summary import CLOSE, describe, known_experiments, load_results, summarise, write_summary

TABLE = {
    "title": "X",
    "trials": 3,
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
        {"text": "a", "less": ["krum.error", "uniform.error"]},
        {"text": "b", "at_most": ["krum.error", 1]},
        {"text": "c", "at_most": ["krum.error", 1], "ours": True},
    ],
    "closeness": "error",
}


def results(**changes) -> Results:
    """krum 10, 12, 14 at 0.1 and half as much again at 0.3; uniform twice that."""
    experiment = parse("x", {**TABLE, **changes})
    rows = [
        {"trial": t, "bad": bad, "method": method, "error": (10.0 + 2 * t) * factor * times}
        for t in range(3)
        for bad, factor in (("0.1", 1.0), ("0.3", 1.5))
        for method, times in (("uniform", 2.0), ("krum", 1.0))
    ]
    return Results(experiment, pl.DataFrame(rows))


def row(entry, metric, **key):
    (found,) = [r for r in entry["rows"] if r["metric"] == metric and r["key"] == key]
    return found


def test_means_and_intervals_by_hand():
    """12 with a spread of 2 over three trials: 12 ± 4.303 * 2 / sqrt(3) = 12 ± 4.968."""
    found = row(describe(results()), "error", bad="0.1", method="krum")
    assert found["ours"] == 12
    assert (found["low"], found["high"]) == pytest.approx((12 - 4.968, 12 + 4.968), abs=1e-3)


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


def test_closeness_counts_cells_of_the_paper_and_names_those_that_are_far():
    """krum at 0.3 is 18 of 12.4: far; uniform at 0.1 is 24 of 30: far."""
    near = describe(results())["closeness"]
    assert (near["metric"], near["cells"], near["close"]) == ("error", 2, 0)
    assert [cell["ours"] for cell in near["far"]] == [24, 18]
    close = describe(results(paper=[{"bad": 0.3, "method": "krum", "error": 18 + CLOSE}]))["closeness"]
    assert (close["cells"], close["close"], close["far"]) == (1, 1, [])


def test_claims_are_checked_and_those_about_missing_rows_are_named():
    entry = describe(results())
    assert [claim["holds"] for claim in entry["claims"]] == [True, False, False]
    assert entry["unchecked"] == []
    some = results()
    fewer = Results(some.experiment, some.rows.filter(pl.col("method") == "uniform"))
    entry = describe(fewer)
    assert entry["unchecked"] == ["a", "b", "c"]
    assert {r["key"].get("method") for r in entry["rows"]} == {"uniform"}


@pytest.fixture
def folder(tmp_path):
    found = results()
    named = [{**r, "method": r["method"]} for r in found.rows.iter_rows(named=True)]
    keep_part(found.experiment, tmp_path, "a", named, set())
    join_parts(found.experiment, tmp_path)
    return tmp_path


def test_a_summary_counts_the_papers_claims_and_not_ours(folder):
    summary = write_summary(folder, [results().experiment], "own")
    assert (summary["claims_total"], summary["claims_held"], summary["stale"]) == (2, 1, [])
    assert json.loads((folder / "summary.json").read_text()) == summary


def test_rows_of_other_settings_are_stale_and_no_rows_an_error(folder, tmp_path):
    changed = parse("x", {**TABLE, "seed": 7})
    assert load_results(changed, folder) is None
    assert summarise(folder, {"x": changed})["stale"] == ["x"]
    with pytest.raises(InputError, match=r"there are no rows under .*; use `anml lab run`"):
        summarise(tmp_path / "none", {"x": changed})


def test_ones_own_stand_in_for_those_of_the_same_name():
    mine = parse("main-100", {"title": "Mine", "methods": ["krum"]})
    assert known_experiments("paper", [mine])["main-100"] is mine
    assert list(known_experiments("own", [mine])) == ["main-100"]
    for room in ("paper", "beyond", "field"):
        assert list(known_experiments(room)) == list(catalogue(room))


def test_one_trial_has_no_interval():
    found = results()
    alone = Results(found.experiment, found.rows.filter(pl.col("trial") == 0))
    entry = describe(alone)
    assert all(r["low"] is None and r["high"] is None for r in entry["rows"])
    json.dumps(entry, allow_nan=False)
    assert len(list(cells_of(found.experiment))) == 4
