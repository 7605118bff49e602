"""Contributors who copy each other: their labels of one item are one voice, however many they are.

Two who know the answer agree as well. How often two should agree by themselves follows from how often each
agrees with the others, and these with each other: where labels are right or any other class alike, agreement
beyond chance is the product of what both know. Only a pair that agrees far beyond that is one voice; where
the others know nothing themselves, nothing can be told.
"""

from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from anml.core.checks import Bools, Floats, Ints

# Copies agree this often, and are clearly copies at this log-likelihood ratio beyond the number of pairs.
AGREE, CLEARLY = 0.99, 3.0
# What two know is at most so many standard deviations above what was counted.
DOUBTS = 3.0


def copy_groups(items: Ints, who: Ints, y: Ints) -> Ints:
    """Copy groups of a table in memory.

    Examples
    --------
    >>> item, who = np.repeat(np.arange(60), 4), np.tile([0, 1, 2, 3], 60)
    >>> truth = np.arange(60) % 3
    >>> y = np.where(who < 2, truth[item], (truth + np.arange(60) // 3 % 3)[item] % 3)
    >>> copy_groups(item, who, np.where(who == 1, (truth[item] + (item % 5 == 0)) % 3, y)).tolist()
    [0, 1, 2, 2]
    """
    return copies_among(pairs_of(items, who, y, int(who.max()) + 1, int(y.max()) + 1))


class Pairs(NamedTuple):
    """How many items each two contributors have in common, and agree on, and how often each label was given.

    They add up over slices that have all rows of their items.
    """

    common: sparse.csr_array
    agreed: sparse.csr_array
    labels: Floats


def pairs_of(items: Ints, who: Ints, y: Ints, count: int, classes: int) -> Pairs:
    """What some rows say of each two contributors."""
    labels = np.bincount(y, minlength=classes).astype(np.float64)
    return Pairs(_pairs(items, who, count), _pairs(items * classes + y, who, count), labels)


def copies_among(pairs: Pairs) -> Ints:
    """Number of each contributor's copy group: those who copy each other share one."""
    count = pairs.common.shape[0]
    first, second = sparse.triu(pairs.common, 1).nonzero()
    n, a = _at(pairs.common, first, second), _at(pairs.agreed, first, second)
    # Who gives an item two labels may agree with both of another's: once is enough.
    a = np.minimum(a, n)
    if not len(n):
        return np.arange(count)
    share = pairs.labels / pairs.labels.sum()
    usual = _by_themselves(first, second, n, a, count, float(np.square(share).sum()))
    odds = a * np.log(AGREE / usual) + (n - a) * np.log((1 - AGREE) / (1 - usual))
    linked = odds > np.log(len(n)) + CLEARLY
    return _joined(first, second, linked, count)


def _joined(first: Ints, second: Ints, linked: Bools, count: int) -> Ints:
    """Groups of those whom links join."""
    graph = sparse.coo_array((np.ones(linked.sum()), (first[linked], second[linked])), shape=(count, count))
    return np.asarray(connected_components(graph, directed=False)[1], dtype=np.int64)


def _pairs(codes: Ints, who: Ints, count: int) -> sparse.csr_array:
    """How many codes each two contributors have in common."""
    has = sparse.csr_array((np.ones(len(who)), (who, codes)), shape=(count, int(codes.max(initial=-1)) + 1))
    has.sum_duplicates()
    has.data[:] = 1.0
    return sparse.csr_array(has @ has.T)


def _at(table: sparse.csr_array, first: Ints, second: Ints) -> Floats:
    """Entries of a sparse table, as an array in whatever form they come."""
    found = table[first, second]
    return np.asarray(found.toarray() if sparse.issparse(found) else found, dtype=np.float64).ravel()


def _by_themselves(first: Ints, second: Ints, n: Floats, a: Floats, count: int, chance: float) -> Floats:
    """How often two agree if neither copies, at most: by their agreement with others, and doubts about it."""

    def bound(agreed: Floats, of: Floats, sign: float) -> Floats:
        rate = (agreed + 0.5) / (of + 1)
        rate = rate + sign * DOUBTS * np.sqrt(rate * (1 - rate) / (of + 1))
        return np.asarray((rate - chance) / max(1 - chance, 1e-9))

    def others(part: Floats) -> tuple[Floats, Floats, Floats]:
        """Of the first of each pair with the others, of the second, and of the others among themselves."""
        every, own = (
            np.asarray(np.bincount(first, each, count) + np.bincount(second, each, count), dtype=np.float64)
            for each in (part, part * alike)
        )
        touched = np.bincount(group, every, count) - np.bincount(group[first], part * alike, count)
        both = np.where(alike, touched[group[first]], every[first] + every[second] - part)
        mine, theirs = (every[k] - np.where(alike, own[k], part) for k in (first, second))
        return mine, theirs, np.asarray(part.sum() - both)

    # Who agrees as copies do says nothing of what either knows: many copies would vouch for each other.
    could_be = n * np.log(AGREE / max(chance, 1e-9)) > np.log(len(n)) + CLEARLY
    group = _joined(first, second, (a >= AGREE * n) & could_be, count)
    alike = group[first] == group[second]
    agreed, common = others(a), others(n)
    one, other, rest = (bound(*both) for both in zip(agreed, common, (1.0, 1.0, -1.0), strict=True))
    known = np.where(rest > 0, one.clip(0, 1) * other.clip(0, 1) / np.maximum(rest, 1e-9), 1.0)
    return np.asarray(np.clip(chance + (1 - chance) * np.clip(known, 0, 1), 0.01, AGREE))
