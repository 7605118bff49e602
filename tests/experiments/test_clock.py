"""Times of steps: nothing where nothing is timed, means where something is."""

import numpy as np
import pytest

from experiments import trial as clock
from experiments.trial import Clock

pytestmark = pytest.mark.slow


@pytest.fixture
def ticks(monkeypatch):
    """A clock in which every look at the time is a second later than the last."""
    seconds = iter(range(1_000))
    monkeypatch.setattr(clock.time, "perf_counter", lambda: float(next(seconds)))


def test_a_clock_that_is_off_does_the_work_and_nothing_else():
    timer = Clock()
    assert timer("train_s", lambda: 7, "job") == 7
    assert timer.of("job") == {}
    assert timer.spent == {}


def test_steps_are_means_and_the_training_is_the_jobs_own(ticks):
    timer = Clock(on=True)
    for job in ("a", "b"):
        assert timer("train_s", lambda: "done", job) == "done"
    timer("train_s", lambda: clock.time.perf_counter(), "c")
    # One second, one second, and one of two: a look at the time within it takes another.
    result = timer.of("c")
    assert result == {"train_s": 2.0}
    assert np.mean(timer.spent["train_s"]) == pytest.approx(4 / 3)


def test_short_steps_are_in_milliseconds(ticks):
    timer = Clock(on=True)
    timer("combine_ms", lambda: None)
    timer("train_s", lambda: None, "job")
    assert timer.of("job") == {"combine_ms": 1000.0, "train_s": 1.0}


def test_work_that_fails_is_not_timed(ticks):
    timer = Clock(on=True)
    with pytest.raises(ZeroDivisionError):
        timer("train_s", lambda: 1 / 0)
    assert timer.spent == {}
