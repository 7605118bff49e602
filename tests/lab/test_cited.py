"""The comparison of cited systems and reputation over time: they run, resume, are summed up and judged."""

import json
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from anml.lab.cited import names
from anml.lab.cited.outcome import Outcome, measured, top_contributors
from anml.lab.cited.page import NEEDS, by_system
from anml.lab.cited.systems import BOUNDS, SYSTEMS
from anml.lab.cited.trials import ATTACKS, make_trial
from anml.lab.door import check_experiment
from anml.lab.longitudinal.names import RULES, SCENARIOS
from anml.lab.longitudinal.people import TURN, population
from anml.lab.longitudinal.simulate import simulate
from anml.lab.report import write_report
from anml.lab.runner import run
from anml.lab.spec import Setting, catalogue
from anml.lab.summary import load_results, summarise

FIELD = catalogue("field")
CITED = 19


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


def test_all_nineteen_are_there_and_said_what_they_need():
    cited = [name for name, system in SYSTEMS.items() if system.reference[-4:].isdigit()]
    assert len([name for name in cited if name != "FedAvg"]) == CITED
    assert (*SYSTEMS, *BOUNDS) == names.PEERS
    assert set(FIELD["cited"].compared) <= set(NEEDS)
    assert set(FIELD["cited"].peers) == set(names.PEERS)
    assert len(FIELD["cited"].claims) >= 40


QUICK = [*names.AGGREGATION, *names.VALUE, *names.TRAINING, *names.BOUNDS]


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
    assert all(f"| {name} " in page for name in experiment.compared)
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


@pytest.mark.parametrize(
    "attack", [a for a in ATTACKS if a not in ("shift", "bias", "noisy", "unit", "random")]
)
def test_trials_are_repeatable_and_truth_is_apart(attack):
    told, truth = make_trial(setting(attack), 0, 3)
    again, _ = make_trial(setting(attack), 0, 3)
    assert (told.x == again.x).all()
    assert (told.y == again.y).all()
    assert truth.bad.sum() == 6
    assert told.malicious == 6
    # Where everybody is confused, honest ones are wrong now and then.
    assert attack == "confused" or not truth.wrong[~truth.bad[told.contributor]].any()
    assert not truth.bad[told.trusted].any()
    test = {row.tobytes() for row in truth.x_test}
    assert not any(row.tobytes() in test for row in told.root_x)
    assert set(np.unique(told.root_y)) == set(np.unique(truth.y_test))


def test_free_riders_copy_or_make_up():
    told, truth = make_trial(setting("copies"), 0, 3)
    honest = {row.tobytes() for row in told.x[~truth.bad[told.contributor]]}
    assert all(row.tobytes() in honest for row in told.x[truth.bad[told.contributor]])
    assert not truth.wrong.any()
    told, truth = make_trial(setting("made-up"), 0, 3)
    assert (told.noise_updates == truth.bad).all()


def test_sybils_are_more_than_systems_are_told():
    told, truth = make_trial(setting("flip", sybils=3), 0, 3)
    assert truth.bad.sum() > told.malicious == 6


def test_measures_by_hand():
    told, truth = make_trial(setting("flip"), 0, 3)
    perfect = Outcome(kept=~truth.wrong, scores=(~truth.bad).astype(float))
    found = measured(told, truth, perfect, lambda x: truth.y_test)
    assert found["error"] == 0
    assert found["precision"] == 100
    assert found["ranked"] == 1
    assert found["paid_bad"] == 0
    kept = top_contributors(told, (~truth.bad).astype(float))
    assert (kept == ~truth.bad[told.contributor]).all()


def test_reputation_over_time_runs_is_drawn_and_judged(tmp_path):
    whole = FIELD["longitudinal"]
    experiment = replace(whole, trials=1, vary={"dataset": ["honest", "turncoats"]}, claims=whole.claims[:2])
    run([experiment], tmp_path)
    written = write_report(tmp_path, tmp_path / "cited.md", [experiment], "field")
    assert [path.name for path in written] == ["summary.json", "reputation.svg", "cited.md"]
    page = (tmp_path / "cited.md").read_text()
    assert "## longitudinal" in page
    assert "reputation.svg" in page


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_people_of_every_scenario(scenario):
    people = population(scenario, np.random.default_rng(0))
    assert sum(person.changed for person in people) == 6
    bad = [person for person in people if not person.good]
    assert all(person.skill(39) < 0.6 for person in bad)
    if scenario in ("turncoats", "drift"):
        assert all(person.skill(TURN - 1) > 0.8 for person in bad)


def test_turncoats_are_found_by_who_looks_and_not_by_who_does_not():
    found = {rule: simulate("turncoats", rule, 0, 0) for rule in ("as given", "ledger", "Kang")}
    assert found["as given"]["found"] == 25
    assert found["Kang"]["found"] < found["as given"]["found"]
    assert found["ledger"]["harm"] < found["as given"]["harm"]
    assert found["ledger"]["r_good_30"] > found["ledger"]["r_changed_30"]


@pytest.mark.parametrize("rule", RULES)
def test_the_same_seed_gives_the_same(rule):
    assert str(simulate("whitewashers", rule, 1, 0)) == str(simulate("whitewashers", rule, 1, 0))
