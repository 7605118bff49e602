"""Coordinate-wise median and trimmed mean: Yin, Chen, Kannan and Bartlett, ICML 2018."""

from typing import Any

import numpy as np

from anml.federated.updates import Aggregated, as_updates, check_malicious, column_blocks


def median(updates: Any) -> Aggregated:
    """Take the median of every parameter on its own.

    A client's score is minus its distance to the result, its weight the share of parameters in which it is
    the median (or one of the two in the middle). Its weakness: what most clients leave at zero is zero in the
    result, so clients whose data differ lose what only they know.
    """
    given = as_updates(updates)
    n, parameters = given.shape
    result = np.empty(parameters, dtype=given.dtype)
    apart, middle = np.zeros(n), np.zeros(n)
    for block in column_blocks(given):
        part = np.ascontiguousarray(given[:, block].T)
        ordered = np.sort(part, axis=1)
        low, high = ordered[:, (n - 1) // 2], ordered[:, n // 2]
        # Halved first: the sum of two large values may not be finite.
        result[block] = low if n % 2 else low / 2 + high / 2
        off = part - result[block, None]
        apart += np.einsum("ij,ij->j", off, off)
        middle += np.count_nonzero((part >= low[:, None]) & (part <= high[:, None]), axis=0)
    return Aggregated(result, -np.sqrt(apart), middle / middle.sum())


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
    for block in column_blocks(given):
        part = np.ascontiguousarray(given[:, block].T)
        ordered = np.sort(part, axis=1)
        result[block] = ordered[:, f : n - f].mean(axis=1)
        inside = (part >= ordered[:, f, None]) & (part <= ordered[:, n - f - 1, None])
        stays += np.count_nonzero(inside, axis=0)
    return Aggregated(result, stays / parameters, stays / stays.sum())
