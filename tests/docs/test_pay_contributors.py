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
        "waits: new contributor",
        "Signatures, checkpoint and inclusion proofs hold.",
        "micro-units, as stated",
        "every hash, link, step, signature and sum holds",
        "Next, somebody else: anml-ledger confirm",
        "entries hold against 1 older checkpoint in",
        "agree on the terms: name monthly, currency EUR, weight p_correct",
        "pay ana@lab.example (label-studio:ana@lab.example, c",
        "2026-03.pain001.xml",
        "with something still open: proposed.",
        "(share ",
        "signed by ada and bob",
        "export.json was read as label-studio",
        "rows.parquet was read as rows of `anml-ledger import`",
    ):
        assert text in done.stdout, text
    for quoted in blocks(TUTORIAL, "text"):
        for line in quoted.splitlines():
            assert says(done.stdout, line), line
    (folder,) = [path for path in tmp_path.iterdir() if (path / "books.db").is_file()]
    samples = pl.read_parquet(folder / "run" / "samples.parquet")
    assert "self-attested" in set(samples["level"])
    assert b"rosa@lab.example" not in (folder / "books.db").read_bytes()
    # The page ends with the outsider's program.
    assert done.stdout.splitlines()[-1].startswith("YES: c")


def test_the_first_payout_takes_twelve_commands():
    """Those of `anml-ledger` up to the batch, as the page counts them; the audit is one of `anml`."""
    text = (ROOT / TUTORIAL).read_text(encoding="utf-8")
    script = "\n".join(blocks(TUTORIAL, "bash")).partition("anml-ledger pay --paid")[0]
    lines = [line for line in script.splitlines() if not line.lstrip().startswith(("digest()", "bob()"))]
    typed = sum(len(re.findall(r"(?:^|\(|bob )anml-ledger (?!show waiting --json)", line)) for line in lines)
    assert typed == 12
    assert "**12 typed commands**" in text


@pytest.mark.parametrize(
    ("page", "at_least"),
    [("docs/concepts/ledger.md", 8), (TUTORIAL, 20), ("docs/howto/ledger-office.md", 20)],
)
def test_pages_name_only_commands_and_files_that_exist(page, at_least):
    from typer.main import get_command

    from anml.ledger.cli.main import app

    text = (ROOT / page).read_text(encoding="utf-8")
    known = get_command(app).commands
    named = re.findall(r"\banml-ledger ([a-z]+)", text)
    assert len(named) > at_least
    for name in named:
        assert name in known, f"anml-ledger {name}"
    for name in re.findall(r"`((?:tests|docs|bench|src)/[\w./-]+)`", text):
        assert (ROOT / name).exists(), name
