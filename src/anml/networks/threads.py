"""Threads of the linear algebra of numpy and scipy: one for small tables, all for large products."""

import numpy  # noqa: F401  # its libraries must be loaded before their threads are counted
from threadpoolctl import threadpool_info, threadpool_limits

_POOLS = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
# The number of threads at import: all cores, or as many as OMP_NUM_THREADS allows.
DEFAULT_THREADS = max(_POOLS, default=1)


def limit_threads(count: int) -> threadpool_limits:
    """Use `count` threads inside a `with` block, 0 is as many as allowed; restore the number after it."""
    return threadpool_limits(limits=count or DEFAULT_THREADS, user_api="blas")
