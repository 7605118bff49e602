"""Running: the same rows however it is cut, resumed or spread; what is missing is left out and said."""

import json
from dataclasses import replace

import polars as pl
import pytest

from anml.core.errors import InputError, UnknownNameError
from anml.weighting.weigh import RECIPES
from experiments import cells, data, trial
from experiments.runner import blocks_of, run, run_part
from experiments.spec import parse
from experiments.store import finished_trials, known_rows
from experiments.summary import load_results, summarise

pytestmark = pytest.mark.slow


def rows(folder, name="small"):
    return pl.read_parquet(folder / "rows" / f"{name}.parquet")


def test_blocks_cover_every_trial_once(small):
    covered = [(b.dataset, t) for b in blocks_of(replace(small, trials=5)) for t in range(b.start, b.stop)]
    assert covered == [("wine", trial) for trial in range(5)]


def test_the_same_seed_gives_the_same_rows_and_another_seed_others(small, tmp_path):
    run([small], tmp_path / "a")
    run([small], tmp_path / "b")
    run([replace(small, seed=1)], tmp_path / "c")
    assert rows(tmp_path / "a").equals(rows(tmp_path / "b"), null_equal=True)
    assert not rows(tmp_path / "a")["error"].equals(rows(tmp_path / "c")["error"])


def test_rows_do_not_depend_on_how_trials_are_cut(small, tmp_path):
    run([small], tmp_path / "a")
    run([replace(small, chunk=4)], tmp_path / "b")
    assert rows(tmp_path / "a")["error"].to_list() == rows(tmp_path / "b")["error"].to_list()


def test_rows_do_not_depend_on_the_number_of_processes(small, tmp_path):
    run([small], tmp_path / "a", jobs=1)
    run([small], tmp_path / "b", jobs=2)
    assert rows(tmp_path / "a").equals(rows(tmp_path / "b"), null_equal=True)


def seen_by(experiment, folder, **options):
    """Record the progress of a run: blocks done and total, at the start and after each block."""
    calls = []
    run([experiment], folder, progress=lambda what, done, total: calls.append((done, total)), **options)
    return calls


def test_a_run_that_was_interrupted_goes_on_where_it_stopped(small, tmp_path):
    run([small], tmp_path / "whole")
    first, _ = blocks_of(small)
    run_part(first, tmp_path / "half", "cpu")  # then somebody pulls the plug
    assert seen_by(small, tmp_path / "half") == [(1, 2), (2, 2)]
    assert rows(tmp_path / "half").equals(rows(tmp_path / "whole"), null_equal=True)
    assert not list((tmp_path / "half").glob(".parts/*"))
    assert seen_by(small, tmp_path / "half") == [(2, 2)]


def test_a_run_that_ended_before_its_blocks_were_joined_joins_them(small, tmp_path):
    for block in blocks_of(small):
        run_part(block, tmp_path, "cpu")
    assert seen_by(small, tmp_path) == [(2, 2)]
    assert len(rows(tmp_path)) == 4 * 2 * 3


def test_another_setting_is_another_run(small, tmp_path):
    run([small], tmp_path)
    changed = replace(small, setting=replace(small.setting, epochs=2))
    assert seen_by(changed, tmp_path)[0] == (0, 2)


def cells_run(monkeypatch):
    """Methods and shares of bad data that are run from now on."""
    ran, whole = [], trial.run_batch

    def spy(*arguments, **options):
        result = whole(*arguments, **options)
        ran.extend((row["method"], row["bad"]) for row in result)
        return result

    monkeypatch.setattr(trial, "run_batch", spy)
    return ran


def test_an_added_or_changed_method_runs_alone_and_keeps_the_rows_of_the_others(small, tmp_path, monkeypatch):
    run([small], tmp_path)
    before, ran = rows(tmp_path), cells_run(monkeypatch)
    more = replace(small, methods={**small.methods, "adaptive": RECIPES["adaptive"]})
    run([more], tmp_path)
    assert set(ran) == {("adaptive", "0"), ("adaptive", "0.3")}
    assert rows(tmp_path).filter(pl.col("method") != "adaptive").equals(before, null_equal=True)
    ran.clear()
    half = replace(more, methods={**more.methods, "krum": replace(RECIPES["krum"], keep=0.5)})
    run([half], tmp_path)
    assert {method for method, _ in ran} == {"krum"}
    run([half], tmp_path / "anew")
    assert rows(tmp_path).equals(rows(tmp_path / "anew"), null_equal=True)


def test_an_added_condition_runs_alone(small, tmp_path, monkeypatch):
    run([small], tmp_path)
    ran = cells_run(monkeypatch)
    run([replace(small, vary={"bad": [0.0, 0.2, 0.3]})], tmp_path)
    assert {bad for _, bad in ran} == {"0.2"}
    ran.clear()
    # The same settings under an axis of another kind are the same cells, under new labels.
    named = replace(small, vary={"bad": [{"label": "a", "bad": 0.3}, {"label": "b", "bad": 0.2}]})
    run([named], tmp_path)
    assert ran == []
    assert load_results(named, tmp_path).rows["bad"].unique(maintain_order=True).to_list() == ["a", "b"]


def test_a_new_version_of_a_recipe_runs_again_alone(small, tmp_path, monkeypatch):
    run([small], tmp_path)
    ran = cells_run(monkeypatch)
    monkeypatch.setitem(cells.VERSIONS["combine"], "softmax", 2)
    assert summarise_or_stale(small, tmp_path) == "stale"
    run([small], tmp_path)
    assert {method for method, _ in ran} == {"softmax"}
    assert summarise_or_stale(small, tmp_path) == "summed up"


