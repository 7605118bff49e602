"""Ray as the engine of an audit: a pool of actors over the same functions that run locally. Extra `ray`."""

import os
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

from anml.core.errors import InputError, UnsupportedError

# A task is tried so often when its worker dies.
TRIES = 5
# Bytes that Ray may keep for what is passed around.
OBJECTS = 400 * 2**20


class RayEngine:
    """Workers on this machine, or on the cluster at an address; results come in the order of the slices."""

    def __init__(self, address: str | None = None, workers: int | None = None) -> None:
        try:
            import ray
        except ModuleNotFoundError:
            raise UnsupportedError(
                "the engine ray needs the package ray: pip install 'attribution-native-ml[ray]'"
            ) from None
        self.ray: Any = ray
        self.started = not ray.is_initialized()
        if self.started:
            _connect(ray, address)
        count = workers or max(1, int(self.ray.cluster_resources().get("CPU", 1)))
        worker = self.ray.remote(max_restarts=-1, max_task_retries=TRIES, num_cpus=1)(_Worker)
        self.pool: list[Any] = [worker.remote() for _ in range(count)]

    def map(self, work: Any, slices: Sequence[Any], shared: Any) -> Iterator[Any]:
        """Results, in order; no worker has more than two slices waiting."""
        kept = self.ray.put(shared)
        waiting: deque[Any] = deque()
        for at, part in enumerate(slices):
            if len(waiting) >= 2 * len(self.pool):
                yield self._got(waiting.popleft())
            waiting.append(self.pool[at % len(self.pool)].run.remote(work, part, kept))
        while waiting:
            yield self._got(waiting.popleft())

    def _got(self, reference: Any) -> Any:
        try:
            return self.ray.get(reference)
        except self.ray.exceptions.RayTaskError as error:
            cause = error.cause if error.cause is not None else error
            raise cause from None
        except self.ray.exceptions.RayActorError as error:
            raise UnsupportedError(
                f"a worker died {TRIES} times over the same rows, most likely for want of memory ({error})"
            ) from None

    def close(self) -> None:
        """Let the workers go, and Ray where it was started here."""
        for worker in self.pool:
            self.ray.kill(worker)
        if self.started:
            self.ray.shutdown()


class _Worker:
    """Runs functions over slices, on one thread."""

    def __init__(self) -> None:
        import torch

        torch.set_num_threads(1)

    def run(self, work: Any, part: Any, shared: Any) -> Any:
        return work(part, shared)

    def pid(self) -> int:
        """Its process."""
        return os.getpid()


def _connect(ray: Any, address: str | None) -> None:
    quiet = {"log_to_driver": False, "logging_level": "ERROR", "configure_logging": True}
    environment = {"env_vars": {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}}
    try:
        if address is None:
            ray.init(
                num_cpus=os.cpu_count(), object_store_memory=OBJECTS, include_dashboard=False,
                runtime_env=environment, **quiet,
            )  # fmt: skip
        else:
            ray.init(address=address, runtime_env=environment, **quiet)
    except (ConnectionError, ValueError, RuntimeError) as error:
        said = str(error).strip().splitlines()[0]
        where = "here" if address is None else f"at {address!r}"
        raise InputError(f"Ray cannot be reached {where}: {said}") from None
