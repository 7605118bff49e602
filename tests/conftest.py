"""Shared by all tests: one thread per process, short training where it does, and the folder of real data."""

import functools
import importlib
import inspect
import os
import pickle
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import typer.main
from hypothesis import settings

from anml.cli import main as cli
from anml.core.profile import PROFILES
from anml.ledger.cli import main as ledger_cli
from anml.weighting.weigh import RECIPES
from terminal import Program, program

# Before anything heavy is loaded, which those who only deal out the tests never do.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Keys of people lie in a folder of the tests, never in the home of whoever runs them.
os.environ["ANML_STAFF_KEYS"] = tempfile.mkdtemp(prefix="anml-staff-")
os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp(prefix="anml-state-")
# A ledger waits for the disk at every commit, as it should; of tests memory is the disk, where it is enough.
IN_MEMORY, ENOUGH_BYTES = Path("/dev/shm"), 4 << 30
if os.access(IN_MEMORY, os.W_OK) and shutil.disk_usage(IN_MEMORY).free > ENOUGH_BYTES:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(IN_MEMORY))
# Tests start hundreds of processes, and each would compile the package again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
# All commands are built from their signatures at every call in a process, which takes longer than most of
# them take to run: here once is enough.
typer.main.get_command = functools.cache(typer.main.get_command)
# A program that a test starts, not a module of tests.
collect_ignore = ["federated/flower_simulation.py"]
settings.register_profile("anml", deadline=None, max_examples=60, derandomize=True)
settings.load_profile("anml")


# Folders whose tests train models and start processes.
LONG = {"docs", "experiments", "system", "cli", "pipeline", "engines", "review"}
SECOND_ENGINE = "postgresql"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long tests first, so that no worker waits for one at the end; the second database engine is slow."""
    for item in items:
        params = getattr(item, "callspec", None)
        if params is not None and SECOND_ENGINE in map(str, params.params.values()):
            item.add_marker(pytest.mark.slow)
    items.sort(key=lambda item: LONG.isdisjoint(item.path.parts) and item.path.name != "test_docs.py")


def train_briefly(patch: pytest.MonkeyPatch) -> None:
    """The program as with `--profile quick`, which users have as well: tables of tests are easy, and many."""
    patch.setitem(PROFILES, "default", PROFILES["quick"])
    for name, recipe in RECIPES.items():
        patch.setitem(RECIPES, name, replace(recipe, profile=PROFILES["quick"]))


@pytest.fixture(scope="module")
def short_training() -> Iterator[None]:
    """Short training for a module that tests the use of a model's results, not the quality of the model."""
    with pytest.MonkeyPatch.context() as patch:
        train_briefly(patch)
        yield


@pytest.fixture
def trained_briefly(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same for a single test."""
    train_briefly(monkeypatch)


# By name, with the number of arguments at the end that are no part of the result: who hears of progress.
PURE = {
    "anml.assessment.assess": {"estimate_labels": 1, "estimate_values": 1},
    "anml.report.html": dict.fromkeys(("confusion_figure", "accuracy_figure"), 0),
}
# What short training made, and what whole training made.
MADE: dict[bool, dict[bytes, bytes]] = {True: {}, False: {}}


def once(function: Callable[..., object], besides: int, made: dict[bytes, bytes]) -> Callable[..., object]:
    """Keep what a function makes of every list of arguments; everybody gets a copy."""

    @functools.wraps(function)
    def kept(*arguments: object) -> object:
        key = pickle.dumps((function.__name__, arguments[: len(arguments) - besides]))
        if key not in made:
            made[key] = pickle.dumps(function(*arguments))
        return pickle.loads(made[key])

    return kept


def patch_all(patch: pytest.MonkeyPatch, change: Callable[[Callable[..., object], int], object]) -> None:
    for place, functions in PURE.items():
        module = importlib.import_module(place)
        for name, besides in functions.items():
            patch.setattr(module, name, change(getattr(module, name), besides))


@pytest.fixture(scope="module")
def shared_results(request: pytest.FixtureRequest) -> Iterator[None]:
    """Estimates and figures of equal arguments are made once, for modules that test their use.

    They are functions of their arguments; a test that compares two of them asks for `made_anew`.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch_all(patch, functools.partial(once, made=MADE["short_training" in request.fixturenames]))
        yield


@pytest.fixture
def made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """For a test that compares two: nothing is shared."""
    patch_all(monkeypatch, lambda function, _: inspect.unwrap(function))


@pytest.fixture
def run_anml(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Program:
    """Run `anml` in this process, which is quick."""
    return program("anml", cli.main, monkeypatch, capsys)


@pytest.fixture
def run_ledger(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Program:
    """Run `anml-ledger` in this process."""
    return program("anml-ledger", ledger_cli.main, monkeypatch, capsys)


@pytest.fixture(scope="session")
def real_data() -> Path:
    """Folder with Adult, Covertype and the multi-contributor sets, named by ANML_DATA."""
    folder = os.environ.get("ANML_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("needs the real data sets: set ANML_DATA to their folder")
    return Path(folder)
