"""Progress: quick runs say nothing, long ones say how far they are; a bar only where one can be drawn."""

import io
import logging
import sys

import pytest

import anml
from anml.core.errors import InputError
from anml.report import progress as module
from anml.report.progress import progress_shown
from made_up import consortium

pytestmark = pytest.mark.usefixtures("short_training")


class Clock:
    """Time that passes only when told to."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def message(monkeypatch, capsys):
    """Return the text written to an error stream that is no terminal, without configured logging."""
    monkeypatch.setattr(module, "LOGGER", logging.Logger("anml"))
    return lambda: capsys.readouterr().err


def run(clock, seconds, **options):
    """Report a step after each of these moments."""
    with progress_shown(clock=clock, **options) as report:
        for at, moment in enumerate(seconds):
            clock.now = moment
            if report is not None:
                report("early stopping", at, len(seconds))


def test_what_is_quick_says_nothing(message):
    run(Clock(), [0, 1, 1.9])
    assert message() == ""


def test_lines_come_after_a_while_and_at_most_every_ten_seconds(message):
    run(Clock(), [0, 1, 3, 5, 12, 13.5, 14, 40])
    assert message().splitlines() == [
        "anml: early stopping, 2 of 8, after 3 s",
        "anml: early stopping, 5 of 8, after 14 s",
        "anml: early stopping, 7 of 8, after 40 s",
    ]
    assert module.LOGGER.handlers == []
    assert module.LOGGER.level == logging.NOTSET


def test_true_shows_at_once_and_false_never(message):
    run(Clock(), [0, 100], wanted=False)
    assert message() == ""
    run(Clock(), [0, 1], wanted=True)
    assert message() == "anml: early stopping, 0 of 2, after 0 s\n"


def test_who_has_set_up_logging_gets_records(caplog, capsys):
    with caplog.at_level(logging.INFO, "anml"):
        run(Clock(), [0, 3])
    assert [(r.name, r.levelname) for r in caplog.records] == [("anml", "INFO")]
    assert capsys.readouterr().err == ""


def test_a_bar_on_a_terminal(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    run(Clock(), [0, 1])
    assert screen.getvalue() == ""
    run(Clock(), [0, 1], bar_after=0.0)
    assert "early stopping" in screen.getvalue()


def test_a_function_hears_every_step():
    heard = []
    anml.audit(consortium(60), evaluate=False, progress=lambda what, done, total: heard.append(what))
    assert "round 1" in heard


@pytest.mark.parametrize("wrong", ["yes", 3, []])
def test_anything_else_is_refused(wrong):
    with pytest.raises(InputError, match="progress must be true, false, None or a function of"):
        anml.audit(consortium(60), evaluate=False, progress=wrong)
