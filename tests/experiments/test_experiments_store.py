"""Rows on disk: found by what decided them, whole or not at all, and refused where they are spoilt."""

import json

import polars as pl
import pytest

from anml.core.errors import InputError
from experiments.cells import cells_of
from experiments.spec import parse
from experiments.store import (
    PARTS,
    check_folder,
    complete_rows,
    discard_rows,
    finished_trials,
    join_parts,
    keep_files,
    keep_part,
    known_rows,
    make_folder,
    own_experiments,
    read_record,
    rows_file,
    write_record,
)

pytestmark = pytest.mark.slow


def made(**table):
    return parse(
        "x", {"title": "x", "trials": 2, "vary": {"bad": [0.1, 0.3]}, "methods": ["uniform", "krum"], **table}
    )


def rows_of(experiment, trials=(0, 1), methods=None):
    return [
        {"trial": trial, **dict(key), "method": method, "error": 10.0 * trial + len(method)}
        for trial in trials
        for _, key, _, method in cells_of(experiment)
        if methods is None or method in methods
    ]


def kept(experiment, folder, name="a", **subset):
    result = rows_of(experiment, **subset)
    keep_part(experiment, folder, name, result, set())
    return result


def test_rows_that_are_kept_are_known_done_and_complete(tmp_path):
    experiment = made()
    assert known_rows(experiment, tmp_path) is None
    assert finished_trials(None) == set()
    kept(experiment, tmp_path)
    result = known_rows(experiment, tmp_path)
    assert len(result) == 8
    assert finished_trials(result) == {(cell, trial) for cell, *_ in cells_of(experiment) for trial in (0, 1)}
    columns = ["seed", "trial", "bad", "method", "error"]
    assert complete_rows(experiment, tmp_path).columns == columns


def test_rows_stand_in_the_order_of_the_file_whatever_block_came_first(tmp_path):
    experiment = made()
    for place, trials in enumerate([(1,), (0,)]):
        kept(experiment, tmp_path, f"b{place}", trials=trials)
    result = complete_rows(experiment, tmp_path)
    assert result["trial"].to_list() == [0] * 4 + [1] * 4
    assert result["bad"].to_list() == ["0.1", "0.1", "0.3", "0.3"] * 2
    assert result["method"].to_list() == ["uniform", "krum"] * 4


def test_joining_changes_nothing_but_where_rows_lie(tmp_path):
    experiment = made()
    kept(experiment, tmp_path)
    before = known_rows(experiment, tmp_path)
    assert join_parts(experiment, tmp_path)
    assert not join_parts(experiment, tmp_path)
    assert rows_file(experiment, tmp_path).is_file()
    assert known_rows(experiment, tmp_path).equals(before)
    join_parts(experiment, tmp_path)
    assert known_rows(experiment, tmp_path).equals(before)


def test_a_later_row_takes_the_place_of_an_earlier_one(tmp_path):
    experiment = made()
    kept(experiment, tmp_path, "a")
    join_parts(experiment, tmp_path)
    changed = [{**row, "error": 99.0} for row in rows_of(experiment, trials=(0,))]
    keep_part(experiment, tmp_path, "b", changed, set())
    result = complete_rows(experiment, tmp_path)
    assert result.filter(pl.col("trial") == 0)["error"].to_list() == [99.0] * 4
    assert len(result) == 8


def test_rows_are_found_again_under_new_labels(tmp_path):
    """The label of an axis is a name; what it stands for decides the row."""
    old = made(vary={"share": [{"label": "few", "bad": 0.1}, {"label": "many", "bad": 0.3}]})
    kept(old, tmp_path)
    new = made(vary={"amount": [{"label": "some", "bad": 0.1}, {"label": "most", "bad": 0.3}]})
    result = complete_rows(new, tmp_path)
    assert result["amount"].unique(maintain_order=True).to_list() == ["some", "most"]
    assert result["error"].to_list() == [row["error"] for row in rows_of(new)]


def test_two_labels_of_one_setting_each_have_the_rows(tmp_path):
    experiment = made(vary={"name": [{"label": "a", "bad": 0.1}, {"label": "b", "bad": 0.1}]})
    kept(experiment, tmp_path, trials=(0,))
    result = known_rows(experiment, tmp_path)
    assert result["name"].to_list() == ["a", "a", "b", "b"]


def test_rows_of_other_settings_are_not_todays(tmp_path):
    kept(made(), tmp_path)
    assert known_rows(made(seed=1), tmp_path) is None
    assert complete_rows(made(seed=1), tmp_path) is None


def test_only_trials_that_every_cell_has_are_complete(tmp_path):
    experiment = made()
    kept(experiment, tmp_path, "a", trials=(0,))
    kept(experiment, tmp_path, "b", trials=(1,), methods=["krum"])
    assert complete_rows(experiment, tmp_path)["trial"].to_list() == [0] * 4


