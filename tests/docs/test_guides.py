"""The guides, run as written: what is typed works, and what they quote is what comes out."""

import json
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import polars as pl
import pytest

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
    # `anml` as this source has it, wherever another may be installed.
    script = f'anml() {{ "{sys.executable}" -m anml.surfaces.cli "$@"; }}\n'
    # The new folder of each guide is the one of this test.
    script += 'mktemp() { echo "$FOLDER"; }\n' + "\n".join(blocks(page, "bash"))
    if python := "\n".join(blocks(page, "python")):
        (folder / "guide.py").write_text(python, encoding="utf-8")
        script += f'\n"{sys.executable}" guide.py'
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=ROOT, env=env, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-1500:] + done.stderr[-1500:]
    return done.stdout


def check_quotes(page: str, printed: str) -> None:
    """Every line that a guide shows as output stands in the output, however lines were broken."""
    said = " ".join(printed.split())
    for block in blocks(page, "text"):
        for line in block.splitlines():
            assert " ".join(line.split()) in said, line


def test_annotation_lead(tmp_path):
    printed = typed("annotation-lead.md", tmp_path)
    check_quotes("annotation-lead.md", printed)
    tasks = json.loads((tmp_path / "tasks.json").read_text(encoding="utf-8"))
    export = {task["id"]: task for task in json.loads((tmp_path / "export.json").read_text())}
    assert len(tasks) == 40
    for task in tasks:
        # What Label Studio asks of a task that is imported with a prediction.
        assert set(task) == {"id", "data", "predictions"}
        assert task["data"]["text"] == export[task["id"]]["data"]["text"]
        (prediction,) = task["predictions"]
        assert 0 <= prediction["score"] <= 1
        (result,) = prediction["result"]
        assert (result["from_name"], result["to_name"], result["type"]) == ("tone", "text", "choices")
        assert result["value"]["choices"] in (["good"], ["bad"])
        # Nothing that a supervisor has settled.
        assert not any(each.get("reviews") for each in export[task["id"]]["annotations"])
    assert "exit code 1" in printed
    assert (tmp_path / "after" / "report.html").is_file()


def test_engineer(tmp_path):
    printed = typed("engineer.md", tmp_path)
    check_quotes("engineer.md", printed)
    errors = json.loads(
        re.sub(r"np\.float64\(([^)]*)\)", r"\1", re.findall(r"\{.*\}", printed)[-1]).replace("'", '"')
    )
    assert errors["anml"] < 0.6 * errors["plain"]
    text = (GUIDES / "engineer.md").read_text(encoding="utf-8")
    assert f"falls from {errors['plain']:.1%} to {errors['anml']:.1%}" in text
    assert pl.read_csv(tmp_path / "look.csv").height == 50


def test_committee(tmp_path):
    printed = typed("committee.md", tmp_path)
    check_quotes("committee.md", printed)
    people = pl.read_csv(tmp_path / "audit" / "contributors.csv")
    assert {"value", "value_low", "value_high"} <= set(people.columns)
    assert people["contributor"][0] == "south"
    report = (tmp_path / "audit" / "report.html").read_text(encoding="utf-8")
    assert "south" in report
    assert "<script src" not in report
    listed = pl.read_csv(tmp_path / "panel.csv")
    frame = pl.read_parquet(tmp_path / "hospitals.parquet")
    assert listed["stay_id"].to_list() == frame["stay_id"][listed["row"]].to_list()
    assert "error on test data" in printed


@pytest.mark.parametrize("page", ["annotation-lead.md", "engineer.md", "committee.md"])
def test_links_of_the_guides_lead_somewhere(page):
    for link in re.findall(r"\]\(([^)\s]+)\)", (GUIDES / page).read_text(encoding="utf-8")):
        assert (GUIDES / link.partition("#")[0]).is_file(), link
    assert textwrap.dedent("\n".join(blocks(page, "bash"))).startswith("export REPO=$PWD\n")
