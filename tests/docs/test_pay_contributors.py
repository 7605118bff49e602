"""The tutorial on payments, run as written, and the commands and files that the pages of the ledger name."""

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
TUTORIAL = "docs/tutorials/pay-contributors.md"


def blocks(page: str, language: str) -> list[str]:
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.S | re.M)


def test_every_command_of_the_tutorial_works(tmp_path):
    script = "\n".join(blocks(TUTORIAL, "bash"))
    assert script.count("anml-ledger ") >= 20
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
        "Next, somebody else: anml-ledger confirm",
        "entries hold against 1 older checkpoint in",
        "(share ",
        "signed by ada and bob",
        "Erased the personal data",
        "export.json was read as label-studio",
        "rows.parquet was read as rows of `anml-ledger import`",
        "still needs",
    ):
        assert text in done.stdout
    for quoted in blocks(TUTORIAL, "text"):
        for line in quoted.splitlines():
            assert says(done.stdout, line), line
    (folder,) = [path for path in tmp_path.iterdir() if (path / "books.db").is_file()]
    # Each row has the numbers of the entries behind its v.
    samples = pl.read_parquet(folder / "run" / "samples.parquet")
    assert "reproduced" in set(samples["level"])
    assert (samples.filter(pl.col("level") == "reproduced")["evidence"] != "").all()
    assert b"dot@crowd.example" not in (folder / "books.db").read_bytes()
    # The page ends with the outsider's program.
    assert done.stdout.splitlines()[-1].startswith("YES: c")


@pytest.mark.parametrize(
    ("page", "at_least"),
    [("docs/concepts/ledger.md", 10), (TUTORIAL, 20), ("docs/howto/ledger-office.md", 20)],
)
def test_pages_name_only_commands_and_files_that_exist(page, at_least):
    from typer.main import get_command

    from anml.ledger.cli.main import app

    text = (ROOT / page).read_text(encoding="utf-8")
    known = get_command(app).commands
    named = re.findall(r"\banml-ledger ([a-z]+)(?: ([a-z]+)\b)?", text)
    assert len(named) > at_least
    for name, sub in named:
        assert name in known, f"anml-ledger {name}"
        if name in ("dispute", "keys", "reputation", "staff"):
            assert sub in known[name].commands, f"anml-ledger {name} {sub}"
    for name in re.findall(r"`((?:tests|docs|bench|src)/[\w./-]+)`", text):
        assert (ROOT / name).exists(), name
