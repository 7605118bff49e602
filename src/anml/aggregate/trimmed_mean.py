"""Coordinate-wise trimmed mean: Yin, Chen, Kannan and Bartlett, ICML 2018."""

from typing import Any

import numpy as np

from anml.aggregate.updates import Aggregated, as_updates, blocks, check_malicious


def trimmed_mean(updates: Any, malicious: int) -> Aggregated:
    """Of every parameter drop the f lowest and the f highest values, and average the rest.

    A client's score is the share of parameters in which it is not dropped. Its weakness: who lies by a little
    in every parameter is dropped in few of them.
    """
    given = as_updates(updates)
    n, parameters = given.shape
    f = check_malicious(malicious, n, (n - 1) // 2, "the trimmed mean", "2 f < n")
    result = np.empty(parameters, dtype=given.dtype)
    stays = np.zeros(n)
    for block in blocks(given):
        part = np.ascontiguousarray(given[:, block].T)
        ordered = np.sort(part, axis=1)
        result[block] = ordered[:, f : n - f].mean(axis=1)
        inside = (part >= ordered[:, f, None]) & (part <= ordered[:, n - f - 1, None])
        stays += np.count_nonzero(inside, axis=0)
    return Aggregated(result, stays / parameters, stays / stays.sum())
