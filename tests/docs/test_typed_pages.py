"""Tutorials and how-to guides with commands of the shell, run as written; quoted output is compared."""

import json
import os
import re
import sys
from pathlib import Path

import polars as pl
import pytest

from near import says
from typed_shell import run_typed

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
# `docs/tutorials/pay-contributors.md` has a separate module.
PAGES = (
    "docs/tutorials/first-audit.md",
    "docs/tutorials/better-model.md",
    "docs/howto/contributor-values.md",
    "docs/howto/ledger-office.md",
    "docs/howto/llm-judges.md",
    "docs/howto/preferences.md",
    "docs/howto/pytorch-huggingface.md",
    "docs/howto/spans-and-boxes.md",
    "docs/howto/tags-and-ordinal.md",
)


def blocks(page: str, language: str) -> list[str]:
    """Code blocks of a language, without those that are marked as not run."""
    text = (ROOT / page).read_text(encoding="utf-8")
    matches = re.findall(rf"(?:^(<!-- not run: [^\n]* -->)\n)?^```{language}\n(.*?)^```", text, re.S | re.M)
    return [block for reason, block in matches if not reason]


def typed(page: str, folder: Path) -> str:
    """Run the commands of a page, then its Python, in a folder; return the output."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("ANML_")}
    env |= {"FOLDER": str(folder), "COLUMNS": "200", "NO_COLOR": "1", "PYTHONWARNINGS": "error"}
    env["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{env['PATH']}"
    # The new folder of each page is that of this test.
    script = 'mktemp() { echo "$FOLDER"; }\n' + "\n".join(blocks(page, "bash"))
    if python := "\n".join(blocks(page, "python")):
        (folder / "page.py").write_text(python, encoding="utf-8")
        script += f'\n"{sys.executable}" page.py'
    done = run_typed(script, ROOT, env)
    assert done.returncode == 0, done.stdout[-1500:] + done.stderr[-1500:]
    return done.stdout


def typed_and_quoted(page: str, folder: Path) -> str:
    """Run a page and find each quoted line in the output: words exactly, figures within a tolerance."""
    printed = typed(page, folder)
    for block in blocks(page, "text"):
        for line in block.splitlines():
            assert says(printed, line), line
    return printed


@pytest.mark.parametrize("page", PAGES)
def test_typed_pages_start_in_a_new_folder(page):
    assert "\n".join(blocks(page, "bash")).startswith('export REPO=$PWD\ncd "$(mktemp -d)"\n')


def test_every_page_with_commands_is_typed():
    with_commands = [path for path in DOCS.glob("*/*.md") if "```bash" in path.read_text(encoding="utf-8")]
    pages = {path.relative_to(ROOT).as_posix() for path in with_commands}
    assert pages == {*PAGES, "docs/tutorials/pay-contributors.md"}


def test_first_audit(tmp_path):
    printed = typed_and_quoted("docs/tutorials/first-audit.md", tmp_path)
    tasks = json.loads((tmp_path / "tasks.json").read_text(encoding="utf-8"))
    export = {task["id"]: task for task in json.loads((tmp_path / "export.json").read_text())}
    assert len(tasks) == 30
    for task in tasks:
        # Label Studio requires these of a task that is imported with a prediction.
        assert set(task) == {"id", "data", "predictions"}
        assert task["data"]["text"] == export[task["id"]]["data"]["text"]
        (prediction,) = task["predictions"]
        assert 0 <= prediction["score"] <= 1
        (result,) = prediction["result"]
        assert (result["from_name"], result["to_name"], result["type"]) == ("tone", "text", "choices")
        assert result["value"]["choices"] in (["good"], ["bad"])
        # No task that a supervisor accepted, and no label that one rejected.
        reviews = [each for one in export[task["id"]]["annotations"] for each in one.get("reviews") or []]
        assert not any(each["accepted"] for each in reviews)
        rejected = [
            one["result"][0]["value"]["choices"]
            for one in export[task["id"]]["annotations"]
            if one.get("reviews")
        ]
        assert result["value"]["choices"] not in rejected
        assert {"anml_label", "anml_contributor", "anml_reason"} <= set(task["data"])
    assert "exit code 1" in printed
    assert (tmp_path / "after" / "report.html").is_file()
    following = json.loads((tmp_path / "next.json").read_text(encoding="utf-8"))
    assert not {task["id"] for task in following} & {task["id"] for task in tasks}
    assert all(task["data"]["anml_assigned_to"] != task["data"]["anml_contributor"] for task in following)
    people = re.findall(r"\w+@lab\.example", (tmp_path / "dan.html").read_text(encoding="utf-8"))
    assert set(people) == {"dan@lab.example"}
    assert (tmp_path / "changed" / "comparison.html").is_file()


def test_better_model(tmp_path):
    page = "docs/tutorials/better-model.md"
    printed = typed_and_quoted(page, tmp_path)
    errors = json.loads(
        re.sub(r"np\.float64\(([^)]*)\)", r"\1", re.findall(r"\{.*\}", printed)[-1]).replace("'", '"')
    )
    assert errors["anml"] < 0.6 * errors["plain"]
    text = (ROOT / page).read_text(encoding="utf-8")
    assert says(text, f"falls from {errors['plain']:.1%} to {errors['anml']:.1%}")
    assert pl.read_csv(tmp_path / "look.csv").height == 50


def test_contributor_values(tmp_path):
    printed = typed_and_quoted("docs/howto/contributor-values.md", tmp_path)
    people = pl.read_csv(tmp_path / "audit" / "contributors.csv")
    values = pl.read_csv(tmp_path / "value" / "values.csv")
    assert values["contributor"].to_list()[-1] == "south"
    assert people["contributor"][0] == "south"
    report = (tmp_path / "audit" / "report.html").read_text(encoding="utf-8")
    assert "south" in report
    assert "<script src" not in report
    # All rows of a table count, and those of South lower the score.
    assert re.search(r"│ south +┆ -0\.", printed)


def test_pytorch(tmp_path):
    printed = typed_and_quoted("docs/howto/pytorch-huggingface.md", tmp_path)
    (kept, total) = re.findall(r"(\d+) of (\d+) rows are trained on", printed)[0]
    assert 0.4 * int(total) < int(kept) < int(total)


def test_llm_judges(tmp_path):
    printed = typed_and_quoted("docs/howto/llm-judges.md", tmp_path)
    assert "judges with independent errors" in printed


def test_preferences(tmp_path):
    typed_and_quoted("docs/howto/preferences.md", tmp_path)
    ranking = pl.read_csv(tmp_path / "audit" / "ranking.csv")
    assert ranking["candidate"][0] in ("answer 9", "answer 8")
    people = pl.read_csv(tmp_path / "audit" / "contributors.csv").sort("kappa")
    assert people["contributor"][0] == "judge 01"
    assert pl.read_csv(tmp_path / "look.csv").height > 0


def test_spans(tmp_path):
    typed_and_quoted("docs/howto/spans-and-boxes.md", tmp_path)
    people = {
        row["contributor"]: row for row in pl.read_csv(tmp_path / "audit" / "contributors.csv").to_dicts()
    }
    assert people["eve@lab.example"]["miss_rate"] > 0.5 > people["ann@lab.example"]["miss_rate"]
    rates = {name: people[f"{name}@lab.example"]["boundary_error_rate"] for name in ("ann", "dan")}
    assert rates["dan"] > 0.5 > rates["ann"]
    tasks = json.loads((tmp_path / "tasks.json").read_text(encoding="utf-8"))
    (prediction,) = tasks[0]["predictions"]
    assert all(set(each["value"]) == {"start", "end", "labels", "text"} for each in prediction["result"])


def test_tags_and_ordinal(tmp_path):
    typed_and_quoted("docs/howto/tags-and-ordinal.md", tmp_path)
    assert pl.read_csv(tmp_path / "topics" / "tags.csv").height == 80
    notes = dict(
        pl.read_csv(tmp_path / "stars" / "contributors.csv").select("contributor", "notes").iter_rows()
    )
    assert notes["critic 0"].startswith("is lenient")
    assert notes["critic 1"].startswith("is severe")


def test_office(tmp_path):
    page = "docs/howto/ledger-office.md"
    printed = typed_and_quoted(page, tmp_path)
    for text in (
        "released",
        "signs with the new key from now on, and not with the old one",
        "every hash, link, step, signature and sum holds",
        "signed by ada and bob",
        "YES: both checkpoints are of one log, which grew from ",
    ):
        assert text in printed, text
    # No key of a person is in a folder that another person reads.
    assert sorted(path.name for path in (tmp_path / "books.db.keys").iterdir()) == [
        "log.pem",
        "log.pub",
        "master.key",
    ]
    for person in ("ada", "bob", "carol"):
        assert [path.name for path in (tmp_path / f"{person}-machine").glob("*.pem")] == [f"{person}.pem"]
    assert (tmp_path / "payout" / "2026-03.pain001.xml").stat().st_mode & 0o077 == 0
    month = "\n".join(blocks(page, "bash")).split("ada import export", 1)[1].split("bob pay --failed", 1)[0]
    assert len(re.findall(r"^(?:ada|bob|carol|signs|anml|anml-ledger|ANML_STAFF)", month, re.M)) <= 25
