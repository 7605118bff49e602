"""The guides, run as written: what is typed works, and what they quote is what comes out."""

import json
import os
import re
import sys
import textwrap
from pathlib import Path

import polars as pl
import pytest

from near import says
from typed_shell import run_typed

ROOT = Path(__file__).parents[2]
GUIDES = ROOT / "docs" / "guides"


def blocks(page: str, language: str) -> list[str]:
    text = (GUIDES / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.S | re.M)


def typed(page: str, folder: Path) -> str:
    """Everything of a page that is typed, in its order: commands, then Python; returns what was printed."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("ANML_")}
    env |= {"FOLDER": str(folder), "COLUMNS": "200", "NO_COLOR": "1", "PYTHONWARNINGS": "error"}
    env["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{env['PATH']}"
    # The new folder of each guide is the one of this test.
    script = 'mktemp() { echo "$FOLDER"; }\n' + "\n".join(blocks(page, "bash"))
    if python := "\n".join(blocks(page, "python")):
        (folder / "guide.py").write_text(python, encoding="utf-8")
        script += f'\n"{sys.executable}" guide.py'
    done = run_typed(script, ROOT, env)
    assert done.returncode == 0, done.stdout[-1500:] + done.stderr[-1500:]
    return done.stdout


def check_quotes(page: str, printed: str) -> None:
    """Every line that a guide shows as output stands in the output: its words, and figures near its own."""
    for block in blocks(page, "text"):
        for line in block.splitlines():
            assert says(printed, line), line


def test_annotation_lead(tmp_path):
    printed = typed("annotation-lead.md", tmp_path)
    check_quotes("annotation-lead.md", printed)
    tasks = json.loads((tmp_path / "tasks.json").read_text(encoding="utf-8"))
    export = {task["id"]: task for task in json.loads((tmp_path / "export.json").read_text())}
    assert len(tasks) == 30
    for task in tasks:
        # What Label Studio asks of a task that is imported with a prediction.
        assert set(task) == {"id", "data", "predictions"}
        assert task["data"]["text"] == export[task["id"]]["data"]["text"]
        (prediction,) = task["predictions"]
        assert 0 <= prediction["score"] <= 1
        (result,) = prediction["result"]
        assert (result["from_name"], result["to_name"], result["type"]) == ("tone", "text", "choices")
        assert result["value"]["choices"] in (["good"], ["bad"])
        # Nothing that a supervisor has settled, and no label that one rejected.
        reviews = [each for one in export[task["id"]]["annotations"] for each in one.get("reviews") or []]
        assert not any(each["accepted"] for each in reviews)
        rejected = [
            one["result"][0]["value"]["choices"]
            for one in export[task["id"]]["annotations"]
            if one.get("reviews")
        ]
        assert result["value"]["choices"] not in rejected
    assert "exit code 1" in printed
    assert (tmp_path / "after" / "report.html").is_file()
    again = json.loads((tmp_path / "next.json").read_text(encoding="utf-8"))
    assert not {task["id"] for task in again} & {task["id"] for task in tasks}
    assert all(task["data"]["anml_ask"] != task["data"]["anml_given_by"] for task in again)


def test_engineer(tmp_path):
    printed = typed("engineer.md", tmp_path)
    check_quotes("engineer.md", printed)
    errors = json.loads(
        re.sub(r"np\.float64\(([^)]*)\)", r"\1", re.findall(r"\{.*\}", printed)[-1]).replace("'", '"')
    )
    assert errors["anml"] < 0.6 * errors["plain"]
    text = (GUIDES / "engineer.md").read_text(encoding="utf-8")
    assert says(text, f"falls from {errors['plain']:.1%} to {errors['anml']:.1%}")
    assert pl.read_csv(tmp_path / "look.csv").height == 50


def test_committee(tmp_path):
    printed = typed("committee.md", tmp_path)
    check_quotes("committee.md", printed)
    people = pl.read_csv(tmp_path / "audit" / "contributors.csv")
    values = pl.read_csv(tmp_path / "value" / "values.csv")
    assert values["contributor"].to_list()[-1] == "south"
    assert people["contributor"][0] == "south"
    report = (tmp_path / "audit" / "report.html").read_text(encoding="utf-8")
    assert "south" in report
    assert "<script src" not in report
    listed = pl.read_csv(tmp_path / "panel.csv")
    frame = pl.read_parquet(tmp_path / "hospitals.parquet")
    assert listed["stay_id"].to_list() == frame["stay_id"][listed["row"]].to_list()
    assert "error on test data" in printed


def test_deep_learning(tmp_path):
    printed = typed("deep-learning.md", tmp_path)
    (kept, of) = re.findall(r"(\d+) of (\d+) rows are trained on", printed)[0]
    assert 0.4 * int(of) < int(kept) < int(of)


@pytest.mark.parametrize("page", ["annotation-lead.md", "deep-learning.md", "engineer.md", "committee.md"])
def test_links_of_the_guides_lead_somewhere(page):
    for link in re.findall(r"\]\(([^)\s]+)\)", (GUIDES / page).read_text(encoding="utf-8")):
        assert (GUIDES / link.partition("#")[0]).is_file(), link
    assert textwrap.dedent("\n".join(blocks(page, "bash"))).startswith("export REPO=$PWD\n")


def test_preferences(tmp_path):
    printed = typed("preferences.md", tmp_path)
    ranking = pl.read_csv(tmp_path / "audit" / "ranking.csv")
    assert ranking["candidate"][0] in ("answer 9", "answer 8")
    assert "10 candidates are ranked" in " ".join(printed.split())
    people = pl.read_csv(tmp_path / "audit" / "contributors.csv").sort("reliability")
    assert people["contributor"][0] == "judge 01"
    assert pl.read_csv(tmp_path / "look.csv").height > 0


def test_spans(tmp_path):
    printed = typed("spans.md", tmp_path)
    assert "names.json is judged as spans" in " ".join(printed.split())
    people = {
        row["contributor"]: row for row in pl.read_csv(tmp_path / "audit" / "contributors.csv").to_dicts()
    }
    assert people["eve@lab.example"]["misses"] > 0.5 > people["ann@lab.example"]["misses"]
    assert people["dan@lab.example"]["boundaries"] > 0.5 > people["ann@lab.example"]["boundaries"]
    tasks = json.loads((tmp_path / "tasks.json").read_text(encoding="utf-8"))
    (prediction,) = tasks[0]["predictions"]
    assert all(set(each["value"]) == {"start", "end", "labels", "text"} for each in prediction["result"])


def test_tags_and_grades(tmp_path):
    typed("tags-and-grades.md", tmp_path)
    assert pl.read_csv(tmp_path / "topics" / "tags.csv").height == 80
    habits = dict(
        pl.read_csv(tmp_path / "stars" / "contributors.csv").select("contributor", "habits").iter_rows()
    )
    assert habits["critic 0"].startswith("lenient")
    assert habits["critic 1"].startswith("severe")


def test_office(tmp_path):
    printed = typed("office.md", tmp_path)
    for said in (
        "released",
        "signs with the new key from now on, and not with the old one",
        "every hash, link, step, signature and sum holds",
        "signed by ada and bob",
        "YES: both checkpoints are of one log, which grew from ",
    ):
        assert said in printed, said
    # Nobody's key lies where another has to read.
    assert sorted(path.name for path in (tmp_path / "books.db.keys").iterdir()) == [
        "log.pem",
        "log.pub",
        "master.key",
    ]
    for who in ("ada", "bob", "carol"):
        assert [path.name for path in (tmp_path / f"{who}-machine").glob("*.pem")] == [f"{who}.pem"]
    assert (tmp_path / "payout" / "2026-03.pain001.xml").stat().st_mode & 0o077 == 0
    month = (
        "\n".join(blocks("office.md", "bash"))
        .split("ada ledger import", 1)[1]
        .split("signs bob payout", 1)[0]
    )
    assert len(re.findall(r"^(?:ada|bob|carol|signs|anml|ANML_STAFF)", month, re.M)) <= 25
