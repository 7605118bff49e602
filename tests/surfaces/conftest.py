"""The command line, called in this process: quick, and every error can be caught half-way."""

import sys
from collections.abc import Callable
from typing import NamedTuple

import pytest

from anml.surfaces import cli


class Ran(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture(autouse=True)
def plain_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same words whoever runs the tests: no colours, one width, no ledger of theirs."""
    for name in ("FORCE_COLOR", "CLICOLOR_FORCE", "TTY_COMPATIBLE", "ANML_LEDGER", "ANML_KEYS", "ANML_BY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("TERMINAL_WIDTH", "100")


@pytest.fixture
def anml(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """Run `anml` with arguments; returns its exit code and what it printed."""

    def run(*arguments: object) -> Ran:
        monkeypatch.setattr(sys, "argv", ["anml", *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped:
            cli.main()
        code = stopped.value.code
        out, err = capsys.readouterr()
        return Ran(int(code or 0), out, err)

    return run
