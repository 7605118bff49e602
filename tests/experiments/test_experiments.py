"""Every experiment runs, and its rows, claims and summary have the promised shape."""

import json
import os
from dataclasses import replace

import pytest
from lab_tiny import tiny

from experiments.cells import VERSIONS
from experiments.claims import BETTER, FAILS, HOLDS, OPEN
from experiments.report import write_report
from experiments.runner import run
from experiments.spec import list_experiments
from experiments.summary import load_results, summarise

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("short_training", "shared_results")]

NAMES = [
    "main-100", "cross-dataset", "precision", "ablation", "correlation", "combination", "efficiency",
    "attack", "large", "quality", "detectability", "gradient-attack", "temporal-drift", "feature-drift",
    "zero-attack", "selection", "tau-c", "overhead",
]  # fmt: skip
LARGE = {"large", "overhead"}
HAS_DATA = bool(os.environ.get("ANML_DATA"))


def test_the_catalogue_holds_every_experiment():
    assert list(list_experiments()) == NAMES


def thinned(experiment):
    """The same with three steps of a long axis, and the paper's numbers there: the ends and the middle."""
    kept = {axis: [at[0], at[len(at) // 2], at[-1]] for axis, at in experiment.vary.items() if len(at) > 10}
    paper = [
        cell for cell in experiment.paper if all(cell.get(axis, at[0]) in at for axis, at in kept.items())
    ]
    return replace(experiment, vary={**experiment.vary, **kept}, paper=paper)


@pytest.mark.parametrize("name", NAMES)
def test_numbers_of_the_paper_are_of_conditions_that_are_run(name):
    experiment = list_experiments()[name]
    for cell in experiment.paper:
        for axis, values in experiment.vary.items():
            known = [value.get("label", value) if isinstance(value, dict) else value for value in values]
            assert cell.get(axis, known[0]) in known, cell
        assert cell.get("method", experiment.compared[0]) in experiment.compared


@pytest.mark.parametrize("name", NAMES)
def test_experiment(name, tmp_path):
    if name in LARGE and not HAS_DATA:
        pytest.skip("needs the folder of large data sets named by ANML_DATA")
    experiment = thinned(tiny(list_experiments()[name]))
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
    assert len(entry["claims"]) == len(experiment.claims)
    # Two trials tell nothing.
    counted = sum("apart" not in claim for claim in experiment.claims)
    assert summary["claims"] == {HOLDS: 0, BETTER: 0, OPEN: counted, FAILS: 0}
    assert all(claim["text"] and claim["detail"] for claim in entry["claims"])
    # Every number of the paper stands beside one of ours: none is misspelt, none is lost.
    keys = {*experiment.vary, "method", "implied"}
    printed = sum(len(set(cell) - keys) for cell in experiment.paper)
    assert sum(row["paper"] is not None for row in entry["rows"]) == printed
    json.dumps(summary, allow_nan=False)


def test_figures_and_page_come_from_the_rows(tmp_path):
    names = ("detectability", "quality")
    experiments = [thinned(tiny(list_experiments()[name])) for name in names]
    run(experiments, tmp_path)
    written = {path.name for path in write_report(tmp_path, tmp_path / "docs" / "paper.md", experiments)}
    figures = {f"{name}.{form}" for name in names for form in ("svg", "png")}
    assert written == {"summary.json", "paper.md", *(f"{name}.md" for name in names), *figures}
    page = (tmp_path / "docs" / "paper.md").read_text()
    for name in names:
        assert f"| [{name}](paper/{name}.md)" in page
    assert "../../figures/detectability.svg" in (tmp_path / "docs" / "paper" / "detectability.md").read_text()
    before = (tmp_path / "figures" / "detectability.svg").read_bytes()
    write_report(tmp_path, tmp_path / "docs" / "paper.md", experiments)
    assert (tmp_path / "figures" / "detectability.svg").read_bytes() == before


def small_grid():
    regret = list_experiments("beyond")["regret"]
    credentials = [value for value in regret.vary["credentials"] if value["label"] in ("high", "none")]
    vary = {**regret.vary, "dataset": ["wine"], "bad": [0.0, 0.3], "credentials": credentials}
    return tiny(replace(regret, vary=vary))


def test_the_grid_beyond_the_paper_is_summed_up_drawn_and_judged(tmp_path):
    grid = small_grid()
    run([grid], tmp_path)
    page = tmp_path / "docs" / "beyond.md"
    written = write_report(tmp_path, page, [grid], "beyond")
    assert [path.name for path in written] == ["summary.json", "regret.svg", "regret.png", "beyond.md"]
    [entry] = json.loads((tmp_path / "summary.json").read_text())["experiments"]
    # One row for each of 1 x 2 x 2 x 2 cells, by either q, which are among the others to beat; and the mean.
    assert [row["metric"] for row in entry["rows"]] == ["regret"] * 16 + ["mean_regret"]
    # The fourth is about credentials that are not among the two.
    assert (len(entry["claims"]), len(entry["unchecked"])) == (3, 1)
    text = page.read_text()
    assert "../figures/regret.svg" in text
    assert "mean regret over the grid is at most -1 point" in text


def test_rows_of_an_older_version_are_named_and_left_out(tmp_path, monkeypatch):
    grid = small_grid()
    run([grid], tmp_path)
    monkeypatch.setitem(VERSIONS["combine"], "evidence", VERSIONS["combine"]["evidence"] + 1)
    write_report(tmp_path, tmp_path / "beyond.md", [grid], "beyond")
    text = (tmp_path / "beyond.md").read_text()
    assert "## regret\nLeft out: its rows were made with other settings" in text
    assert "Claims:" not in text
