"""How many threads torch and numpy use: small networks and tables want one, large products all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from threadpoolctl import threadpool_limits

# What torch was told to use when it was loaded: all cores, or as many as OMP_NUM_THREADS allows.
ALLOWED = torch.get_num_threads()


def _in_child() -> None:
    """A forked process has lost the other threads of torch, and would wait for them for ever."""
    global ALLOWED
    ALLOWED = 1
    torch.set_num_threads(1)


os.register_at_fork(after_in_child=_in_child)


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Use `count` threads inside the block (0: as many as this process may), and put it back after."""
    before = torch.get_num_threads()
    torch.set_num_threads(count or ALLOWED)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def one_thread_for_tables() -> threadpool_limits:
    """Products of small tables on one thread: waking a second costs more than it saves."""
    return threadpool_limits(limits=1, user_api="blas")
