"""Ray as an engine: order, errors and what is let go, against a stand-in that runs at once."""

import sys
from types import SimpleNamespace

import pytest

from anml.adapters.ray import TRIES, RayEngine
from anml.core.errors import InputError, UnsupportedError


class TaskError(Exception):
    def __init__(self, cause):
        super().__init__("failed")
        self.cause = cause


class ActorError(Exception):
    pass


class Method:
    def __init__(self, worker, log):
        self.worker, self.log = worker, log

    def remote(self, work, part, shared):
        self.log["waiting"] += 1
        self.log["most"] = max(self.log["most"], self.log["waiting"])
        return lambda: work(part, shared)


def stand_in(initialised=False, fails=None):
    """The part of Ray that the engine uses; `fails` is raised when Ray is started."""
    log = {"killed": 0, "shut": 0, "started": [], "waiting": 0, "most": 0}

    def init(**settings):
        if fails is not None:
            raise fails
        log["started"].append(settings)

    def get(reference):
        log["waiting"] -= 1
        try:
            return reference()
        except (ActorError, InputError):
            raise
        except Exception as error:
            raise TaskError(error) from error

    def remote(**settings):
        log["settings"] = settings
        return lambda kind: SimpleNamespace(remote=lambda: SimpleNamespace(run=Method(kind, log)))

    module = SimpleNamespace(
        is_initialized=lambda: initialised, init=init, get=get, put=lambda shared: shared, remote=remote,
        cluster_resources=lambda: {"CPU": 3.0}, kill=lambda worker: log.update(killed=log["killed"] + 1),
        shutdown=lambda: log.update(shut=log["shut"] + 1),
        exceptions=SimpleNamespace(RayTaskError=TaskError, RayActorError=ActorError),
    )  # fmt: skip
    return module, log


@pytest.fixture
def ray(monkeypatch):
    module, log = stand_in()
    monkeypatch.setitem(sys.modules, "ray", module)
    return log


def test_results_come_in_the_order_of_the_slices(ray):
    found = list(RayEngine(workers=2).map(lambda part, shared: part * shared, range(7), 10))
    assert found == [0, 10, 20, 30, 40, 50, 60]


def test_no_worker_has_more_than_two_slices_waiting(ray):
    list(RayEngine(workers=2).map(lambda part, shared: part, range(50), None))
    assert ray["most"] <= 4


def test_a_worker_for_every_processor_unless_it_is_said(ray):
    assert len(RayEngine().pool) == 3
    assert len(RayEngine(workers=5).pool) == 5
    assert ray["settings"]["max_task_retries"] == TRIES


def test_an_error_of_the_work_is_the_one_that_is_raised(ray):
    def work(part, shared):
        raise ZeroDivisionError("by zero")

    with pytest.raises(ZeroDivisionError, match="by zero"):
        list(RayEngine(workers=1).map(work, [1], None))


def test_a_worker_that_dies_again_and_again_is_said(ray):
    def work(part, shared):
        raise ActorError("killed")

    with pytest.raises(UnsupportedError, match=f"a worker died {TRIES} times over the same rows"):
        list(RayEngine(workers=1).map(work, [1], None))


@pytest.mark.parametrize("initialised", [True, False])
def test_ray_is_shut_down_only_where_it_was_started_here(initialised, monkeypatch):
    module, log = stand_in(initialised)
    monkeypatch.setitem(sys.modules, "ray", module)
    engine = RayEngine(workers=4)
    engine.close()
    assert log["killed"] == 4
    assert log["shut"] == (0 if initialised else 1)
    assert len(log["started"]) == (0 if initialised else 1)


def test_an_address_is_passed_on(ray):
    RayEngine("ray://cluster:10001", workers=1)
    assert ray["started"][0]["address"] == "ray://cluster:10001"


@pytest.mark.parametrize(("address", "where"), [(None, "here"), ("auto", "at 'auto'")])
def test_a_cluster_that_is_not_there_is_one_sentence(address, where, monkeypatch):
    module, _ = stand_in(fails=ConnectionError("no route\nand a long story"))
    monkeypatch.setitem(sys.modules, "ray", module)
    with pytest.raises(InputError, match=rf"Ray cannot be reached {where}: no route$"):
        RayEngine(address)


def test_without_ray_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UnsupportedError, match=r"pip install 'attribution-native-ml\[ray\]'"):
        RayEngine()
