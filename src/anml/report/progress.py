"""Progress of a run: a bar on a terminal, log lines elsewhere, nothing for short runs."""

import logging
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from anml.core.errors import InputError
from anml.core.progress import Progress as Report

LOGGER = logging.getLogger("anml")
# Seconds before progress is shown, and between two lines.
BAR_DELAY_S = 2.0
LOG_INTERVAL_S = 10.0

Clock = Callable[[], float]


@contextmanager
def progress_shown(
    wanted: bool | Report | None = None,
    *,
    bar_after: float = BAR_DELAY_S,
    lines_after: float = BAR_DELAY_S,
    clock: Clock = time.monotonic,
) -> Iterator[Report | None]:
    """Provide the progress callback; `wanted` is None (long runs only), a boolean or a function."""
    if wanted is not None and not isinstance(wanted, bool):
        if not callable(wanted):
            why = "progress must be true, false, None or a function of (step, done, total)"
            raise InputError(f"{why}, got {wanted!r}")
        yield wanted
    elif wanted is False:
        yield None
    # A bar needs a terminal, or a notebook with widgets.
    elif find_spec("ipywidgets") if Console(stderr=True).is_jupyter else sys.stderr.isatty():
        with _bar(0.0 if wanted else bar_after, clock) as report:
            yield report
    else:
        with _ensure_handler(bool(wanted)):
            yield _lines(0.0 if wanted else lines_after, clock)


@contextmanager
def _bar(after: float, clock: Clock) -> Iterator[Report]:
    columns = (TextColumn("{task.description:<28}"), BarColumn(), TimeRemainingColumn())
    bars = Progress(*columns, console=Console(stderr=True), transient=True)
    tasks: dict[str, TaskID] = {}
    start = clock()

    def report(what: str, done: int, total: int) -> None:
        if clock() - start < after:
            return
        bars.start()
        if what not in tasks:
            tasks[what] = bars.add_task(what, total=total)
        bars.update(tasks[what], completed=done)

    try:
        yield report
    finally:
        bars.stop()


def _lines(after: float, clock: Clock) -> Report:
    start = clock()
    due = after

    def report(what: str, done: int, total: int) -> None:
        nonlocal due
        if (passed := clock() - start) >= due:
            due = passed + LOG_INTERVAL_S
            LOGGER.info("anml: %s, %d of %d, after %.0f s", what, done, total, passed)

    return report


@contextmanager
def _ensure_handler(surely: bool) -> Iterator[None]:
    """Log to stderr if the program has not configured logging."""
    level, handler = LOGGER.level, None
    if not LOGGER.hasHandlers():
        handler = logging.StreamHandler()
        LOGGER.addHandler(handler)
    if surely or handler is not None:
        LOGGER.setLevel(logging.INFO)
    try:
        yield
    finally:
        LOGGER.setLevel(level)
        if handler is not None:
            LOGGER.removeHandler(handler)
