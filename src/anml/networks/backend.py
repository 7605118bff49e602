"""Array libraries that train small networks: numpy here, torch in `anml.gradients.backend`."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from anml.core.checks import Floats
from anml.networks.mlp import as_data, initialise
from anml.networks.sample_krum import krum_scores
from anml.networks.threads import limit_threads


@dataclass(frozen=True)
class Backend:
    """The functions of one array library on one device that make its arrays, or are special to it."""

    name: str
    as_data: Callable[..., tuple[Any, Any]]
    initialise: Callable[..., Any]
    krum_scores: Callable[..., Floats]
    limit_threads: Callable[[int], Any]


NUMPY = Backend("numpy", as_data, initialise, krum_scores, limit_threads)
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
