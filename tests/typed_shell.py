"""A shell whose `anml` and `anml-ledger` run in this process, which loads them once for all lines."""

import os
import select
import subprocess
import sys
import tempfile
import traceback
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from anml.cli import main as cli
from anml.ledger.cli import main as ledger_cli

PROGRAMS = {"anml": cli, "anml-ledger": ledger_cli}
# Folder, environment and words go into a new folder, whose name is the request; the answer is a code.
ANML = """
anml() { requested anml "$@"; }
anml-ledger() { requested anml-ledger "$@"; }
requested() {
    local asked code
    asked=$(command mktemp -d "$TYPED/XXXXXX")
    printf %s "$PWD" > "$asked/folder"
    env -0 > "$asked/environment"
    printf '%s\\0' "$@" > "$asked/words"
    mkfifo "$asked/code"
    echo "$asked" > "$TYPED/requests"
    read -r code < "$asked/code"
    cat "$asked/out"
    cat "$asked/err" >&2
    return "$code"
}
"""


def run_typed(script: str, folder: Path, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a script in bash, in that folder; it stops at the first command that fails."""
    with (
        tempfile.TemporaryDirectory() as box,
        tempfile.TemporaryFile("w+", encoding="utf-8") as out,
        tempfile.TemporaryFile("w+", encoding="utf-8") as err,
    ):
        os.mkfifo(Path(box) / "requests")
        # Open for both, so that it stays open between two who write.
        requests = os.open(Path(box) / "requests", os.O_RDWR)
        command = ["bash", "-euo", "pipefail", "-c", ANML + script]
        shell = subprocess.Popen(command, cwd=folder, env=env | {"TYPED": box}, stdout=out, stderr=err)
        while shell.poll() is None:
            if select.select([requests], [], [], 0.05)[0]:
                for asked in os.read(requests, select.PIPE_BUF).decode().split():
                    answer(Path(asked))
        os.close(requests)
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess(command, shell.returncode, out.read(), err.read())


def answer(asked: Path) -> None:
    """Run one command of the shell here."""
    named = (asked / "environment").read_text(encoding="utf-8").split("\0")[:-1]
    words = (asked / "words").read_text(encoding="utf-8").split("\0")[:-1]
    out, err = (open(asked / name, "w", encoding="utf-8") for name in ("out", "err"))  # noqa: PTH123, SIM115
    before, code = dict(os.environ), 1
    with pytest.MonkeyPatch.context() as patch, out, err, redirect_stdout(out), redirect_stderr(err):
        os.environ.clear()
        os.environ.update(line.split("=", 1) for line in named)
        patch.chdir((asked / "folder").read_text(encoding="utf-8"))
        patch.setattr(sys, "argv", words)
        try:
            PROGRAMS[words[0]].main()
        except SystemExit as stopped:
            code = int(stopped.code or 0)
        except Exception:
            traceback.print_exc()
        finally:
            os.environ.clear()
            os.environ.update(before)
    (asked / "code").write_text(f"{code}\n")
