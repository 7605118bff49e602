"""The commands, as a user types them."""

import json
import subprocess
import sys

import pytest

from anml.lab.spec import catalogue
from anml.surfaces.cli import main

MINE = """
title = "Mine"
trials = 2
[setting]
epochs = 2
[methods]
krum = { like = "krum" }
uniform = { like = "uniform" }
[[claims]]
text = "Krum is no worse than uniform"
no_worse = ["krum.error", "uniform.error"]
"""


def anml(*arguments, cwd):
    command = [sys.executable, "-m", "anml.surfaces.cli", "lab", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, check=False)


def test_list(tmp_path):
    done = anml("list", "--json", cwd=tmp_path)
    assert done.returncode == 0
    listed = json.loads(done.stdout)["experiments"]
    assert [entry["name"] for entry in listed] == [*catalogue(), *catalogue("beyond")]
    text = anml("list", cwd=tmp_path).stdout
    assert "main-100" in text.splitlines()[0]


def test_run_a_file_of_my_own_and_report(tmp_path):
    (tmp_path / "mine.toml").write_text(MINE)
    done = anml("run", "mine.toml", "--out", "out", "--jobs", "1", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    [entry] = summary["experiments"]
    assert (entry["name"], entry["trials"], summary["claims_total"]) == ("mine", 2, 1)
    assert summary["left_out"] == {}


def test_report_writes_a_page(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for arguments in (
        ["run", "selection", "--trials", "2", "--out", "out", "--jobs", "1"],
        ["report", "out", "--page", "page.md", "--json"],
    ):
        monkeypatch.setattr(sys, "argv", ["anml", "lab", *arguments])
        with pytest.raises(SystemExit) as stopped:
            main()
        assert stopped.value.code == 0
    printed = capsys.readouterr().out
    assert json.loads(printed[printed.index('{\n "written"') :])["written"][-1] == "page.md"
    assert "## selection" in (tmp_path / "page.md").read_text()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["run", "main-10"], "did you mean 'main-100'"),
        (["run"], "or give --all"),
        (["run", "main-100", "--all"], "or give --all"),
        (["run", "selection", "--trials", "0"], "must be a whole number from 1"),
        (["report", "nowhere"], "there are no rows under nowhere"),
    ],
)
def test_what_can_be_mended_is_one_sentence_and_exit_code_2(arguments, says, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["anml", "lab", *arguments])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    assert says in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
