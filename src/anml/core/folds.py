"""Split samples into folds: stratified by class, and never one item in two folds."""

from typing import Any

import numpy as np

from anml.core.checks import Ints


def assign_folds(
    labels: np.ndarray[Any, Any] | None, groups: np.ndarray[Any, Any] | None, k: int, rng: np.random.Generator
) -> Ints:
    """Deal samples to k folds, class by class in random order, and return the fold of each.

    Samples of one group (labels of the same item) go to one fold, and count for the class of the first.
    """
    if groups is not None:
        _, first, codes = np.unique(groups, return_index=True, return_inverse=True)
        inner = None if labels is None else labels[first]
        return _deal(inner, len(first), k, rng)[codes]
    assert labels is not None
    return _deal(labels, len(labels), k, rng)


def _deal(labels: np.ndarray[Any, Any] | None, n: int, k: int, rng: np.random.Generator) -> Ints:
    random = rng.permutation(n)
    order = random if labels is None else random[np.argsort(labels[random], kind="stable")]
    folds = np.empty(n, dtype=np.int64)
    folds[order] = np.arange(n) % k
    return folds
