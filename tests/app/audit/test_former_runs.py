"""A run that was written before there were five words opens, lists what to relabel, and takes answers."""

import csv
import json
import shutil
from pathlib import Path

import pytest

import anml
from anml.app.audit.runs import doubt, read_learned, read_run, read_verdicts
from anml.core.people.words import CONTRADICTS, GUESSING, RELIABLE

FORMER = Path(__file__).parents[2] / "data" / "former.zip"


@pytest.fixture
def folder(tmp_path):
    """The run of `colours.csv` by six people, of whom eve says the next colour and fay always says red."""
    shutil.unpack_archive(FORMER, tmp_path)
    return tmp_path / "former" / "run"


def test_it_has_the_words_of_its_time(folder):
    with (folder / "contributors.csv").open(newline="") as file:
        words = {row["contributor"]: row["verdict"] for row in csv.DictReader(file)}
    assert words["ann"] == "trusted"
    assert words["fay"] == "answers without looking"
    assert json.loads((folder / "run.json").read_text())["anml"] == "0.1.0"


def test_it_opens_and_former_words_are_read_as_new_ones(folder):
    run = read_run(folder)
    assert run.samples.height == 240
    honest = dict.fromkeys(("ann", "ben", "cat", "dan"), RELIABLE)
    assert read_verdicts(folder, run) == {**honest, "eve": CONTRADICTS, "fay": GUESSING}
    assert doubt(run, "p_correct") is None
    learned = read_learned(folder, run)
    assert set(learned["contributor"]) == {"ann", "ben", "cat", "dan", "eve", "fay"}


def test_what_to_relabel_is_listed_and_answers_are_taken(folder, tmp_path, run_anml):
    rows = anml.relabel(folder, tmp_path / "look.csv", top=10)
    assert rows.height == 10
    assert set(rows["contributor"]) <= {"eve", "fay"}
    with (tmp_path / "look.csv").open(newline="") as file:
        asked = list(csv.DictReader(file))
    answers = [{**row, "new_label": row["suggested"]} for row in asked]
    with (tmp_path / "answers.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(answers[0]))
        writer.writeheader()
        writer.writerows(answers)
    done = run_anml("relabel", folder, "--apply", tmp_path / "answers.csv", "--out", tmp_path / "again")
    assert done.code == 0, done.err
    after = read_verdicts(tmp_path / "again", read_run(tmp_path / "again"))
    # What was corrected is nobody's fault: there is no suspect by the name of the corrections.
    honest = {name: word for name, word in after.items() if name not in ("eve", "fay")}
    assert set(honest.values()) == {RELIABLE}
