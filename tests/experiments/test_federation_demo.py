"""`python -m experiments federation`: in under a minute, with the same report as an audit."""

import json
import sys

import numpy as np
import polars as pl
import pytest

from anml.core.errors import InputError
from anml.report.html import render_report
from experiments.cli import main
from experiments.federation_demo import demo_case, run_demo

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def done():
    return run_demo(0, rounds=6)


def test_liars_cost_little_and_averaging_much(done):
    errors = {name: 100 * wrong.mean() for name, wrong in done.wrong.items()}
    assert errors["uniform"] - errors["chosen"] > 3


def test_the_report_has_clients_for_contributors(done):
    people = done.report.contributors
    assert sorted(people["contributor"]) == sorted(done.case.names)
    accused = people.filter(pl.col("verdict") == "contradicts the others")["contributor"].to_list()
    assert set(accused) <= set(np.array(done.case.names)[done.case.malicious])
    page = render_report(done.report)
    assert "farm-1" in page
    assert "rows are updates: one for each client and round" in page
    assert "round 3: clinic-3 is not in it: it did not answer in time" in page


def test_the_command(monkeypatch, capsys, tmp_path):
    words = ["experiments", "federation", "--out", str(tmp_path / "f"), "--rounds", "3", "--json"]
    monkeypatch.setattr(sys, "argv", words)
    with pytest.raises(SystemExit) as stopped:
        main()
    out, err = capsys.readouterr()
    assert not stopped.value.code, err
    message = json.loads(out)
    assert set(message["errors"]) == {"uniform", "q only", "chosen"}
    assert {path.name for path in (tmp_path / "f").iterdir()} >= {"report.html", "rounds.csv", "run.json"}
    assert pl.read_csv(tmp_path / "f" / "rounds.csv").height == 30


def test_bad_input():
    with pytest.raises(InputError, match="rounds must be at least 1, got 0"):
        run_demo(0, rounds=0)
    with pytest.raises(InputError, match="must be fewer than the 10 clients, got 10"):
        demo_case(0, malicious=10)
    with pytest.raises(ValueError, match="unknown recipe"):
        run_demo(0, rounds=1, recipe="nothing")
