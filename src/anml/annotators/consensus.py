"""One label for each item that has several: what all of its labels say together."""

import numpy as np

from anml.core.checks import Bools, Floats, Ints

# The least a probability counts as: one row that is sure does not silence all others.
MIN_PROBABILITY = 1e-12

# Below this probability the label of an item is unclear.
CLEAR_PROBABILITY = 0.9


def _softmax(logits: Floats) -> Floats:
    """Softmax of each row; scipy is imported on first use, since the command line imports this module."""
    from scipy import special

    return np.asarray(special.softmax(logits, axis=1))


def pool_posteriors_by_item(truth: Floats, items: Ints) -> Floats:
    """Posterior of each item, from the posteriors of its rows: their mean, in logarithms.

    Every row's posterior has all labels of the item in it already; the rows differ by how far their own
    contributor is trusted, and the mean takes that out.

    Examples
    --------
    >>> pool_posteriors_by_item(np.array([[0.9, 0.1], [0.9, 0.1], [0.2, 0.8]]), np.array([0, 0, 1])).round(2)
    array([[0.9, 0.1],
           [0.2, 0.8]])
    """
    logs = np.log(np.maximum(truth, MIN_PROBABILITY))
    total = np.zeros((int(items.max()) + 1, truth.shape[1]))
    np.add.at(total, items, logs)
    return _softmax(total / np.bincount(items)[:, None])


def unweighted_posterior(y: Ints, items: Ints, classes: int, p_correct: float) -> Floats:
    """Posterior of each item where every label is right with the same probability.

    The likeliest class is the one most labels name. For where nothing tells contributors apart.

    Examples
    --------
    >>> unweighted_posterior(np.array([0, 0, 1]), np.array([0, 0, 0]), 2, 0.75).round(2)
    array([[0.75, 0.25]])
    """
    votes = np.zeros((int(items.max()) + 1, classes))
    np.add.at(votes, (items, y), 1.0)
    p = float(np.clip(p_correct, MIN_PROBABILITY, 1 - MIN_PROBABILITY))
    # No label speaks against what it says: at worst it says nothing.
    worth = max(np.log(p) - np.log((1 - p) / max(classes - 1, 1)), 0.0)
    return _softmax(votes * worth)


def pool_values_by_item(mean: Floats, deviation: Floats, items: Ints) -> tuple[Floats, Floats]:
    """Number of each item, by the precision of its rows, and its deviation.

    Examples
    --------
    >>> pool_values_by_item(np.array([1.0, 4.0]), np.array([1.0, 2.0]), np.array([0, 0]))[0]
    array([1.6])
    """
    precision = 1 / np.square(np.maximum(deviation, MIN_PROBABILITY))
    total = np.bincount(items, precision)
    # The rows of an item say the same in other words: precisions are averaged, not added.
    return np.bincount(items, precision * mean) / total, np.sqrt(np.bincount(items) / total)


def rescale_to_p_correct(truth: Floats, y: Ints, p_correct: Floats) -> Floats:
    """Posterior of the classes that agrees with the probability that the label is right.

    Examples
    --------
    >>> rescale_to_p_correct(np.array([[0.8, 0.15, 0.05]]), np.array([0]), np.array([0.2])).round(2)
    array([[0.2, 0.6, 0.2]])
    """
    found = np.maximum(truth, MIN_PROBABILITY)
    rows = np.arange(len(y))
    found[rows, y] = 0.0
    found *= ((1 - p_correct) / found.sum(axis=1))[:, None]
    found[rows, y] = p_correct
    return found


def consensus_posterior(truth: Floats, p_correct: Floats, y: Ints, items: Ints, *, evenly: bool) -> Floats:
    """Return the class posterior of each item from the estimates of its rows.

    With `evenly`, where the estimates cannot tell which side of a dispute is correct, labels are equal votes.
    """
    if not evenly:
        return pool_posteriors_by_item(truth, items)
    return unweighted_posterior(y, items, truth.shape[1], float(p_correct.mean()))


def exclude_rejected(posterior: Floats, y: Ints, items: Ints, wrong: Bools, of: Ints | None = None) -> Floats:
    """Return posteriors in which labels known to be wrong have probability 0.

    `items` are the items of the labels `y`; `of` are the items of the posteriors, one each by default. An
    item whose classes are all known to be wrong keeps its posterior.

    Examples
    --------
    >>> exclude_rejected(np.array([[0.7, 0.2, 0.1]]), np.array([0]), np.array([0]), np.array([True])).round(2)
    array([[0.  , 0.67, 0.33]])
    """
    if not wrong.any():
        return posterior
    banned = np.zeros((int(items.max()) + 1, posterior.shape[1]), dtype=bool)
    banned[items[wrong], y[wrong]] = True
    banned[banned.all(axis=1)] = False
    left = np.where(banned if of is None else banned[of], 0.0, posterior + MIN_PROBABILITY)
    return np.asarray(left / left.sum(axis=1, keepdims=True))
