"""Every experiment runs, and its rows, claims and summary have the promised shape."""

import json
import os

import pytest
from lab_tiny import tiny

from anml.lab.report import write_report
from anml.lab.runner import run
from anml.lab.spec import catalogue
from anml.lab.summary import load_results, summarise

NAMES = [
    "main-100", "cross-dataset", "precision", "ablation", "correlation", "combination", "efficiency",
    "attack", "large", "quality", "detectability", "gradient-attack", "temporal-drift", "feature-drift",
    "zero-attack", "selection", "tau-c", "overhead", "regression",
]  # fmt: skip
LARGE = {"large", "overhead"}
HAS_DATA = bool(os.environ.get("ANML_DATA"))


def test_the_catalogue_holds_every_experiment():
    assert list(catalogue()) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_experiment(name, tmp_path):
    if name in LARGE and not HAS_DATA:
        pytest.skip("needs the folder of large data sets named by ANML_DATA")
    experiment = tiny(catalogue()[name])
    assert run([experiment], tmp_path) == {}
    results = load_results(experiment, tmp_path)
    conditions = list(experiment.conditions())
    assert len(results.rows) == experiment.trials * len(conditions) * len(experiment.methods)
    for metric in experiment.metrics:
        assert metric in results.rows.columns
    if experiment.setting.epochs and experiment.setting.dataset != "diabetes":
        assert results.rows["error"].is_between(0, 100).all()
    summary = summarise(tmp_path, {name: experiment})
    [entry] = summary["experiments"]
    assert entry["trials"] == 2
    assert len(entry["claims"]) == len(experiment.claims) == summary["claims_total"]
    assert all(claim["text"] and claim["detail"] for claim in entry["claims"])
    # Every number of the paper stands beside one of ours: none is misspelt, none is lost.
    keys = {*experiment.vary, "method", "implied"}
    printed = sum(len(set(cell) - keys) for cell in experiment.paper)
    assert sum(row["paper"] is not None for row in entry["rows"]) == printed
    json.dumps(summary, allow_nan=False)


def test_figures_and_page_come_from_the_rows(tmp_path):
    names = ("combination", "quality", "gradient-attack", "efficiency", "attack")
    experiments = [tiny(catalogue()[name]) for name in names]
    run(experiments, tmp_path)
    written = {path.name for path in write_report(tmp_path, tmp_path / "docs" / "paper.md", experiments)}
    figures = {"methods.svg", "quality.svg", "attack-scatter.svg", "efficiency.svg"}
    assert written == {"summary.json", "paper.md", *figures}
    page = (tmp_path / "docs" / "paper.md").read_text()
    for name in names:
        assert f"## {name}" in page
    assert "../figures/methods.svg" in page
    before = (tmp_path / "figures" / "methods.svg").read_bytes()
    write_report(tmp_path, tmp_path / "docs" / "paper.md", experiments)
    assert (tmp_path / "figures" / "methods.svg").read_bytes() == before
