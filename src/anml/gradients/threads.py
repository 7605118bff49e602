"""Threads of torch and of the linear algebra of numpy: one for small networks, all for large products."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from anml.networks import threads

# The number of threads at import: all cores, or as many as OMP_NUM_THREADS allows.
DEFAULT_THREADS = torch.get_num_threads()


def _in_child() -> None:
    """Use one thread in a forked process: the other threads of torch are lost there, and never answer."""
    global DEFAULT_THREADS
    DEFAULT_THREADS = 1
    torch.set_num_threads(1)


os.register_at_fork(after_in_child=_in_child)


@contextmanager
def limit_threads(count: int) -> Iterator[None]:
    """Use `count` threads inside the block (0: as many as allowed); restore the former number after it."""
    before = torch.get_num_threads()
    torch.set_num_threads(count or DEFAULT_THREADS)
    try:
        with threads.limit_threads(count):
            yield
    finally:
        torch.set_num_threads(before)