def test_a_method_that_does_not_apply_is_kept_as_absent(tmp_path):
    experiment = made()
    asked = {(cell, 0) for cell, *_ in cells_of(experiment)}
    keep_part(experiment, tmp_path, "a", rows_of(experiment, (0,), ["krum"]), asked)
    assert finished_trials(known_rows(experiment, tmp_path)) == asked
    result = complete_rows(experiment, tmp_path)
    assert result["method"].to_list() == ["krum", "krum"]
    assert "absent" not in result.columns


def test_no_more_trials_than_were_last_asked_for(tmp_path):
    experiment = made()
    kept(experiment, tmp_path)
    write_record(tmp_path, {"experiments": {"x": {"trials": 1}}, "runs": []})
    assert complete_rows(experiment, tmp_path)["trial"].unique().to_list() == [0]


def test_a_block_that_was_cut_short_is_not_there(tmp_path, monkeypatch):
    monkeypatch.setattr(pl.DataFrame, "write_parquet", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        kept(made(), tmp_path)
    assert list((tmp_path / PARTS / "x").glob("*.parquet")) == []
    assert known_rows(made(), tmp_path) is None


def test_forgetting_takes_the_rows_of_some_and_leaves_the_others(tmp_path):
    one, other = made(), parse("y", {"title": "y", "trials": 2, "methods": ["krum"]})
    for experiment in (one, other):
        kept(experiment, tmp_path)
        join_parts(experiment, tmp_path)
    run = {
        "command": "",
        "jobs": 1,
        "device": "cpu",
        "blocks": 1,
        "cores": 1,
        "machine": "",
        "wall_seconds": 1.0,
    }
    runs = [{**run, "experiments": ["x"]}, {**run, "experiments": ["x", "y"]}]
    write_record(tmp_path, {"experiments": {"x": {}, "y": {}}, "runs": runs})
    discard_rows([one], tmp_path)
    assert known_rows(one, tmp_path) is None
    assert known_rows(other, tmp_path) is not None
    assert read_record(tmp_path) == {"experiments": {"y": {}}, "runs": [runs[1]]}


# --- the record
SPOILT = [
    "", "[]", "null", "{}", '{"experiments": []}', '{"experiments": {}, "runs": {}}',
    '{"experiments": {}, "runs": [{}]}', '{"experiments": {"x": 7}, "runs": []}',
    '{"experiments": {"x": {"trials": "many"}}, "runs": []}', "[" * 100_000,
]  # fmt: skip


@pytest.mark.parametrize("text", SPOILT, ids=range(len(SPOILT)))
def test_a_record_that_is_none_is_named(tmp_path, text):
    (tmp_path / "run.json").write_text(text)
    with pytest.raises(InputError, match=r"run.json is not the record of a run of the lab; move it away"):
        read_record(tmp_path)


def test_a_record_reads_back(tmp_path):
    assert read_record(tmp_path) == {"experiments": {}, "runs": []}
    record = {"experiments": {"x": {"trials": 3, "seconds": 1.5, "left_out": ["adult"]}}, "runs": []}
    write_record(tmp_path / "new", record)
    assert read_record(tmp_path / "new") == record
    assert json.loads((tmp_path / "new" / "run.json").read_text()) == record


# --- the folder
@pytest.mark.parametrize("place", ["", "rows", ".parts", "experiments"])
def test_a_file_where_a_folder_should_be(tmp_path, place):
    folder = tmp_path / "results"
    if place:
        folder.mkdir()
    (folder / place if place else folder).write_text("")
    with pytest.raises(InputError, match="is a file; name a folder"):
        check_folder(folder, [made()], fresh=False)


def test_rows_that_are_no_parquet_are_named_unless_they_are_made_anew(tmp_path):
    (tmp_path / "rows").mkdir()
    (tmp_path / "rows" / "x.parquet").write_bytes(b"PAR1 rubbish")
    with pytest.raises(InputError, match=r"x.parquet are not a whole Parquet file; remove it"):
        check_folder(tmp_path, [made()], fresh=False)
    check_folder(tmp_path, [made()], fresh=True)
    with pytest.raises(InputError, match="not a whole Parquet file"):
        check_folder(tmp_path, [], fresh=True)


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be made"):
        make_folder(tmp_path / "file" / "results")
    make_folder(tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b" / "rows").is_dir()


# --- files of one's own
def test_a_file_of_ones_own_is_kept_beside_its_rows(tmp_path):
    mine = tmp_path / "mine.toml"
    mine.write_text('title = "Mine"\nmethods = ["krum"]\n')
    experiment = parse("mine", {"title": "Mine", "methods": ["krum"]})
    keep_files([experiment], [mine], tmp_path / "out")
    assert own_experiments(tmp_path / "out") == [experiment]
    assert own_experiments(tmp_path / "out", but=["mine"]) == []
    # One of the lab's own of that name takes its place.
    keep_files([experiment], [], tmp_path / "out")
    assert own_experiments(tmp_path / "out") == []


def test_a_kept_file_that_was_spoilt_says_where_it_lies(tmp_path):
    place = tmp_path / "experiments"
    place.mkdir()
    (place / "mine.toml").write_text("title = 7\n")
    with pytest.raises(InputError, match=f"kept in {place}: experiment 'mine': title must be a text"):
        own_experiments(tmp_path)
