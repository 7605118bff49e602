"""Running: the same rows however it is cut, resumed or spread; what is missing is left out and said."""

import json
from dataclasses import replace

import polars as pl
import pytest

from anml.core.errors import InputError
from anml.lab import data
from anml.lab.runner import blocks_of, run
from anml.lab.spec import parse
from anml.lab.summary import summarise


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


def test_a_run_that_was_interrupted_goes_on_where_it_stopped(small, tmp_path):
    run([small], tmp_path)
    whole = rows(tmp_path)
    first, second = (block.path(tmp_path) for block in blocks_of(small))
    kept = first.stat().st_mtime_ns
    second.unlink()
    seen = []
    run([small], tmp_path, progress=lambda what, done, of: seen.append((done, of)))
    assert seen == [(1, 2), (2, 2)]
    assert first.stat().st_mtime_ns == kept
    assert rows(tmp_path).equals(whole, null_equal=True)


def test_another_setting_is_another_run(small, tmp_path):
    run([small], tmp_path)
    changed = replace(small, setting=replace(small.setting, epochs=2))
    seen = []
    run([changed], tmp_path, progress=lambda what, done, of: seen.append((done, of)))
    assert seen[0] == (0, 2)


def test_rows_made_with_other_settings_are_not_summed_up(small, tmp_path):
    other = replace(small, name="other")
    run([small, other], tmp_path)
    changed = replace(small, setting=replace(small.setting, bad=0.2), vary={})
    summary = summarise(tmp_path, {"small": changed, "other": other})
    assert summary["stale"] == ["small"]
    assert [entry["name"] for entry in summary["experiments"]] == ["other"]


def test_the_run_is_written_down(small, tmp_path):
    run([small], tmp_path)
    record = json.loads((tmp_path / "run.json").read_text())
    assert record["experiments"]["small"]["trials"] == 4
    [how] = record["runs"]
    assert how["blocks"] == 2
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
            {"text": "here", "at_least": ["uniform.error", 0]},
            {"text": "not here", "at_least": ["uniform.error@dataset=adult", 0]},
        ],
    }
    two = parse("two", table)
    assert run([two], tmp_path) == {"two": ["adult"]}
    assert rows(tmp_path, "two")["dataset"].unique().to_list() == ["wine"]
    [entry] = summarise(tmp_path, {"two": two})["experiments"]
    assert [claim["text"] for claim in entry["claims"]] == ["here"]
    assert entry["unchecked"] == ["not here"]
    data.load_dataset.cache_clear()
