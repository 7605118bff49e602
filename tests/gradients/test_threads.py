"""Threads: as many as asked for inside a block, and as before after it."""

import os
import signal

import pytest
import torch
from threadpoolctl import threadpool_info

from anml.gradients.threads import DEFAULT_THREADS, limit_threads


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_block_has_its_own_number(count):
    before = torch.get_num_threads()
    with limit_threads(count):
        assert torch.get_num_threads() == count
    assert torch.get_num_threads() == before


def test_nought_is_as_many_as_this_process_may():
    with limit_threads(0):
        assert torch.get_num_threads() == DEFAULT_THREADS


def test_blocks_may_lie_inside_each_other():
    with limit_threads(2):
        with limit_threads(1):
            assert torch.get_num_threads() == 1
        assert torch.get_num_threads() == 2


def test_an_error_inside_puts_it_back():
    before = torch.get_num_threads()
    with pytest.raises(RuntimeError), limit_threads(3):
        raise RuntimeError
    assert torch.get_num_threads() == before


def test_the_threads_of_numpy_are_limited_too():
    def blas():
        return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]

    before = blas()
    with limit_threads(1):
        assert set(blas()) <= {1}
    assert blas() == before


def test_a_process_that_is_forked_after_use_does_not_wait_for_threads():
    wide = torch.ones(600, 600)
    with limit_threads(2):
        wide @ wide + wide.exp().sum()
    child = os.fork()
    if not child:
        signal.alarm(20)
        with limit_threads(0):
            wide @ wide + wide.exp().sum()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
