"""Contributors who copy each other: their labels of one item are one voice, however many they are.

Two who know the answer agree as well. How often two should agree by themselves follows from how often each
agrees with the others, and these with each other: where labels are right or any other class alike, agreement
beyond chance is the product of what both know. Only a pair that agrees far beyond that is one voice; where
the others know nothing themselves, nothing can be told.
"""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from anml.core.checks import Bools, Floats, Ints

# Copies agree this often, and are clearly copies at this log-likelihood ratio beyond the number of pairs.
COPY_AGREEMENT, MIN_LOG_RATIO = 0.99, 3.0
# What two know is at most so many standard deviations above what was counted.
SD_BOUND = 3.0


def copy_groups_in_memory(items: Ints, who: Ints, y: Ints) -> Ints:
    """Copy groups of a table in memory.

    Examples
    --------
    >>> item, who = np.repeat(np.arange(60), 4), np.tile([0, 1, 2, 3], 60)
    >>> truth = np.arange(60) % 3
    >>> y = np.where(who < 2, truth[item], (truth + np.arange(60) // 3 % 3)[item] % 3)
    >>> copy_groups_in_memory(item, who, np.where(who == 1, (truth[item] + (item % 5 == 0)) % 3, y)).tolist()
    [0, 1, 2, 2]
    """
    return detect_copy_groups(agreement_counts(items, who, y, int(who.max()) + 1, int(y.max()) + 1))


class AgreementCounts(NamedTuple):
    """Numbers of common items and of equal labels for each pair of contributors, and counts of each label.

    The counts are additive over slices that contain all rows of their items.
    """

    common: sparse.csr_array
    agreed: sparse.csr_array
    labels: Floats


def agreement_counts(items: Ints, who: Ints, y: Ints, count: int, classes: int) -> AgreementCounts:
    """Count common items and equal labels of each pair of contributors in a set of rows."""
    labels = np.bincount(y, minlength=classes).astype(np.float64)
    return AgreementCounts(
        _overlap_matrix(items, who, count), _overlap_matrix(items * classes + y, who, count), labels
    )


def detect_copy_groups(pairs: AgreementCounts) -> Ints:
    """Number of each contributor's copy group: those who copy each other share one."""
    count = pairs.common.shape[0]
    first, second = sparse.triu(pairs.common, 1).nonzero()
    n, a = _entries(pairs.common, first, second), _entries(pairs.agreed, first, second)
    # Who gives an item two labels may agree with both of another's: once is enough.
    a = np.minimum(a, n)
    if not len(n):
        return np.arange(count)
    share = pairs.labels / pairs.labels.sum()
    usual = _max_independent_agreement(first, second, n, a, count, float(np.square(share).sum()))
    odds = a * np.log(COPY_AGREEMENT / usual) + (n - a) * np.log((1 - COPY_AGREEMENT) / (1 - usual))
    linked = odds > np.log(len(n)) + MIN_LOG_RATIO
    return _connected_groups(first, second, linked, count)


def _connected_groups(first: Ints, second: Ints, linked: Bools, count: int) -> Ints:
    """Groups of those whom links join."""
    from scipy.sparse.csgraph import connected_components  # slow to load, and most tables have no copies

    graph = sparse.coo_array((np.ones(linked.sum()), (first[linked], second[linked])), shape=(count, count))
    return np.asarray(connected_components(graph, directed=False)[1], dtype=np.int64)


def _overlap_matrix(codes: Ints, who: Ints, count: int) -> sparse.csr_array:
    """Count the codes that each pair of contributors has in common."""
    has = sparse.csr_array((np.ones(len(who)), (who, codes)), shape=(count, int(codes.max(initial=-1)) + 1))
    has.sum_duplicates()
    has.data[:] = 1.0
    return sparse.csr_array(has @ has.T)


def _entries(table: sparse.csr_array, first: Ints, second: Ints) -> Floats:
    """Entries of a sparse table, as an array in whatever form they come."""
    found = table[first, second]
    return np.asarray(found.toarray() if sparse.issparse(found) else found, dtype=np.float64).ravel()


def _max_independent_agreement(
    first: Ints, second: Ints, n: Floats, a: Floats, count: int, chance: float
) -> Floats:
    """Upper bound of the agreement of two independent contributors, from their agreement with all others."""

    def bound(agreed: Floats, of: Floats, sign: float) -> Floats:
        rate = (agreed + 0.5) / (of + 1)
        rate = rate + sign * SD_BOUND * np.sqrt(rate * (1 - rate) / (of + 1))
        return np.asarray((rate - chance) / max(1 - chance, 1e-9))

    def others(part: Floats) -> tuple[Floats, Floats, Floats]:
        """Sums of each pair's first member with others, of its second, and of the others among themselves."""
        every, own = (
            np.asarray(np.bincount(first, each, count) + np.bincount(second, each, count), dtype=np.float64)
            for each in (part, part * alike)
        )
        touched = np.bincount(group, every, count) - np.bincount(group[first], part * alike, count)
        both = np.where(alike, touched[group[first]], every[first] + every[second] - part)
        mine, theirs = (every[k] - np.where(alike, own[k], part) for k in (first, second))
        return mine, theirs, np.asarray(part.sum() - both)

    # Pairs that agree as often as copies are excluded when independent agreement is estimated.
    could_be = n * np.log(COPY_AGREEMENT / max(chance, 1e-9)) > np.log(len(n)) + MIN_LOG_RATIO
    group = _connected_groups(first, second, (a >= COPY_AGREEMENT * n) & could_be, count)
    alike = group[first] == group[second]
    agreed, common = others(a), others(n)
    one, other, rest = (bound(*both) for both in zip(agreed, common, (1.0, 1.0, -1.0), strict=True))
    known = np.where(rest > 0, one.clip(0, 1) * other.clip(0, 1) / np.maximum(rest, 1e-9), 1.0)
    return np.asarray(np.clip(chance + (1 - chance) * np.clip(known, 0, 1), 0.01, COPY_AGREEMENT))
