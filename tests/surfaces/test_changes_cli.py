"""`anml changes`: what it prints, writes and shows."""

import json

import polars as pl
import pytest

from anml.app.audit.changes import changes
from anml.surfaces.changes_cli import sentences
from made_up import two_weeks


@pytest.fixture(scope="module")
def weeks(tmp_path_factory):
    return two_weeks(tmp_path_factory.mktemp("weeks"))


def test_the_command_prints_writes_and_shows_the_same(anml, weeks, tmp_path):
    ran = anml("changes", weeks / "one", weeks / "two", "--out", tmp_path / "out")
    assert ran.code == 0, ran.err
    assert ran.out.startswith("dan (")
    assert "worse than before, beyond chance." in ran.out
    assert (
        "the runs are of two files, with no item and contributor in common; `anml audit --item` names items."
        in ran.out
    )
    page = (tmp_path / "out" / "changes.html").read_text()
    assert "worse than before, beyond chance." in page
    assert "<script" not in page
    assert pl.read_csv(tmp_path / "out" / "people.csv").height == 4
    shown = json.loads(anml("changes", weeks / "one", weeks / "two", "--json").out)
    assert shown["shared"] == 0
    assert len(shown["people"]) == 4


def test_the_same_run_twice_has_nothing_to_say(weeks):
    said = sentences(changes(weeks / "one", weeks / "one"))
    assert said[0] == "Nobody changed beyond chance."
    assert said[-1].startswith("0 of 160 labels that both runs have were mended, and 0 more look")


def test_a_folder_with_other_files_is_not_written(anml, weeks, tmp_path):
    (tmp_path / "mine.txt").write_text("x")
    ran = anml("changes", weeks / "one", weeks / "two", "--out", tmp_path)
    assert ran.code == 2
    assert "holds other files" in ran.err
