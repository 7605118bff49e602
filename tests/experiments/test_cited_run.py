"""The comparison of cited systems and reputation over time: they run, resume, are summed up and judged."""

import json
from dataclasses import replace

import polars as pl
import pytest

from experiments.cited.outcome import GRID
from experiments.cited.systems import BOUNDS, PEERS, VALUE
from experiments.door import check_experiment
from experiments.layouts import by_system
from experiments.runner import run
from experiments.spec import Setting, list_experiments
from experiments.summary import load_results, summarise

pytestmark = pytest.mark.slow

FIELD = list_experiments("field")


def only(experiment, methods, **axes):
    """Some methods and values of axes of an experiment, one short trial."""
    vary = {
        axis: [v for v in values if (v["label"] if isinstance(v, dict) else v) in axes.get(axis, ())]
        for axis, values in experiment.vary.items()
    }
    vary = {axis: [{**v, "epochs": 5} if isinstance(v, dict) and axis == "dataset" else v for v in values]
            for axis, values in vary.items()}  # fmt: skip
    recipes = {name: recipe for name, recipe in experiment.methods.items() if name in methods}
    peers = tuple(name for name in experiment.peers if name in methods)
    return replace(experiment, vary=vary, methods=recipes, peers=peers, trials=1, claims=())


@pytest.mark.parametrize("experiment", FIELD.values(), ids=FIELD)
def test_the_files_are_sound(experiment):
    check_experiment(experiment)


QUICK = list(PEERS)


def test_every_system_runs_on_one_trial_and_the_page_says_who_wins(tmp_path):
    experiment = only(FIELD["cited"], [*QUICK, "uniform"], dataset=["wine"], attack=["backdoor"])
    run([experiment], tmp_path)
    rows = load_results(experiment, tmp_path).rows
    assert len(rows) == len(experiment.compared)
    assert rows["error"].is_between(0, 100).all()
    assert rows["backdoor"].is_between(0, 100).all()
    [entry] = summarise(tmp_path, {"cited": experiment})["experiments"]
    page = "\n".join(by_system(entry))
    assert "| wine, backdoor " in page
    assert all(f"| {name} " in page for name in experiment.compared if name not in BOUNDS)
    # Values have a threshold of their own beside the number they are told; everybody's rate is of the grid.
    own = rows.filter(pl.col("method").is_in(VALUE))
    assert own["error_natural"].is_between(0, 100).all()
    assert set(rows["lr"]) <= set(GRID)
    json.dumps(entry, allow_nan=False)


def test_who_is_told_f_ranks_flippers_last(tmp_path):
    experiment = only(FIELD["cited"], ["Multi-Krum", "Data Shapley"], dataset=["wine"], attack=["flip"])
    run([experiment], tmp_path)
    rows = load_results(experiment, tmp_path).rows
    assert rows["backdoor"].is_nan().all()
    assert (rows["ranked"] > 0.9).all()


def test_what_is_there_is_not_run_again(tmp_path):
    one = only(FIELD["cited"], ["FedAvg", "median"], dataset=["wine"], attack=["flip"])
    run([one], tmp_path)
    before = load_results(one, tmp_path).rows
    more = only(FIELD["cited"], ["FedAvg", "median", "Krum"], dataset=["wine"], attack=["flip"])
    run([more], tmp_path)
    after = load_results(more, tmp_path).rows
    same = after.filter(pl.col("method") != "Krum").select("method", "error", "seconds")
    assert same.equals(before.select("method", "error", "seconds"))


def setting(attack, **more):
    return Setting(dataset="wine", attack=attack, contributors=20, bad=0.3, **more)
