"""Cross-fitting: folds of samples, and held-out predictions of each fold."""

from collections.abc import Callable
from typing import Any

import numpy as np

from anml.core.checks import Floats, Ints


def assign_folds(
    labels: np.ndarray[Any, Any] | None, groups: np.ndarray[Any, Any] | None, k: int, rng: np.random.Generator
) -> Ints:
    """Deal samples to k folds, class by class in random order, and return the fold of each.

    Samples of one group (labels of the same item) go to one fold, and count for the class of the first.
    """
    if groups is not None:
        _, first, codes = np.unique(groups, return_index=True, return_inverse=True)
        inner = None if labels is None else labels[first]
        return _stratified_assignment(inner, len(first), k, rng)[codes]
    assert labels is not None
    return _stratified_assignment(labels, len(labels), k, rng)


def _stratified_assignment(
    labels: np.ndarray[Any, Any] | None, n: int, k: int, rng: np.random.Generator
) -> Ints:
    random = rng.permutation(n)
    order = random if labels is None else random[np.argsort(labels[random], kind="stable")]
    folds = np.empty(n, dtype=np.int64)
    folds[order] = np.arange(n) % k
    return folds


def cross_fit_predictions(
    fold: Ints,
    predict: Callable[[Ints, Ints, int], Any],
    outputs: tuple[int, ...] = (),
    learned: Ints | None = None,
) -> Floats:
    """Compute held-out predictions by cross-fitting: `said(learn, asked, fold)` is called for each fold.

    Rows of fold -1 belong to no fold and get the mean prediction of all models. Models are trained on the
    rows `learned` (None: all rows). `outputs` is the shape of the prediction of one row.

    Examples
    --------
    >>> y = np.array([1.0, 2.0, 6.0, 8.0])
    >>> folds = np.array([0, 0, 1, -1])
    >>> cross_fit_predictions(folds, lambda learn, asked, _: y[learn].mean(), learned=np.arange(3))
    array([6.  , 6.  , 1.5 , 3.75])
    """
    out, count = np.zeros((len(fold), *outputs)), int(fold.max()) + 1
    learned = np.arange(len(fold)) if learned is None else learned
    for each in range(count):
        asked = np.flatnonzero((fold == each) | (fold < 0))
        if len(asked):
            out[asked] += predict(learned[fold[learned] != each], asked, each)
    out[fold < 0] /= count
    return out
