"""`anml judges` on simulated judges, as users type it."""

import json
import runpy
from pathlib import Path

import polars as pl
import pytest

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "judges.py"
pytestmark = pytest.mark.usefixtures("short_training", "shared_results")


@pytest.fixture
def run(anml, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(EXAMPLE))
    made = anml(
        "audit",
        "judges.csv",
        "--label",
        "verdict",
        "--contributor",
        "judge",
        "--item",
        "answer",
        "--out",
        "run",
    )
    assert made.code == 0, made.err
    return tmp_path / "run"


def test_each_judge_gets_kappa_a_decision_and_the_labels_that_are_missing(anml, run):
    report = json.loads(
        anml("judges", run, "--people", "ana,ben", "--out", "judges-report.csv", "--json").out
    )
    judges = {row["judge"]: row for row in report["judges"]}
    assert set(judges) == {f"judge-{name}" for name in ("a1", "a2", "a3", "b1", "b2", "b3")}
    assert judges["judge-b3"]["decision"] == "not usable"
    assert judges["judge-b3"]["kappa_low"] < 0 < judges["judge-b3"]["kappa_high"]
    for row in judges.values():
        assert row["n_labels"] == 120
        assert row["kappa_low"] < row["kappa"] < row["kappa_high"]
        assert (row["decision"] == "undecided") == (row["more_labels"] > 0)
    assert report["people_items"] == 120
    assert report["people_kappa"]["mean"] > 0.6
    # Two families and one judge who guesses.
    assert 2 < report["independent_judges"] < 4.5
    assert pl.read_csv("judges-report.csv")["judge"].to_list() == [row["judge"] for row in report["judges"]]
    printed = anml("judges", run, "--people", "ana,ben", "--limit", "0.55").out
    assert "judges with independent errors" in printed
    assert "People agree with each other with kappa" in printed


def test_who_is_a_person_must_be_known(anml, run):
    for people, message in [
        ("zoe", "no contributor of the run is called 'zoe'"),
        ("", "name at least one contributor who is a person"),
        ("ana,ben,judge-a1,judge-a2,judge-a3,judge-b1,judge-b2,judge-b3", "leave at least one judge"),
    ]:
        refused = anml("judges", run, "--people", people)
        assert refused.code == 2
        assert message in refused.err
    assert "between -1 and 1" in anml("judges", run, "--people", "ana", "--limit", "2").err
