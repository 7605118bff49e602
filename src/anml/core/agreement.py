"""What the labels of one item say of each other.

Mistakes are not made at random: metal is taken for rock far more often than for classical music, by most
people, and some people have habits of their own. So a label speaks for each class its item may be as often
as its contributor gives that label to that class: a table of confusions per contributor, drawn to what all
trusted contributors do, which itself begins with "any other class alike". Few labels change little.

No contributor's table is ever built whole: each row needs one column of it, so memory is rows times classes.
"""

from typing import NamedTuple

import numpy as np
from scipy import special

from anml.core.checks import Floats, Ints

# What all do counts as much as this many labels of each class, in a contributor's own table.
OWN_HABITS = 10.0
# "Any other class alike" counts as much as this many wrong labels of each class, in what all do.
ANY_CLASS = 5.0
# No label alone settles an item.
MOST_TRUSTED = 0.99


class Habits(NamedTuple):
    """How each row's label speaks for each class its item may be, (n, classes).

    Parameters
    ----------
    right
        Chance that its contributor names that class rightly.
    given
        Chance that its contributor gives this label to an item of that class.
    """

    right: Floats
    given: Floats


def alike(labels: Ints, classes: int, expected: Floats) -> Habits:
    """Habits of contributors who are right as often as `expected`, and else name any other class alike."""
    right = np.repeat(_trusted(expected, classes)[:, None], classes, axis=1)
    given = (1 - right) / (classes - 1)
    rows = np.arange(len(labels))
    given[rows, labels] = right[rows, labels]
    return Habits(right, given)


def habits(labels: Ints, belief: Floats, expected: Floats, codes: Ints | None) -> Habits:
    """Learn how contributors confuse classes, from the belief (n, classes) of which class each row's item is.

    `expected` is how often each row's label is taken to be right by credentials and contributor, `codes`
    are the contributors; None takes all for one.

    Examples
    --------
    Two classes; all of one contributor's hundred labels of items of class 0 are 1, and its hundred of
    class 1 are right: a label 1 says little.

    >>> labels, belief = np.ones(200, int), np.repeat(np.eye(2), 100, axis=0)
    >>> habits(labels, belief, np.full(200, 0.5), None).given[0].round(2)
    array([0.95, 0.95])
    """
    n, classes = belief.shape
    rows = np.arange(n)
    who = np.zeros(n, dtype=np.int64) if codes is None else codes
    trusted = _trusted(expected, classes)
    pooled = _pooled(labels, belief, trusted)
    sizes = np.maximum(np.bincount(who), 1)
    usual = np.bincount(who, trusted) / sizes
    seen = _sums(who, belief, len(sizes)) + OWN_HABITS
    # A contributor's rows with the same label share one column of its table.
    pairs, column = np.unique(who * classes + labels, return_inverse=True)
    counted = _sums(column, belief, len(pairs))
    own, label = np.divmod(pairs, classes)
    shrunk = (1 - usual[own])[:, None] * pooled[:, label].T
    at = np.arange(len(pairs))
    shrunk[at, label] = usual[own]
    table = (counted + OWN_HABITS * shrunk) / seen[own]
    named = np.repeat(usual[:, None], classes, axis=1) * OWN_HABITS / seen
    named[own, label] = table[at, label]
    # Credentials tell a contributor's rows apart: they move its chance to be right, not its confusions.
    moved = special.logit(trusted) - special.logit(usual)[who]
    named = np.clip(named, 1e-6, 1 - 1e-6)
    right = special.expit(special.logit(named)[who] + moved[:, None])
    given = table[column] * (1 - right) / (1 - named[who])
    given[rows, labels] = right[rows, labels]
    return Habits(right, np.clip(given, 1e-9, 1.0))


def others_said(log_probabilities: Floats, given: Floats, items: Ints) -> Floats:
    """Log-probabilities of the classes of each row's item, given every other label of the item.

    Examples
    --------
    >>> even = np.log(np.full((3, 2), 0.5))
    >>> given = alike(np.array([0, 0, 1]), 2, np.array([0.9, 0.5, 0.9])).given
    >>> np.exp(others_said(even, given, np.zeros(3, int))).round(2)
    array([[0.1, 0.9],
           [0.5, 0.5],
           [0.9, 0.1]])
    """
    say = np.log(given)
    together = _sums(items, say, int(items.max()) + 1)
    return np.asarray(special.log_softmax(log_probabilities + together[items] - say, axis=1))


def _trusted(expected: Floats, classes: int) -> Floats:
    """A label no better than chance says nothing; one that is always right would silence all others."""
    return np.asarray(np.clip(expected, 1 / classes, MOST_TRUSTED))


def _pooled(labels: Ints, belief: Floats, trusted: Floats) -> Floats:
    """For each class, which others it is taken for, by those who are trusted: guesses share no habits."""
    classes = belief.shape[1]
    counts = _sums(labels, belief * trusted[:, None], classes).T
    others = 1 - np.eye(classes)
    wrong = (counts + ANY_CLASS / (classes - 1)) * others
    return np.asarray(wrong / wrong.sum(axis=1, keepdims=True))


def _sums(codes: Ints, values: Floats, groups: int) -> Floats:
    """Sums of rows (n, k) by group, (groups, k)."""
    return np.stack([np.bincount(codes, column, groups) for column in values.T], axis=1)
