"""The commands, as a user types them."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from experiments.cli import main
from experiments.spec import list_experiments

pytestmark = pytest.mark.slow

# Experiments are no part of the package that is installed: they run from the checkout.
ROOT = Path(__file__).parents[2]

MINE = """
title = "Mine"
trials = 10
[setting]
epochs = 2
[methods]
krum = { like = "krum" }
uniform = { like = "uniform" }
[[claims]]
text = "Krum is no worse than uniform"
no_worse = ["krum.error", "uniform.error"]
margin = 2
limit = "before"
"""


def test_list_in_a_process_of_its_own():
    command = [sys.executable, "-m", "experiments", "list"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0
    assert "main-100" in done.stdout.splitlines()[0]


def typed_here(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["experiments", *arguments])
    with pytest.raises(SystemExit) as stopped:
        main()
    return stopped.value.code


def test_list_for_programs(monkeypatch, capsys):
    assert typed_here(monkeypatch, "list", "--json") == 0
    listed = json.loads(capsys.readouterr().out)["experiments"]
    assert [entry["name"] for entry in listed] == [
        *list_experiments(),
        *list_experiments("beyond"),
        *list_experiments("field"),
    ]


def test_run_a_file_of_my_own_and_report(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.toml").write_text(MINE)
    assert typed_here(monkeypatch, "run", "mine.toml", "--out", "out", "--jobs", "1", "--json") == 0
    summary = json.loads(capsys.readouterr().out)
    [entry] = summary["experiments"]
    assert (entry["name"], entry["trials"], sum(summary["claims"].values())) == ("mine", 10, 1)
    assert summary["left_out"] == {}
    # Another seed is another draw; with both, the first one's rows are not made again, and all are pooled.
    assert (
        typed_here(monkeypatch, "run", "mine.toml", "--seed", "1", "--out", "other", "--jobs", "1", "--json")
        == 0
    )
    again = json.loads(capsys.readouterr().out)
    assert again["experiments"][0]["rows"] != entry["rows"]
    (tmp_path / "mine.toml").write_text("seeds = [0, 1]\n" + MINE)
    assert typed_here(monkeypatch, "run", "mine.toml", "--out", "out", "--jobs", "1", "--json") == 0
    [both] = json.loads(capsys.readouterr().out)["experiments"]
    assert (both["trials"], both["seeds"]) == (20, 2)
    means = [each["rows"][0]["ours"] for each in (entry, again["experiments"][0], both)]
    assert means[2] == pytest.approx((means[0] + means[1]) / 2, abs=1e-5)
    assert typed_here(monkeypatch, "report", "out") == 0
    assert "20 trials, 2 seeds" in (tmp_path / "out" / "report.md").read_text()


def test_five_lines_are_enough_for_a_table_and_a_page(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    lines = ['title = "Mine"', "trials = 1", 'methods = ["krum", "uniform"]', "[vary]", "bad = [0.1, 0.5]"]
    (tmp_path / "mine.toml").write_text("\n".join([*lines, "[setting]", "epochs = 1"]))
    assert typed_here(monkeypatch, "run", "mine.toml", "--out", "my", "--jobs", "1") == 0
    printed = capsys.readouterr().out
    assert "mine (1 trial): Mine" in printed
    assert "lines are values of bad; columns are methods" in printed
    assert "error: test error in percent" in printed
    assert "| error | krum" in printed
    assert "\n| 0.5 " in printed
    # The file may go: the one that was run is kept beside the rows.
    (tmp_path / "mine.toml").unlink()
    assert typed_here(monkeypatch, "report", "my") == 0
    assert capsys.readouterr().out.split() == ["my/summary.json", "my/report.md"]
    page = (tmp_path / "my" / "report.md").read_text()
    assert "## mine" in page
    assert "| error | krum" in page
    assert "the paper" not in page


def test_what_was_run_before_stays_in_the_summary(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name in ("one", "two"):
        (tmp_path / f"{name}.toml").write_text(MINE)
        assert typed_here(monkeypatch, "run", f"{name}.toml", "--out", "my", "--jobs", "1") == 0
    entries = json.loads((tmp_path / "my" / "summary.json").read_text())["experiments"]
    assert [entry["name"] for entry in entries] == ["one", "two"]
    # A kept file that was spoilt is said before the next run.
    (tmp_path / "my" / "experiments" / "one.toml").write_text("title = 3")
    capsys.readouterr()
    for command in (["run", "two.toml", "--out", "my"], ["report", "my"]):
        assert typed_here(monkeypatch, *command) == 2
        says = "kept in my/experiments: experiment 'one': title must be a text, got 3"
        assert says in capsys.readouterr().err
    # Running it anew mends it.
    assert typed_here(monkeypatch, "run", "one.toml", "--out", "my", "--jobs", "1") == 0


def test_report_writes_a_page(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for arguments in (
        ["run", "selection", "--trials", "2", "--out", "out", "--jobs", "1"],
        ["report", "out", "--page", "page.md", "--json"],
    ):
        monkeypatch.setattr(sys, "argv", ["experiments", *arguments])
        with pytest.raises(SystemExit) as stopped:
            main()
        assert stopped.value.code == 0
    printed = capsys.readouterr().out
    written = json.loads(printed[printed.index('{\n "written"') :])["written"]
    assert written[-2:] == ["page.md", "page/selection.md"]
    assert "[selection](page/selection.md)" in (tmp_path / "page.md").read_text()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["run", "main-10"], "did you mean 'main-100'"),
        (["run"], "or give --all"),
        (["run", "main-100", "--all"], "or give --all"),
        (["run", "selection", "--trials", "0"], "at least 1"),
        (["report", "nowhere"], "there are no rows under nowhere"),
    ],
)
def test_what_can_be_mended_is_one_sentence_and_exit_code_2(arguments, says, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["experiments", *arguments])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    assert says in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_run_that_cannot_be_made(tmp_path, monkeypatch, capsys):
    (tmp_path / "file").touch()
    (tmp_path / "bad.toml").write_text("title = [")
    refusals = {
        "": "name experiments (see `python -m experiments list`), or give --all",
        "man-100": "unknown experiment 'man-100' (did you mean 'main-100'?); allowed: main-100",
        "main-100 --trials 0": "the number of trials must be at least 1, got 0",
        "main-100 --jobs -1": "--jobs must be 0 (one per core) or more, got -1",
        "main-100 --device tpu": "unknown device 'tpu' (did you mean 'cpu'?); allowed: auto, cpu, cuda",
        f"main-100 --out {tmp_path / 'file'}": "is a file",
        str(tmp_path / "bad.toml"): "is not TOML",
        str(tmp_path / "none.toml"): "there is no experiment file",
    }
    for arguments, message in refusals.items():
        code = typed_here(monkeypatch, "run", *arguments.split())
        out, err = capsys.readouterr()
        assert (code, out) == (2, ""), arguments
        assert err.count("\n") == 1, arguments
        assert message in err, arguments
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.toml", "file"]
