"""Threads of linear algebra: as many as asked for inside a block, and as before after it."""

import pytest
from threadpoolctl import threadpool_info

from anml.networks.threads import DEFAULT_THREADS, limit_threads


def blas():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


def test_a_block_has_its_own_number():
    before = blas()
    with limit_threads(1):
        assert set(blas()) <= {1}
    assert blas() == before


def test_nought_is_as_many_as_allowed():
    with limit_threads(1), limit_threads(0):
        assert set(blas()) <= {DEFAULT_THREADS}


def test_an_error_inside_restores_the_number():
    before = blas()
    with pytest.raises(RuntimeError), limit_threads(1):
        raise RuntimeError
    assert blas() == before
