"""Experiments beyond the paper: calibration, attacks and numbers, small but whole."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from lab_tiny import tiny

from anml.core.errors import InputError
from anml.weighting.weigh import RECIPES
from experiments.cases import make_case
from experiments.door import check_runnable
from experiments.figures import draw_all
from experiments.measures import from_columns
from experiments.runner import run
from experiments.spec import Experiment, Setting, list_experiments
from experiments.summary import describe, load_results

pytestmark = pytest.mark.slow


@pytest.mark.usefixtures("trained_briefly")
def test_calibration(tmp_path):
    whole = list_experiments("beyond")["calibration"]
    small = replace(whole, trials=1, vary={**whole.vary, "dataset": ["wine"], "bad": [0.0, 0.3]})
    assert run([small], tmp_path) == {}
    results = load_results(small, tmp_path)
    assert len(results.rows) == 2 * 3
    for row in results.rows.iter_rows(named=True):
        bins = from_columns(row)
        assert bins.count.sum() == 124
        assert bins.error == pytest.approx(row["calibration"])
        right = np.nansum(bins.right * bins.count)
        assert right == pytest.approx(124 if row["bad"] == "0" else 124 - 37)
    entry = describe(results)
    assert len(entry["claims"]) == 1
    assert len([row for row in entry["rows"] if row["metric"] == "calibration"]) == 6
    figures = draw_all(tmp_path, [small])
    assert {each.name for each in figures} == {"calibration.svg", "calibration.png"}
    before = [each.read_bytes() for each in figures]
    draw_all(tmp_path, [small])
    assert [each.read_bytes() for each in figures] == before


@pytest.mark.usefixtures("trained_briefly")
def test_attacks(tmp_path):
    whole = list_experiments("beyond")["attacks"]
    chosen = [value for value in whole.vary["attack"] if value["label"] in ("none", "sybils", "majority")]
    small = replace(tiny(whole, trials=1), vary={"dataset": ["wine"], "attack": chosen})
    assert run([small], tmp_path) == {}
    rows = load_results(small, tmp_path).rows
    assert len(rows) == 3 * 4
    clean = rows.filter(pl.col("attack") == "none")
    assert clean["precision"].to_list() == [100.0] * 4
    assert clean["doubtful"].to_list() == [0.0] * 4


def test_numbers(tmp_path):
    whole = list_experiments("beyond")["numbers"]
    chosen = [value for value in whole.vary["attack"] if value["label"] in ("none", "40% other unit")]
    sets = [{**value, "epochs": 3} for value in whole.vary["dataset"] if value["label"] == "diabetes"]
    small = replace(whole, trials=1, vary={"dataset": sets, "told": whole.vary["told"][1:], "attack": chosen})
    assert run([small], tmp_path) == {}
    rows = load_results(small, tmp_path).rows.filter(pl.col("method") == "evidence")
    assert rows["told"].to_list() == ["ids only", "ids only", "overlap", "overlap"]
    # All of the honest labels are kept, and none of the others.
    assert rows["precision"].to_list() == [100.0] * 4
    assert rows["kept"].to_list() == pytest.approx([100, 60, 100, 60], abs=3)
    assert rows["calibration"].max() < 0.02
    for value in sets:
        case = make_case(replace(whole.setting, dataset=value["dataset"], **OVERLAP), 0, 0)
        assert np.bincount(case.seen.item).tolist() == [3] * 309
        pairs = set(zip(case.seen.item.tolist(), case.seen.contributor.tolist(), strict=True))
        assert len(pairs) == len(case.seen.y)


OVERLAP = {"attack": "bias", "labels": 3, "scatter": 0.3}


def refused(setting):
    check_runnable(Experiment("x", "x", setting=setting, methods={"krum": RECIPES["krum"]}))


def test_more_labels_of_a_thing_than_contributors_are_refused():
    with pytest.raises(InputError, match="21 labels of one thing need as many contributors, got 20"):
        refused(Setting(dataset="diabetes", attack="bias", contributors=20, labels=21))


def test_classes_do_not_scatter():
    with pytest.raises(InputError, match="classes cannot scatter"):
        refused(Setting(dataset="wine", scatter=0.3))


def test_claims_name_every_attack():
    whole = list_experiments("beyond")["attacks"]
    labels = {value["label"] for value in whole.vary["attack"]}
    assert {*whole.claims[0]["over"]["attack"], "majority"} == labels
    assert whole.claims[0]["over"] == whole.claims[1]["over"]
