"""Array libraries that train small networks: numpy here, torch in `anml.gradients.backend`."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import numpy as np

from anml.core.checks import Floats
from anml.networks.factors import network_factors
from anml.networks.krum import krum_scores
from anml.networks.mlp import TrainingData, as_data, initialise, losses, predict, train
from anml.networks.threads import limit_threads


@dataclass(frozen=True)
class Backend:
    """The functions of one array library on one device, as in `anml.networks.mlp`, `factors` and `krum`.

    `to_numpy` copies an array of the library to the host in double precision.
    """

    name: str
    as_data: Callable[..., tuple[Any, Any]]
    initialise: Callable[..., Any]
    shared_data: Callable[[Any, Any, Any], Any]
    train: Callable[..., None]
    predict: Callable[[Any, Any], Any]
    losses: Callable[..., Any]
    network_factors: Callable[..., Any]
    krum_scores: Callable[..., Floats]
    limit_threads: Callable[[int], Any]
    to_numpy: Callable[[Any], Floats]


def _in_double_precision(array: Any) -> Floats:
    return np.asarray(array, dtype=np.float64)


NUMPY = Backend(
    "numpy", as_data, initialise, TrainingData.shared, train, predict, losses, network_factors, krum_scores,
    limit_threads, _in_double_precision,
)  # fmt: skip
_CURRENT: ContextVar[Backend] = ContextVar("backend", default=NUMPY)


@contextmanager
def use_backend(backend: Backend) -> Iterator[None]:
    """Train the networks of predictors with this backend inside the block."""
    previous = _CURRENT.set(backend)
    try:
        yield
    finally:
        _CURRENT.reset(previous)


def current_backend() -> Backend:
    """Return the backend of the innermost `use_backend`; numpy outside of it."""
    return _CURRENT.get()
