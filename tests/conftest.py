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
from pathlib import Path
from typing import NamedTuple

import pytest
import typer.main
from hypothesis import settings

from anml.core.profile import PROFILES
from anml.surfaces import cli

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
collect_ignore = ["adapters/flower_simulation.py"]
settings.register_profile("anml", deadline=None, max_examples=60, derandomize=True)
settings.load_profile("anml")


# Folders whose tests train models and start processes.
LONG = {"docs", "lab", "app", "surfaces"}


# What `make quick` leaves out: folders, modules, and what runs on the second database engine as well.
SLOW_FOLDERS = ("docs", "lab", "federated", "reweight")
SLOW = {
    "test_agreement", "test_scale_audit", "test_attacker", "test_believe", "test_browser", "test_crashes",
    "test_dattri", "test_demo", "test_engine_to_the_end", "test_federate", "test_flower",
    "test_further_attacks",
    "test_fuzz", "test_guarantees", "test_inputs_end_to_end", "test_insiders", "test_lead", "test_media",
    "test_ray", "test_real_files", "test_scale_run", "test_scale_slices", "test_state_machine", "test_table",
    "test_torch_hf", "test_torch_lightning", "test_value", "test_people_stories", "test_differential",
    "test_inputs_cli", "test_vouched_report", "test_torch_reweigh", "test_fit", "test_assess",
    "test_assess_contributors", "test_shapes_places", "test_person", "test_changes_cli", "test_shapes_audit",
}  # fmt: skip
# Of modules that are quick otherwise.
SLOW_TESTS = {
    "test_audit_twice_in_processes_of_their_own",
    "test_demo_finds_the_bad_contributors_and_its_model_predicts",
    "test_every_block_runs_or_says_why_not", "test_the_site_builds_strictly_and_fetches_nothing",
    "test_early_stopped_default_keeps_more", "test_two_rounds_from_list_to_list_with_progress_and_cost",
    "test_credentials_help_where_numbers_alone_say_little", "test_input_that_works_is_counted_and_said",
    "test_is_small_whatever_the_number_of_rows",
}  # fmt: skip
SECOND_ENGINE = "postgresql"


def is_slow(item: pytest.Item) -> bool:
    """Whether `make quick` leaves a test out."""
    params = getattr(item, "callspec", None)
    return (
        item.path.parent.name in SLOW_FOLDERS
        or item.path.stem in SLOW
        or getattr(item, "originalname", "") in SLOW_TESTS
        or (params is not None and SECOND_ENGINE in map(str, params.params.values()))
    )


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long tests first, so that no worker waits for one at the end."""
    for item in items:
        if is_slow(item):
            item.add_marker(pytest.mark.slow)
    items.sort(key=lambda item: LONG.isdisjoint(item.path.parts) and item.path.name != "test_docs.py")


# Modules that look at what is done with a model's results, not at how good the model is.
SHORT_TRAINING = {
    "test_app_audit", "test_app_gold", "test_bad_input", "test_bank_run", "test_browser",
    "test_cli", "test_contributor_value", "test_data_warnings", "test_docs", "test_every_command",
    "test_experiments", "test_inputs", "test_inputs_cli", "test_inputs_end_to_end", "test_items",
    "test_output", "test_progress", "test_python", "test_real_files", "test_recipes",
    "test_relabel_cli", "test_relabel_files", "test_report", "test_scale_run", "test_sklearn_estimators",
    "test_sklearn_fitting", "test_sklearn_given", "test_sklearn_inputs", "test_sklearn_storage", "test_value",
    "test_vouched_report",
}  # fmt: skip


def is_of(request: pytest.FixtureRequest, modules: set[str]) -> bool:
    return request.module.__name__.rpartition(".")[2] in modules


def train_briefly(patch: pytest.MonkeyPatch) -> None:
    """The program as with `--profile quick`, which users have as well: tables of tests are easy, and many."""
    patch.setitem(PROFILES, "default", PROFILES["quick"])


@pytest.fixture(autouse=True, scope="module")
def short_training(request: pytest.FixtureRequest) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        if is_of(request, SHORT_TRAINING):
            train_briefly(patch)
        yield


@pytest.fixture
def trained_briefly(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same for a single test."""
    train_briefly(monkeypatch)


# Modules that look at what is done with beliefs and figures, often of the same table. What makes these is a
# function of its arguments (tests/assess, test_report), so that the same arguments need it once. Tests that
# compare two ask for `made_anew`.
SHARED_RESULTS = {*SHORT_TRAINING, "test_bank", "test_media", "test_real"}
SHARED_RESULTS -= {"test_progress", "test_scale_run"}
# By name, with the number of arguments at the end that are no part of the result: who hears of progress.
PURE = {
    "anml.assess.assess": {"believe_labels": 1, "believe_numbers": 1},
    "anml.surfaces.report": dict.fromkeys(("confusion_figure", "quality_figure"), 0),
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


@pytest.fixture(autouse=True, scope="module")
def shared_results(request: pytest.FixtureRequest) -> Iterator[None]:
    """Beliefs and figures of the same arguments, made once."""
    with pytest.MonkeyPatch.context() as patch:
        if is_of(request, SHARED_RESULTS):
            patch_all(patch, functools.partial(once, made=MADE[is_of(request, SHORT_TRAINING)]))
        yield


@pytest.fixture
def made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """For a test that compares two: nothing is shared."""
    patch_all(monkeypatch, lambda function, _: inspect.unwrap(function))


class Ran(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def run_anml(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """Run `anml` in this process, which is quick; returns its exit code and what it printed."""

    def run(*arguments: object) -> Ran:
        monkeypatch.setattr(sys, "argv", ["anml", *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped:
            cli.main()
        code = stopped.value.code
        out, err = capsys.readouterr()
        return Ran(int(code or 0), out, err)

    return run


@pytest.fixture(scope="session")
def real_data() -> Path:
    """Folder with Adult, Covertype and the multi-contributor sets, named by ANML_DATA."""
    folder = os.environ.get("ANML_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("needs the real data sets: set ANML_DATA to their folder")
    return Path(folder)
