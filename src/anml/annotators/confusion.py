"""Confusion matrices of contributors, from labels and the class posterior of each row."""

import numpy as np

from anml.annotators.params import CELL_PSEUDO_COUNT, default_confusion
from anml.core.checks import Floats, Ints


def confusion_matrices(truth: Floats, y: Ints, who: Ints) -> Floats:
    """Estimate P(label | true class) of each contributor: [contributor, true class, label].

    Labels are counted by the class posterior `truth` of their rows. A row of a matrix is shrunk towards the
    same row of all contributors together, which counts as `CELL_PSEUDO_COUNT` labels.

    Examples
    --------
    >>> truth, who = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]), np.array([0, 0, 1])
    >>> confusion_matrices(truth, np.array([0, 1, 1]), who)[0, 0]
    array([0.5625, 0.4375])
    """
    classes, count = truth.shape[1], int(who.max()) + 1
    given = [np.bincount(who * classes + y, p, count * classes).reshape(count, classes) for p in truth.T]
    counts = np.stack(given, axis=1)
    pooled = counts.sum(axis=0) + CELL_PSEUDO_COUNT * default_confusion(classes)
    shrunk = counts + CELL_PSEUDO_COUNT * pooled / pooled.sum(axis=1, keepdims=True)
    return np.asarray(shrunk / shrunk.sum(axis=2, keepdims=True))
