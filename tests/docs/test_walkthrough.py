"""The walkthrough, run as written."""

import os
import re
import sys
from pathlib import Path

import pytest

from typed_shell import run_typed

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def commands(page: Path) -> str:
    return "\n".join(re.findall(r"^```bash\n(.*?)^```$", page.read_text(encoding="utf-8"), re.S | re.M))


def test_every_command_of_the_walkthrough_works(tmp_path):
    script = commands(DOCS / "settlement-walkthrough.md")
    assert script.count("anml ") >= 20
    env = {name: value for name, value in os.environ.items() if not name.startswith("ANML_")}
    env["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{env['PATH']}"
    env |= {"TMPDIR": str(tmp_path), "HOME": str(tmp_path / "home")}
    done = run_typed(script, ROOT, env)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    for text in (
        "reproduced by https://lab.example/qa",
        "waits: new contributor",
        "Signatures, checkpoint and inclusion proofs hold.",
        "micro-units, as stated",
        "every hash, link, step, signature and sum holds",
        "Next, somebody else: anml ledger confirm",
        "entries hold against 1 older checkpoint in",
        "(share ",
        "signed by ada and bob",
        "Erased the personal data",
        "export.json was read as label-studio",
    ):
        assert text in done.stdout
    (folder,) = [path for path in tmp_path.iterdir() if (path / "books.db").is_file()]
    report = (folder / "run" / "report.html").read_text(encoding="utf-8")
    for text in ("What v rests on", "https://lab.example/qa", "verified with key", "still needs"):
        assert text in report
    assert b"dot@crowd.example" not in (folder / "books.db").read_bytes()
    # The page ends with the outsider's word.
    assert done.stdout.splitlines()[-1].startswith("YES: c")
    assert "OUTPUT:" not in (DOCS / "settlement-walkthrough.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", ["ledger.md", "settlement-walkthrough.md"])
def test_pages_name_only_commands_and_files_that_exist(page):
    from typer.main import get_command

    from anml.surfaces.cli import app

    text = (DOCS / page).read_text(encoding="utf-8")
    known = get_command(app).commands
    for name, sub in re.findall(r"\banml (ledger|reputation|dispute) ([a-z]+)\b", text):
        assert sub in known[name].commands, f"anml {name} {sub}"
    for name in re.findall(r"`((?:tests|docs|bench|src)/[\w./-]+)`", text):
        assert (ROOT / name).exists(), name
