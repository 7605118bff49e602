"""How many threads torch uses: small networks are fastest on one, large products on all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Use `count` threads inside the block (0: all of this process's cores), and put it back after."""
    before = torch.get_num_threads()
    torch.set_num_threads(count or len(os.sched_getaffinity(0)))
    try:
        yield
    finally:
        torch.set_num_threads(before)