def test_what_applies_nowhere_is_not_asked_again(small, tmp_path):
    experiment = replace(small, kind="calibration", methods={n: RECIPES[n] for n in ("evidence", "krum")})
    assert run([experiment], tmp_path, trials=1) == {}
    assert load_results(replace(experiment, trials=1), tmp_path).rows["method"].unique().to_list() == [
        "evidence"
    ]
    assert seen_by(experiment, tmp_path, trials=1) == [(1, 1)]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"kind": "reel"}, "did you mean 'real'"),
        ({"kind": "real", "peers": ("majority votes",)}, "did you mean 'majority vote'"),
        ({"peers": ("truth",)}, "'small': it has peers, which the kind 'simulated' does not run"),
    ],
    ids=["kind", "peer", "peers elsewhere"],
)
def test_a_kind_that_cannot_be_run_is_said(small, tmp_path, changes, says):
    with pytest.raises((InputError, UnknownNameError), match=says):
        run([replace(small, **changes)], tmp_path)
    assert not list(tmp_path.iterdir())


def summarise_or_stale(experiment, folder):
    return "stale" if load_results(experiment, folder) is None else "summed up"


def test_more_trials_keep_the_first_ones_and_fewer_lose_none(small, tmp_path):
    run([small], tmp_path, trials=2)
    assert seen_by(small, tmp_path) == [(1, 2), (2, 2)]
    assert seen_by(small, tmp_path, trials=2) == [(1, 1)]
    assert load_results(small, tmp_path).rows["trial"].n_unique() == 2
    assert rows(tmp_path)["trial"].n_unique() == 4


def test_a_fresh_run_throws_rows_away_and_starts_the_record_anew(small, tmp_path):
    other = replace(small, name="other")
    run([small], tmp_path, command="first")
    run([other], tmp_path, command="second")
    assert seen_by(small, tmp_path, fresh=True, command="third")[0] == (0, 2)
    record = json.loads((tmp_path / "run.json").read_text())
    assert [how["command"] for how in record["runs"]] == ["second", "third"]


def test_a_method_that_does_not_apply_somewhere_is_not_asked_again(small, tmp_path, monkeypatch):
    whole = trial.run_batch

    def partly(*arguments, **options):
        result = whole(*arguments, **options)
        return [row for row in result if (row["method"], row["bad"]) != ("softmax", "0")]

    monkeypatch.setattr(trial, "run_batch", partly)
    run([small], tmp_path)
    assert seen_by(small, tmp_path) == [(2, 2)]
    result = load_results(small, tmp_path).rows
    assert len(result) == 4 * 5
    assert result.columns == load_columns(small, tmp_path / "whole", whole, monkeypatch)


def load_columns(experiment, folder, body, monkeypatch):
    monkeypatch.setattr(trial, "run_batch", body)
    run([experiment], folder)
    return load_results(experiment, folder).rows.columns


def test_times_are_measured_together(small, tmp_path):
    timed = replace(small, timed=True, trials=1, vary={})
    run([timed], tmp_path)
    more = replace(timed, methods={**timed.methods, "adaptive": RECIPES["adaptive"]})
    [block] = blocks_of(more, finished_trials(known_rows(more, tmp_path)))
    assert len(block.cells) == 4


def test_rows_made_with_other_settings_are_not_summed_up(small, tmp_path):
    other = replace(small, name="other")
    run([small, other], tmp_path)
    changed = replace(small, setting=replace(small.setting, bad=0.2), vary={})
    summary = summarise(tmp_path, {"small": changed, "other": other})
    assert summary["stale"] == ["small"]
    assert [entry["name"] for entry in summary["experiments"]] == ["other"]


def test_the_run_is_written_down(small, tmp_path):
    run([small], tmp_path, command="python -m experiments run small.toml")
    record = json.loads((tmp_path / "run.json").read_text())
    assert record["experiments"]["small"]["trials"] == 4
    [how] = record["runs"]
    assert (how["command"], how["blocks"], how["experiments"]) == (
        "python -m experiments run small.toml",
        2,
        ["small"],
    )
    assert how["cores"] >= 1
    assert how["wall_seconds"] > 0


def test_fewer_trials_on_request(small, tmp_path):
    run([small], tmp_path, trials=1)
    assert rows(tmp_path)["trial"].unique().to_list() == [0]
    with pytest.raises(InputError, match="at least 1"):
        run([small], tmp_path, trials=0)


def test_a_data_set_that_is_not_there_is_left_out_and_named(tmp_path, monkeypatch):
    def absent():
        raise data.DataMissingError("not here")

    monkeypatch.setitem(data.DATASETS, "adult", absent)
    data.load_dataset.cache_clear()
    table = {
        "title": "two",
        "trials": 2,
        "setting": {"epochs": 2},
        "vary": {"dataset": ["wine", "adult"]},
        "methods": ["uniform"],
        "claims": [
            {"text": "here", "at_least": ["uniform.error", 0], "limit": "before"},
            {"text": "not here", "at_least": ["uniform.error@dataset=adult", 0], "limit": "before"},
        ],
    }
    two = parse("two", table)
    assert run([two], tmp_path) == {"two": ["adult"]}
    assert rows(tmp_path, "two")["dataset"].unique().to_list() == ["wine"]
    [entry] = summarise(tmp_path, {"two": two})["experiments"]
    assert [claim["text"] for claim in entry["claims"]] == ["here"]
    assert entry["unchecked"] == ["not here"]
    data.load_dataset.cache_clear()
