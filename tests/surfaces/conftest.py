"""The command line, called in this process: quick, and every error can be caught half-way."""

from collections.abc import Callable

import pytest


@pytest.fixture(autouse=True)
def plain_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same words whoever runs the tests: no colours, one width, no ledger of theirs."""
    for name in ("FORCE_COLOR", "CLICOLOR_FORCE", "TTY_COMPATIBLE", "ANML_LEDGER", "ANML_KEYS", "ANML_BY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("TERMINAL_WIDTH", "100")


@pytest.fixture
def anml(run_anml: Callable) -> Callable:
    """Run `anml` with arguments; returns its exit code and what it printed."""
    return run_anml
