"""`anml compare`: what it prints, writes and shows."""

import json
import re

import polars as pl
import pytest

from anml.pipeline.compare_runs import compare_runs
from anml.report.comparison import comparison_sentences
from made_up import two_weeks

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def weeks(tmp_path_factory):
    return two_weeks(tmp_path_factory.mktemp("weeks"))


def test_the_command_prints_writes_and_shows_the_same(anml, weeks, tmp_path):
    ran = anml("compare", weeks / "one", weeks / "two", "--out", tmp_path / "out")
    assert ran.code == 0, ran.err
    first, second = ran.out.splitlines()[:2]
    assert re.fullmatch(r"The accuracy of dan \(0\.\d\d → 0\.\d\d\) fell significantly\.", first)
    why = "the runs have different data, and no pair of item and contributor in common"
    assert second == f"Rows cannot be compared: {why}. Name the item column in both audits to compare them."
    page = (tmp_path / "out" / "comparison.html").read_text()
    assert first in page
    assert second in page
    assert "<script" not in page
    assert pl.read_csv(tmp_path / "out" / "contributors.csv").height == 4
    shown = json.loads(anml("compare", weeks / "one", weeks / "two", "--json").out)
    assert shown["n_shared_rows"] == 0
    assert len(shown["contributors"]) == 4


@pytest.mark.parametrize(
    ("before", "after", "condition", "code"),
    [("one", "two", "fell", 1), ("one", "two", "changed", 1), ("two", "one", "fell", 0),
     ("two", "one", "changed", 1), ("one", "one", "changed", 0), ("one", "two", "rose", 2)],
)  # fmt: skip
def test_a_job_can_stop_where_a_contributor_changed(anml, weeks, tmp_path, before, after, condition, code):
    out = tmp_path / "out"
    ran = anml("compare", weeks / before, weeks / after, "--fail-if", condition, "--out", out)
    assert ran.code == code, ran.err
    assert (out / "comparison.html").is_file() == (code < 2)


def test_a_run_and_itself_differ_in_nothing(weeks):
    sentences = comparison_sentences(compare_runs(weeks / "one", weeks / "one"))
    assert sentences == [
        "No contributor changed significantly.",
        "0 of the 160 shared labels were corrected; p_correct of 0 others crossed 0.5.",
    ]


def test_a_folder_with_other_files_is_not_written(anml, weeks, tmp_path):
    (tmp_path / "mine.txt").write_text("x")
    ran = anml("compare", weeks / "one", weeks / "two", "--out", tmp_path)
    assert ran.code == 2
    assert "has files and no earlier run" in ran.err
