"""Experiments beyond the paper: calibration and attacks, small but whole."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from lab_tiny import tiny

from anml.core.calibration import from_columns
from anml.lab.figures import draw_all
from anml.lab.runner import run
from anml.lab.spec import catalogue
from anml.lab.summary import describe, load_results
from anml.lab.tables import tables


def test_calibration(tmp_path):
    whole = catalogue("beyond")["calibration"]
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
    assert len(tables(entry, ["calibration"])) == 2 + 6
    [figure] = draw_all(tmp_path, [small])
    assert figure.name == "calibration.svg"
    before = figure.read_bytes()
    draw_all(tmp_path, [small])
    assert figure.read_bytes() == before


def test_attacks(tmp_path):
    whole = catalogue("beyond")["attacks"]
    chosen = [value for value in whole.vary["attack"] if value["label"] in ("none", "sybils", "majority")]
    small = replace(tiny(whole, trials=1), vary={"dataset": ["wine"], "attack": chosen})
    assert run([small], tmp_path) == {}
    rows = load_results(small, tmp_path).rows
    assert len(rows) == 3 * 4
    clean = rows.filter(pl.col("attack") == "none")
    assert clean["precision"].to_list() == [100.0] * 4
    assert clean["doubtful"].to_list() == [0.0] * 4


def test_claims_name_every_attack():
    whole = catalogue("beyond")["attacks"]
    labels = {value["label"] for value in whole.vary["attack"]}
    assert {*whole.claims[0]["over"]["attack"], "majority"} == labels
    assert whole.claims[0]["over"] == whole.claims[1]["over"]
