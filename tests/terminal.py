"""Fixtures for tests of a command line: one terminal for all of them, and the program run in this process."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest


class Ran(NamedTuple):
    code: int
    out: str
    err: str


Program = Callable[..., Ran]


def program(
    name: str, main: Callable[[], None], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Program:
    """A function that runs a program in this process and returns its exit code and its output."""

    def run(*arguments: object) -> Ran:
        monkeypatch.setattr(sys, "argv", [name, *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped:
            main()
        code = stopped.value.code
        out, err = capsys.readouterr()
        return Ran(int(code or 0), out, err)

    return run


@pytest.fixture(autouse=True)
def plain_terminal(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The same words whoever runs the tests: no colours, one width, no ledger of theirs."""
    for name in ("FORCE_COLOR", "CLICOLOR_FORCE", "TTY_COMPATIBLE", "ANML_LEDGER", "ANML_KEYS", "ANML_BY"):
        monkeypatch.delenv(name, raising=False)
    # Keys of people lie beside the test, never in the home of whoever runs it.
    monkeypatch.setenv("ANML_STAFF_KEYS", str(tmp_path / "staff-keys"))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    monkeypatch.delenv("ANML_KEY_PASSWORD", raising=False)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("TERMINAL_WIDTH", "100")


@pytest.fixture
def anml(run_anml: Callable) -> Callable:
    """Run `anml` with arguments; returns its exit code and what it printed."""
    return run_anml


@pytest.fixture
def anml_ledger(run_ledger: Callable) -> Callable:
    """Run `anml-ledger` with arguments; returns its exit code and what it printed."""
    return run_ledger
