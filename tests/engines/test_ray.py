"""Ray as an engine: order, errors and what is let go, against a stand-in that runs at once."""

import sys
from functools import partial
from types import SimpleNamespace

import pytest

from anml.core.errors import InputError, UnsupportedError
from anml.engines.ray import TRIES, on_ray

pytestmark = pytest.mark.slow


class TaskError(Exception):
    def __init__(self, cause):
        super().__init__("failed")
        self.cause = cause


class WorkerError(Exception):
    pass


def stand_in(initialised=False, fails=None):
    """The part of Ray that the engine uses; `fails` is raised when Ray is started."""
    log = {"shut": 0, "started": [], "waiting": 0, "most": 0}

    def init(**settings):
        if fails is not None:
            raise fails
        log["started"].append(settings)

    def get(reference):
        log["waiting"] -= 1
        try:
            return reference()
        except (WorkerError, InputError):
            raise
        except Exception as error:
            raise TaskError(error) from error

    def remote(**settings):
        log["settings"] = settings

        def submitted(function, *given):
            log["waiting"] += 1
            log["most"] = max(log["most"], log["waiting"])
            return lambda: function(*given)

        return lambda function: SimpleNamespace(remote=partial(submitted, function))

    errors = {"RayTaskError": TaskError, "WorkerCrashedError": WorkerError, "OutOfMemoryError": WorkerError}
    module = SimpleNamespace(
        is_initialized=lambda: initialised, init=init, get=get, put=lambda shared: shared, remote=remote,
        cluster_resources=lambda: {"CPU": 3.0}, shutdown=lambda: log.update(shut=log["shut"] + 1),
        exceptions=SimpleNamespace(**errors),
    )  # fmt: skip
    return module, log


@pytest.fixture
def ray(monkeypatch):
    module, log = stand_in()
    monkeypatch.setitem(sys.modules, "ray", module)
    return log


def results(work, slices, shared=None):
    with on_ray() as engine:
        return list(engine(work, slices, shared))


def test_results_come_in_the_order_of_the_slices(ray):
    assert results(lambda part, shared: part * shared, range(9), 10) == [10 * at for at in range(9)]
    assert ray["settings"] == {"max_retries": TRIES, "num_cpus": 1}


def test_no_worker_has_more_than_two_slices_waiting(ray):
    results(lambda part, shared: part, range(50))
    assert ray["most"] == 6


def test_an_error_of_the_work_is_the_one_that_is_raised(ray):
    def work(part, shared):
        raise ZeroDivisionError("by zero")

    with pytest.raises(ZeroDivisionError, match="by zero"):
        results(work, [1])
    assert ray["shut"] == 1


def test_a_worker_that_dies_again_and_again_is_said(ray):
    def work(part, shared):
        raise WorkerError("killed")

    with pytest.raises(UnsupportedError, match=f"a worker died {TRIES} times over the same rows"):
        results(work, [1])


@pytest.mark.parametrize("initialised", [True, False])
def test_ray_is_shut_down_only_where_it_was_started_here(initialised, monkeypatch):
    module, log = stand_in(initialised)
    monkeypatch.setitem(sys.modules, "ray", module)
    results(lambda part, shared: part, [1])
    assert log["shut"] == (0 if initialised else 1)
    assert len(log["started"]) == (0 if initialised else 1)


def test_an_address_is_passed_on(ray):
    with on_ray("ray://cluster:10001"):
        pass
    assert ray["started"][0]["address"] == "ray://cluster:10001"


@pytest.mark.parametrize(("address", "where"), [(None, "here"), ("auto", "at 'auto'")])
def test_a_cluster_that_is_not_there_is_one_sentence(address, where, monkeypatch):
    module, _ = stand_in(fails=ConnectionError("no route\nand a long story"))
    monkeypatch.setitem(sys.modules, "ray", module)
    with pytest.raises(InputError, match=rf"Ray cannot be reached {where}: no route$"), on_ray(address):
        pass


def test_without_ray_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UnsupportedError, match=r"pip install 'attribution-native-ml\[ray\]'"), on_ray():
        pass
