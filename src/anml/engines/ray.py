"""Ray as the engine of an audit: tasks that run the same functions as one process does. Extra `ray`."""

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from anml.core.errors import InputError, UnsupportedError
from anml.core.extras import require_extra
from anml.networks.threads import limit_threads

# A task is tried again so often when its worker dies.
TRIES = 5
# Bytes that Ray may keep for what is passed around.
OBJECTS = 400 * 2**20


@contextmanager
def on_ray(address: str | None = None) -> Iterator[Callable[..., Iterator[Any]]]:
    """Run work over slices here, or on the cluster at an address; results come in the order of the slices."""
    require_extra("ray", "ray", "the engine ray")
    ray: Any = import_module("ray")
    started = not ray.is_initialized()
    if started:
        _connect(ray, address)
    task = ray.remote(max_retries=TRIES, num_cpus=1)(_on_one_thread)
    workers = max(1, int(ray.cluster_resources().get("CPU", 1)))

    def each(work: Any, slices: Sequence[Any], *shared: Any) -> Iterator[Any]:
        kept = [ray.put(one) for one in shared]
        waiting: deque[Any] = deque()
        for part in slices:
            # Results that nobody has asked for yet take room: two for each worker.
            if len(waiting) >= 2 * workers:
                yield _got(ray, waiting.popleft())
            waiting.append(task.remote(work, part, *kept))
        while waiting:
            yield _got(ray, waiting.popleft())

    try:
        yield each
    finally:
        if started:
            ray.shutdown()


def _on_one_thread(work: Any, part: Any, *shared: Any) -> Any:
    with limit_threads(1):
        return work(part, *shared)


def _got(ray: Any, reference: Any) -> Any:
    try:
        return ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        cause = error.cause if error.cause is not None else error
        raise cause from None
    except (ray.exceptions.WorkerCrashedError, ray.exceptions.OutOfMemoryError) as error:
        raise UnsupportedError(
            f"a worker died {TRIES} times over the same rows, most likely for want of memory ({error})"
        ) from None


def _connect(ray: Any, address: str | None) -> None:
    quiet = {"log_to_driver": False, "logging_level": "ERROR", "configure_logging": True}
    environment = {"env_vars": {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}}
    here = {"num_cpus": os.cpu_count(), "object_store_memory": OBJECTS, "include_dashboard": False}
    try:
        ray.init(**(here if address is None else {"address": address}), runtime_env=environment, **quiet)
    except (ConnectionError, ValueError, RuntimeError) as error:
        said = str(error).strip().splitlines()[0]
        where = "here" if address is None else f"at {address!r}"
        raise InputError(f"Ray cannot be reached {where}: {said}") from None
