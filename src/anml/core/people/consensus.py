"""One label for each item that has several: what all of its labels say together."""

import numpy as np
from scipy import special

from anml.core.checks import Floats, Ints

# The least a probability counts as: one row that is sure does not silence all others.
LEAST = 1e-12

# Below this probability the label of an item is unclear.
CLEAR = 0.9


def join_posteriors(truth: Floats, items: Ints) -> Floats:
    """Posterior of each item, from the posteriors of its rows: their mean, in logarithms.

    Every row's posterior has all labels of the item in it already; the rows differ by how far their own
    contributor is trusted, and the mean takes that out.

    Examples
    --------
    >>> join_posteriors(np.array([[0.9, 0.1], [0.9, 0.1], [0.2, 0.8]]), np.array([0, 0, 1])).round(2)
    array([[0.9, 0.1],
           [0.2, 0.8]])
    """
    logs = np.log(np.maximum(truth, LEAST))
    total = np.zeros((int(items.max()) + 1, truth.shape[1]))
    np.add.at(total, items, logs)
    return np.asarray(special.softmax(total / np.bincount(items)[:, None], axis=1))


def equal_voices(y: Ints, items: Ints, classes: int, p_correct: float) -> Floats:
    """Posterior of each item where every label is right with the same probability.

    The likeliest class is the one most labels name. For where nothing tells contributors apart.

    Examples
    --------
    >>> equal_voices(np.array([0, 0, 1]), np.array([0, 0, 0]), 2, 0.75).round(2)
    array([[0.75, 0.25]])
    """
    votes = np.zeros((int(items.max()) + 1, classes))
    np.add.at(votes, (items, y), 1.0)
    p = float(np.clip(p_correct, LEAST, 1 - LEAST))
    # No label speaks against what it says: at worst it says nothing.
    worth = max(np.log(p) - np.log((1 - p) / max(classes - 1, 1)), 0.0)
    return np.asarray(special.softmax(votes * worth, axis=1))


def join_numbers(mean: Floats, deviation: Floats, items: Ints) -> tuple[Floats, Floats]:
    """Number of each item, by the precision of its rows, and its deviation.

    Examples
    --------
    >>> join_numbers(np.array([1.0, 4.0]), np.array([1.0, 2.0]), np.array([0, 0]))[0]
    array([1.6])
    """
    precision = 1 / np.square(np.maximum(deviation, LEAST))
    total = np.bincount(items, precision)
    # The rows of an item say the same in other words: precisions are averaged, not added.
    return np.bincount(items, precision * mean) / total, np.sqrt(np.bincount(items) / total)


def given_right(truth: Floats, y: Ints, p_correct: Floats) -> Floats:
    """Posterior of the classes that agrees with the probability that the label is right.

    Examples
    --------
    >>> given_right(np.array([[0.8, 0.15, 0.05]]), np.array([0]), np.array([0.2])).round(2)
    array([[0.2, 0.6, 0.2]])
    """
    found = np.maximum(truth, LEAST)
    rows = np.arange(len(y))
    found[rows, y] = 0.0
    found *= ((1 - p_correct) / found.sum(axis=1))[:, None]
    found[rows, y] = p_correct
    return found
