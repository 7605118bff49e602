"""`anml relabel` on a run of its own: lists, answers, what is refused; and the word latest."""

import csv
import io
import json
import os
from types import SimpleNamespace

import polars as pl
import pytest

import anml as package
from anml.cli.options import resolve_run_folder
from anml.cli.relabel import result_sentence
from anml.core.errors import AnmlError
from anml.pipeline.read import Run, latest_run, read_run
from anml.review.apply import request_from_run
from made_up import consortium

pytestmark = pytest.mark.usefixtures("short_training", "shared_results")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table of made-up labels, and a run of it."""
    place = tmp_path_factory.mktemp("relabel")
    consortium(120).with_columns(sample_id=pl.int_range(120) + 500).write_csv(place / "data.csv")
    package.audit(place / "data.csv", evaluate=False).save(place / "run")
    return place


def test_a_list_is_printed_or_written_and_says_what_it_gains(anml, folder, tmp_path):
    printed = anml("relabel", folder / "run", "--top", 5)
    rows = list(csv.DictReader(io.StringIO(printed.out)))
    assert printed.code == 0
    assert len(rows) == 5
    assert {row["contributor"] for row in rows} == {"dan"}
    assert all(int(row["sample_id"]) == int(row["row"]) + 500 for row in rows)
    assert [float(row["p_label_wrong"]) for row in rows] == sorted(
        (float(row["p_label_wrong"]) for row in rows), reverse=True
    )
    written = anml("relabel", folder / "run", "--top", 5, "--out", tmp_path / "look.csv")
    assert "5 of the 24 items below 90% confidence; about " in written.out
    assert (tmp_path / "look.csv").read_text(encoding="utf-8") == printed.out


def test_a_second_report_shows_the_texts_as_the_first_does(anml, tmp_path):
    words = {
        "good": "a fine day with sun and a warm wind number {}",
        "bad": "rain and mud all over again, number {}",
    }
    truth = ["good", "bad"] * 60
    label = ["good" if i % 9 == 0 else each for i, each in enumerate(truth)]
    texts = [words[each].format(i) for i, each in enumerate(truth)]
    contributor = [f"p{i % 4}" for i in range(120)]
    pl.DataFrame({"text": texts, "label": label, "annotator": contributor}).write_csv(tmp_path / "data.csv")
    package.audit(tmp_path / "data.csv", evaluate=False).save(tmp_path / "run")
    first = anml("relabel", tmp_path / "run", "--top", 2, "--out", tmp_path / "look.csv")
    assert first.code == 0, first.err
    rows = pl.read_csv(tmp_path / "look.csv").with_columns(new_label=pl.col("suggested_label"))
    rows.write_csv(tmp_path / "back.csv")
    ran = anml("apply", tmp_path / "run", tmp_path / "back.csv", "--out", tmp_path / "next")
    assert ran.code == 0, ran.err
    for name in ("run", "next"):
        assert "rain and mud all over again" in (tmp_path / name / "report.html").read_text(), name


def test_json_has_the_rows(anml, folder):
    result = json.loads(anml("relabel", folder / "run", "--top", 3, "--json").out)
    assert result["n_items"] == len(result["rows"]) == 3
    assert result["rows"][0]["suggested_label"] != result["rows"][0]["label"]
    assert result["expected_wrong_labels"] >= sum(row["p_label_wrong"] for row in result["rows"])


def test_python_writes_the_same_file_from_a_run_and_from_an_audit(anml, folder, tmp_path):
    run = package.load_run(folder / "run")
    assert run.export_review(tmp_path / "run.csv", n=5) == tmp_path / "run.csv"
    assert run.review_queue(5).height == 5
    assert (tmp_path / "run.csv").read_text() == anml("relabel", folder / "run", "--top", 5).out
    frame = consortium(60).to_pandas()
    audit = package.audit(frame, evaluate=False)
    looked = audit.review_queue(4)
    audit.export_review(tmp_path / "frame.csv", n=4)
    assert type(looked) is type(frame)
    assert pl.read_csv(tmp_path / "frame.csv")["row"].to_list() == looked["row"].to_list()
    with pytest.raises(AnmlError, match="format label-studio needs data that came from it"):
        audit.export_review(tmp_path / "tasks.json", format="label-studio")


def test_a_run_and_its_data_may_move_together_and_data_alone_with_a_name(anml, folder, tmp_path):
    place = tmp_path / "moved"
    place.mkdir()
    (folder / "run").rename(place / "run")
    try:
        alone = anml("relabel", place / "run")
        assert alone.code == 2
        assert "the data of this run are missing" in alone.err
        assert anml("relabel", place / "run", "--data", folder / "data.csv", "--top", 2).code == 0
        (place / "data.csv").write_bytes((folder / "data.csv").read_bytes())
        assert anml("relabel", place / "run", "--top", 2).code == 0
        (place / "data.csv").write_text("a,label\n1,x\n")
        changed = anml("relabel", place / "run")
        assert "is not the data of this run, or was changed since" in changed.err
    finally:
        (place / "run").rename(folder / "run")


def filled(anml, run, file, label, *options, **more):
    """The list of a run with the column to fill in filled by a function of the row; how many rows it has."""
    rows = list(csv.DictReader(io.StringIO(anml("relabel", run, *options).out)))
    for row in rows:
        row |= {"new_label": label(row), **more}
    with file.open("w", newline="") as target:
        writer = csv.DictWriter(target, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return rows


def other(row):
    return {"yes": "no", "no": "yes"}[row["label"]]


@pytest.mark.slow
def test_two_rounds_from_list_to_list_with_progress_and_cost(anml, folder, tmp_path):
    rows = filled(anml, folder / "run", tmp_path / "one.csv", other, "--top", 5)
    first = ("apply", folder / "run", tmp_path / "one.csv", "--prices", "0.5")
    ran = anml(*first, "--out", tmp_path / "after")
    assert ran.code == 0, ran.err
    assert ran.out.startswith("5 answers; 5 changed labels (100%, expected about ")
    before, after = next(
        line.split()[-2:] for line in ran.out.splitlines() if line.startswith("expected wrong labels")
    )
    assert int(after) < int(before)
    record = json.loads((tmp_path / "after" / "run.json").read_text())
    assert (record["command"], record["rows"]) == ("relabel", 120)
    samples = pl.read_parquet(tmp_path / "after" / "samples.parquet")
    # The labels that were given are as they were, and known to be wrong by now; nobody else was added.
    looked = [int(row["row"]) for row in rows]
    assert samples["label"].to_list() == pl.read_csv(folder / "data.csv")["label"].to_list()
    assert samples["label_is_correct"][looked].to_list() == [False] * 5
    assert samples["true_label"][looked].to_list() == samples["suggested_label"][looked].to_list()
    assert samples["true_label"].null_count() == 115
    assert set(samples["contributor"]) == set(pl.read_csv(folder / "data.csv")["contributor"])
    # The next list begins where the first ended.
    again = filled(
        anml, tmp_path / "after", tmp_path / "two.csv", lambda row: row["suggested_label"], "--top", 3
    )
    assert not {row["row"] for row in again} & {row["row"] for row in rows}
    ran = anml("apply", tmp_path / "after", tmp_path / "two.csv", "--out", tmp_path / "third")
    assert ran.code == 0, ran.err
    rounds = json.loads((tmp_path / "third" / "run.json").read_text())["data"]["rounds"]
    assert [each["n_answers"] for each in rounds] == [5, 3]
    assert [each["cost"] for each in rounds] == [2.5, None]
    lines = ran.out.splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("round"))
    assert lines[at + 1].split()[:3] == ["1", "5", "5"]
    assert lines[at + 1].split()[-1] == "0.50"
    assert lines[at + 2].split()[:2] == ["2", "3"]
    assert "left in the review queue" in lines[at + 3]
    (tmp_path / "third" / "answers.json").write_text("[]")
    assert "was changed after the run was written" in anml("relabel", tmp_path / "third").err


def test_second_labels_are_rows_of_those_who_gave_them(anml, folder, tmp_path):
    rows = filled(anml, folder / "run", tmp_path / "one.csv", other, "--top", 6, "--ask")
    assert all(row["assigned_to"] not in (row["contributor"], "dan") for row in rows)
    apply = ("apply", folder / "run", tmp_path / "one.csv", "--as", "label")
    ran = anml(*apply, "--out", tmp_path / "after")
    assert ran.code == 0, ran.err
    samples = pl.read_parquet(tmp_path / "after" / "samples.parquet")
    assert samples.height == 126
    asked = {int(row["row"]): row["assigned_to"] for row in rows}
    assert samples.tail(6)["contributor"].to_list() == [asked[row] for row in sorted(asked)]
    assert "label_is_correct" not in samples.columns
    assert pl.read_parquet(tmp_path / "after" / "consensus.parquet")["n_labels"].max() == 2
    assert anml("relabel", tmp_path / "after", "--top", 2).code == 0
    nobody = filled(anml, folder / "run", tmp_path / "two.csv", other, "--top", 2)
    assert len(nobody) == 2
    refused = anml("apply", folder / "run", tmp_path / "two.csv", "--as", "label")
    assert "has no annotators; additional labels need a column 'answered_by'" in refused.err


def test_labels_that_nobody_gave_are_listed_and_refused_unless_allowed(anml, folder, tmp_path):
    file = tmp_path / "typo.csv"
    filled(anml, folder / "run", file, lambda row: "yess" if row["label"] == "no" else "maybe", "--top", 4)
    refused = anml("apply", folder / "run", file)
    assert (refused.code, refused.out) == (2, "")
    assert "answers that are not labels of this table" in refused.err
    assert "'yess' (did you mean 'yes'?)" in refused.err or "'maybe'" in refused.err
    allowed = anml("apply", folder / "run", file, "--allow-new-labels", "--out", tmp_path / "after")
    assert allowed.code == 0, allowed.err
    samples = pl.read_parquet(tmp_path / "after" / "samples.parquet")
    assert set(samples["true_label"].drop_nulls()) <= {"yess", "maybe"}
    assert samples["true_label"].null_count() == 116
    # What was answered does not come back.
    listed = anml("relabel", tmp_path / "after").out
    answered = samples.filter(pl.col("true_label").is_not_null())["row"].to_list()
    assert not {int(row["row"]) for row in csv.DictReader(io.StringIO(listed))} & set(answered)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--top", "0"), "top must be at least 1, got 0"),
        (("--format", "xml"), "unknown format 'xml'"),
        (("--format", "argilla"), "format argilla needs data that came from it"),
        (("--out", "look.xlsx"), "look.xlsx would be no workbook: name it .csv"),
        (("--prices", "0"), "a price must be a number above 0, got '0'"),
        (("--prices", "none.csv"), "none.csv' does not exist"),
        (("--out", "/proc/no/tasks.csv"), "cannot be written"),
        (("--out", "tasks.json"), "the list of data.csv is a table; the output must end in .csv"),
    ],
)
def test_what_is_refused_is_one_sentence(options, message, anml, folder):
    ran = anml("relabel", folder / "run", *options)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.count("\n") == 1
    assert message in ran.err


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ("none.csv", "none.csv' does not exist"),
        ("none.json", "is JSON, but the data of this run are not an export"),
    ],
)
def test_answers_that_cannot_be_applied_are_one_sentence(answers, message, anml, folder):
    ran = anml("apply", folder / "run", answers)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.count("\n") == 1
    assert message in ran.err


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
    request = request_from_run(run)
    assert (request.label, request.contributor, request.seed) == ("label", "contributor", 0)
    assert request.policy().recipe.to_dict() == {
        name: value for name, value in run.info["recipe"].items() if name != "name"
    }
    with pytest.raises(AnmlError, match="cannot be repeated from its record"):
        request_from_run(Run(run.samples, {**run.info, "data": {"embeddings": {}}}, ""))
    with pytest.raises(AnmlError, match=r"run\.json does not have the settings of the run"):
        request_from_run(Run(run.samples, {"schema": {"label": "y"}}, ""))


def test_latest_is_the_run_that_was_written_last(anml, folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "no run folder found in" in anml("relabel", "latest").err
    for at, name in enumerate(("one", "two/deep", "three")):
        (tmp_path / name).mkdir(parents=True)
        record = tmp_path / name / "run.json"
        record.write_text("{}")
        os.utime(record, (1_000 + at, 1_000 + at))
    os.utime(tmp_path / "two" / "deep" / "run.json", (9_000, 9_000))
    assert latest_run(tmp_path) == tmp_path / "two" / "deep"
    (tmp_path / "latest").mkdir()
    assert resolve_run_folder(tmp_path / "latest") == tmp_path / "latest"
    assert resolve_run_folder(None) is None
    monkeypatch.chdir(folder)
    assert anml("relabel", "latest", "--top", 1).code == 0


@pytest.mark.parametrize("command", [("anml", "predict", "latest", "x.csv"),
                                     ("anml", "value", "latest", "--table", "x.csv"),
                                     ("anml", "export", "latest", "--to", "prov", "--out", "x.json"),
                                     ("anml_ledger", "settle", "latest", "--ledger", "none.db")])  # fmt: skip
def test_every_command_that_takes_a_run_takes_the_latest(command, request, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ran = request.getfixturevalue(command[0])(*command[1:])
    assert ran.code == 2
    assert "no run folder found in" in ran.err


@pytest.mark.parametrize(
    ("changed", "left", "message"), [(12, 17.0, True), (12, 9.0, False), (7, 17.0, False)]
)
def test_more_wrong_labels_after_a_round_are_explained(changed, left, message):
    """Answers that found more wrong than expected raise what is expected of the rest."""
    last = {"n_answers": 22, "n_changed": changed, "expected_changed": 7.0,
            "expected_wrong_before": 13.0, "expected_wrong_after": left}  # fmt: skip
    assert (
        "The error rate was higher than estimated" in result_sentence(SimpleNamespace(rounds=[last]))
    ) == message


def test_the_version_and_completion(anml, monkeypatch):
    assert anml("--version").out == f"anml {package.__version__}\n"
    # As a shell asks for it, whichever one this is.
    monkeypatch.setenv("_ANML_COMPLETE", "source_bash")
    assert "_anml_completion" in anml().out
