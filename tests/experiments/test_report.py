"""The page of a room of experiments: verdicts, the paper's values, what fails, and how it was run."""

import pytest

from experiments.cells import cells_of
from experiments.report import PAGES, _cut, write_report
from experiments.spec import parse
from experiments.store import join_parts, keep_part, write_record

pytestmark = pytest.mark.slow

RUN = {"command": "python -m experiments run x", "jobs": 2, "device": "cpu", "blocks": 3, "cores": 4,
       "machine": "m",
       "experiments": ["x"], "wall_seconds": 90.0}  # fmt: skip


@pytest.fixture
def experiment():
    return parse(
        "x",
        {
            "title": "A title", "about": "What it is about.", "trials": 10, "vary": {"bad": [0.1]},
            "methods": ["uniform", "krum"], "notes": ["A note."],
            "paper": [{"method": "krum", "error": 12.4, "implied": True}],
            "claims": [{"text": "krum is low", "at_most": ["krum.error", 1], "limit": "paper",
                        "why": "it is not"},
                       {"text": "krum is high", "at_least": ["krum.error", 1], "limit": "paper"},
                       {"text": "ours is", "at_least": ["krum.error", 1], "limit": "paper", "apart": "ours"}],
        },
    )  # fmt: skip


@pytest.fixture
def folder(experiment, tmp_path):
    rows = [
        {"trial": trial, **dict(key), "method": method, "error": 20.0 + trial % 2}
        for trial in range(10)
        for _, key, _, method in cells_of(experiment)
    ]
    keep_part(experiment, tmp_path, "a", rows, set())
    join_parts(experiment, tmp_path)
    write_record(tmp_path, {"experiments": {"x": {"trials": 10, "version": "anml 9.9"}}, "runs": [RUN]})
    return tmp_path


@pytest.mark.parametrize("room", PAGES)
def test_every_room_has_a_page_that_says_how_it_was_run_and_what_holds(room, experiment, folder):
    page = folder / "docs" / "page.md"
    written = write_report(folder, page, [experiment], room)
    assert written == [folder / "summary.json", page]
    text = page.read_text()
    assert text.startswith("# ")
    assert "do not edit by hand" in text
    assert "made by anml 9.9; do not edit" in text
    # One of the two claims that are not ours holds.
    assert "Of 2 " in text
    assert " 1 hold, 1 do not, and for 0 the rows cannot tell." in text
    how = "<code>python -m experiments run x</code>: 3 blocks of trials, --jobs 2, 4 m cores, device cpu"
    how += ": 1.5 minutes"
    assert how in text
    assert "## x\nA title. 10 trials. What it is about. Rows by anml 9.9." in text
    assert "Claims: 2 of 3 hold" in text
    assert "<strong>does not hold</strong>: krum is low" in text
    assert "holds: krum is high" in text
    assert "Counted apart: 1 promised by us, not by the paper." in text
    assert "<li>A note.</li>" in text


def test_the_papers_value_stands_beside_ours_and_a_tilde_marks_what_is_implied(experiment, folder):
    write_report(folder, folder / "paper.md", [experiment])
    lines = (folder / "paper.md").read_text().splitlines()
    (line,) = [line for line in lines if "· paper" in line and line.startswith("|")]
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert (cells[0], cells[-1]) == ("0.1", "**20.5 ± .4** · paper ~12.4")
    said = "[x](#x): krum is low (20.5 [20.12, 20.88]; asked: at most 1). *it is not*"
    assert any(said in line for line in lines)


def test_what_holds_is_listed_with_what_was_asked_and_whose_limit_that_is(experiment, folder):
    write_report(folder, folder / "paper.md", [experiment])
    text = (folder / "paper.md").read_text()
    held = '<summary>What holds</summary><ul><li><a href="#x">x</a>: krum is high (20.5 [20.12, 20.88]; '
    assert held + "asked: at least 1).</li></ul>" in text
    assert "asked: at least 1, a figure that the paper prints)" in text


@pytest.mark.parametrize(
    ("detail", "shown"),
    [("a; b", "a; b"), ("a; " + "b" * 200, "a; and more"), ("b" * 200 + "; a", "b" * 200 + "; and more"),
     ("b" * 200, "b" * 200)],
)  # fmt: skip
def test_figures_are_cut_whole_and_one_always_stays(detail, shown):
    assert _cut(detail) == shown


def test_a_page_is_the_same_when_it_is_written_again(experiment, folder):
    page = folder / "paper.md"
    write_report(folder, page, [experiment])
    before = page.read_bytes()
    write_report(folder, page, [experiment])
    assert page.read_bytes() == before
