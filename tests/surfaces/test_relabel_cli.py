"""`anml relabel` on a run of its own: lists, answers, what is refused; and the word latest."""

import csv
import io
import json
import os

import polars as pl
import pytest

import anml as package
from anml.app.relabel_apply import request_of_record
from anml.app.runs import Run, latest_run, read_run
from anml.core.errors import AnmlError
from anml.surfaces.run_argument import newest
from made_up import consortium


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table of made-up labels, and a run of it."""
    place = tmp_path_factory.mktemp("relabel")
    consortium(120).with_columns(sample_id=pl.int_range(120) + 500).write_csv(place / "data.csv")
    package.audit(place / "data.csv", compare=False).save(place / "run")
    return place


def test_a_list_is_printed_or_written_and_says_what_it_gains(anml, folder, tmp_path):
    printed = anml("relabel", folder / "run", "--top", 5)
    rows = list(csv.DictReader(io.StringIO(printed.out)))
    assert printed.code == 0
    assert len(rows) == 5
    assert {row["contributor"] for row in rows} == {"dan"}
    assert all(int(row["sample_id"]) == int(row["row"]) + 500 for row in rows)
    assert [float(row["gain"]) for row in rows] == sorted((float(row["gain"]) for row in rows), reverse=True)
    written = anml("relabel", folder / "run", "--top", 5, "--out", tmp_path / "look.csv")
    assert "5 items to look at of" in written.out
    assert (tmp_path / "look.csv").read_text(encoding="utf-8") == printed.out


def test_json_has_the_rows(anml, folder):
    found = json.loads(anml("relabel", folder / "run", "--top", 3, "--json").out)
    assert found["items"] == len(found["rows"]) == 3
    assert found["rows"][0]["suggested"] != found["rows"][0]["given"]
    assert found["expected"] >= sum(row["gain"] for row in found["rows"])


def test_python_writes_the_same_file_from_a_run_and_from_an_audit(anml, folder, tmp_path):
    rows = package.relabel(folder / "run", tmp_path / "run.csv", top=5)
    assert rows.height == 5
    assert (tmp_path / "run.csv").read_text() == anml("relabel", folder / "run", "--top", 5).out
    frame = consortium(60).to_pandas()
    audit = package.audit(frame, compare=False)
    looked = audit.relabel(tmp_path / "frame.csv", top=4)
    assert type(looked) is type(frame)
    assert pl.read_csv(tmp_path / "frame.csv")["row"].to_list() == looked["row"].to_list()
    with pytest.raises(AnmlError, match="takes back only what came from it"):
        audit.relabel(tmp_path / "tasks.json", format="label-studio")


def test_a_run_and_its_data_may_move_together_and_data_alone_with_a_name(anml, folder, tmp_path):
    place = tmp_path / "moved"
    place.mkdir()
    (folder / "run").rename(place / "run")
    try:
        alone = anml("relabel", place / "run")
        assert alone.code == 2
        assert "are not there; name the file with --data" in alone.err
        assert anml("relabel", place / "run", "--data", folder / "data.csv", "--top", 2).code == 0
        (place / "data.csv").write_bytes((folder / "data.csv").read_bytes())
        assert anml("relabel", place / "run", "--top", 2).code == 0
        (place / "data.csv").write_text("a,label\n1,x\n")
        changed = anml("relabel", place / "run")
        assert "is not the file that the run was made of" in changed.err
    finally:
        (place / "run").rename(folder / "run")


def test_answers_change_the_run_and_before_and_after_are_shown(anml, folder, tmp_path):
    rows = list(csv.DictReader(io.StringIO(anml("relabel", folder / "run", "--top", 12).out)))
    right = {"yes": "no", "no": "yes"}
    for row in rows:
        row["new_label"] = right[row["given"]]
    with (tmp_path / "back.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    ran = anml("relabel", folder / "run", "--apply", tmp_path / "back.csv", "--out", tmp_path / "after")
    assert ran.code == 0, ran.err
    assert ran.out.startswith("12 items have an answer; 12 labels changed (100%); about ")
    before, after = next(
        line.split()[-2:] for line in ran.out.splitlines() if line.startswith("wrong labels nobody")
    )
    assert int(after) < int(before)
    record = json.loads((tmp_path / "after" / "run.json").read_text())
    assert (record["command"], record["rows"]) == ("relabel", 132)
    samples = pl.read_parquet(tmp_path / "after" / "samples.parquet")
    given = pl.read_csv(folder / "data.csv")["label"]
    # The labels that were given are as they were, and known to be wrong by now.
    looked = [int(row["row"]) for row in rows]
    assert samples["label"].head(120).to_list() == given.to_list()
    assert samples["known_right"][looked].to_list() == [False] * 12
    assert samples.tail(12)["contributor"].unique().to_list() == ["relabelled"]
    assert samples.tail(12)["known_right"].to_list() == [True] * 12
    again = anml("relabel", tmp_path / "after")
    assert "does not say where its data lie" in again.err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--top", "0"), "top must be at least 1, got 0"),
        (("--format", "xml"), "unknown format 'xml'"),
        (("--format", "argilla"), "argilla takes back only what came from it"),
        (("--test", "data.csv"), "it goes with --apply"),
        (("--apply", "none.csv"), "none.csv' does not exist"),
        (("--apply", "none.json"), "is JSON, and the data of this run are no export"),
        (("--out", "/proc/no/tasks.json"), "cannot be written"),
    ],
)
def test_what_is_refused_is_one_sentence(options, said, anml, folder):
    ran = anml("relabel", folder / "run", *options)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.count("\n") == 1
    assert said in ran.err


def test_a_folder_that_is_no_run_and_a_table_that_was_changed_are_refused(anml, folder, tmp_path):
    assert "is not a run folder" in anml("relabel", tmp_path).err
    damaged = tmp_path / "damaged"
    damaged.mkdir()
    for file in (folder / "run").iterdir():
        (damaged / file.name).write_bytes(file.read_bytes())
    samples = pl.read_parquet(damaged / "samples.parquet")
    samples.with_columns(p_correct=pl.lit(1.0)).write_parquet(damaged / "samples.parquet")
    assert "was changed after the run was written" in anml("relabel", damaged).err


def test_a_record_gives_back_the_request_it_answered(folder):
    run = read_run(folder / "run")
    request = request_of_record(run)
    assert (request.label, request.contributor, request.seed) == ("label", "contributor", 0)
    assert request.policy().recipe.to_dict() == {
        name: value for name, value in run.info["recipe"].items() if name != "name"
    }
    for change in ({"ledger": {"url": "x"}}, {"data": {"embeddings": {}}}):
        with pytest.raises(AnmlError, match="cannot be repeated from its record"):
            request_of_record(Run(run.samples, {**run.info, **change}, ""))
    with pytest.raises(AnmlError, match="does not say how the run was made"):
        request_of_record(Run(run.samples, {"columns": {"label": "y"}}, ""))


def test_latest_is_the_run_that_was_written_last(anml, folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "there is no run in" in anml("relabel", "latest").err
    for at, name in enumerate(("one", "two/deep", "three")):
        (tmp_path / name).mkdir(parents=True)
        record = tmp_path / name / "run.json"
        record.write_text("{}")
        os.utime(record, (1_000 + at, 1_000 + at))
    os.utime(tmp_path / "two" / "deep" / "run.json", (9_000, 9_000))
    assert latest_run(tmp_path) == tmp_path / "two" / "deep"
    (tmp_path / "latest").mkdir()
    assert newest(tmp_path / "latest") == tmp_path / "latest"
    assert newest(None) is None
    monkeypatch.chdir(folder)
    assert anml("relabel", "latest", "--top", 1).code == 0


@pytest.mark.parametrize("command", [("predict", "latest", "x.csv"), ("value", "latest", "--table", "x.csv"),
                                     ("reputation", "add", "latest", "--ledger", "none.db"),
                                     ("settle", "latest", "--ledger", "none.db")])  # fmt: skip
def test_every_command_that_takes_a_run_takes_the_latest(command, anml, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ran = anml(*command)
    assert ran.code == 2
    assert "there is no run in" in ran.err


def test_the_version_and_completion(anml):
    assert anml("--version").out == f"anml {package.__version__}\n"
    assert "_anml_completion" in anml("--show-completion", "bash").out
