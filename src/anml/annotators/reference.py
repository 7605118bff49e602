"""Independent others that a contributor is judged by.

Others label the same items, or, where an item has one label, the nearest rows. Their number is the effective
one, (sum w)^2 / sum w^2. All of it are sums over pairs of rows, which add up over slices.
"""

from typing import NamedTuple

import numpy as np
from scipy import sparse, special

from anml.annotators.population import ATYPICAL
from anml.annotators.rows import LabelData
from anml.core.checks import Bools, Floats, Ints

# Odds, at most, of a contributor being a spammer, or an outlier, where most are.
MAX_ODDS = 0.5
# Labels that are less likely wrong than this dispute nothing.
DISPUTED = 1e-3


class ContributorPairs(NamedTuple):
    """Pairs of a contributor and another, summed over rows and the others' rows beside them.

    `around`: how much of the contributor's rows is beside the other's. `against`, `beside`: how much of its
    disputed rows the other supports the believed class in, and its own label in. `compared`, `others`: rows
    with any row beside them, and the share of these that is of others. `lonely`: rows beside none of others.
    """

    neighbours: sparse.csr_array
    against: sparse.csr_array
    supporting: sparse.csr_array
    compared: Floats
    others: Floats
    lonely: Floats


def add_pairs(one: ContributorPairs, other: ContributorPairs) -> ContributorPairs:
    """ContributorPairs of both together."""
    return ContributorPairs(*(a + b for a, b in zip(one, other, strict=True)))


class NearestRows(NamedTuple):
    """Some of the rows, the nearest of each among them, and which of these count: none is a copy of it."""

    sampled: Ints
    near: Ints
    counts: Bools


def item_pairs(rows: LabelData, posterior: Floats) -> ContributorPairs:
    """ContributorPairs of rows of one item; `posterior` is that of the classes (n, classes)."""
    count = rows.count
    if not rows.shared or rows.item is None:
        nothing = sparse.csr_array((count, count))
        return ContributorPairs(nothing, nothing, nothing, np.zeros(count), np.zeros(count), np.zeros(count))
    size, at = rows.item_size[rows.item], np.arange(rows.n)
    several = size > 1
    doubt = np.where(several, 1 - posterior[at, rows.y], 0.0)
    disputed = np.flatnonzero(doubt > DISPUTED)
    class_codes, items = posterior.argmax(axis=1), len(rows.item_size)
    shape, cells = (count, items), (count, items * rows.classes)

    def table(selected: Ints | Bools, weight: Floats, code: Ints, dims: tuple[int, int]) -> sparse.csr_array:
        return sparse.csr_array((weight[selected], (rows.who[selected], code[selected])), shape=dims)

    every = np.flatnonzero(several)
    ones = np.ones(rows.n)
    supporting = table(every, 1 / size, rows.item, shape) @ table(every, ones, rows.item, shape).T
    label = rows.item * rows.classes + rows.y
    named = table(every, ones, label, cells).T
    against = table(disputed, doubt / size, rows.item * rows.classes + class_codes, cells) @ named
    same = table(disputed, doubt / size, label, cells) @ named
    compared = np.bincount(rows.who, several, count).astype(np.float64)
    each = _without_self(supporting), _without_self(against), _without_self(same)
    return ContributorPairs(*each, compared, compared, np.zeros(count))


def near_pairs(rows: LabelData, posterior: Floats, near: NearestRows | None) -> ContributorPairs:
    """ContributorPairs of rows and their nearest, where an item has one label."""
    count = rows.count
    if near is None or not len(near.sampled):
        nothing = sparse.csr_array((count, count))
        return ContributorPairs(nothing, nothing, nothing, np.zeros(count), np.zeros(count), np.zeros(count))
    several = np.zeros(rows.n, dtype=bool)
    if rows.shared and rows.item is not None:
        several = rows.item_size[rows.item] > 1
    counts = near.counts & ~several[near.sampled][:, None]
    use = counts & (rows.who[near.near] != rows.who[near.sampled][:, None])
    row, column = np.nonzero(use)
    i, j = near.sampled[row], near.near[row, column]
    weight = 1 / np.maximum(counts.sum(axis=1), 1)[row]
    doubt, class_codes = 1 - posterior[i, rows.y[i]], posterior[i].argmax(axis=1)

    def table(values: Floats) -> sparse.csr_array:
        sampled = np.flatnonzero(values)
        place = rows.who[i[sampled]], rows.who[j[sampled]]
        return sparse.csr_array((values[sampled], place), shape=(count, count))

    has = counts.any(axis=1)
    mine = rows.who[near.sampled]
    share = use.sum(axis=1) / np.maximum(counts.sum(axis=1), 1)
    return ContributorPairs(
        table(weight), table(weight * doubt * (rows.y[j] == class_codes)),
        table(weight * doubt * (rows.y[j] == rows.y[i])), np.bincount(mine, has, count).astype(np.float64),
        np.bincount(mine, share, count).astype(np.float64),
        np.bincount(mine, has & ~use.any(axis=1), count).astype(np.float64),
    )  # fmt: skip


def _without_self(table: sparse.csr_array) -> sparse.csr_array:
    table = sparse.csr_array(table)
    table.setdiag(0.0)
    table.eliminate_zeros()
    return table


class IndependentReference(NamedTuple):
    """Of each contributor: independent others around, net against, and on its side, itself included.

    `unseen`: share of rows with no other contributor near; `p_alone`: probability of no independent other;
    `unsound`: that those who contradict it are
    the ones who are wrong.
    """

    neighbours: Floats
    against: Floats
    side: Floats
    unseen: Floats
    p_alone: Floats
    unsound: Floats


def reference(pairs: ContributorPairs, share: Floats, types: Floats) -> IndependentReference:
    """Sum up pairs.

    `share`: share of all rows that each contributor has. `types`: shares of regular, spammer and outlier.
    The odds that n others are wrong are the odds of one to the power n.
    """
    count = len(share)
    stranger = np.log(np.clip(0.5 * (1 - types[0]) / types[0], ATYPICAL / (1 - 2 * ATYPICAL), MAX_ODDS))
    if not pairs.compared.sum():
        # Neither items nor features: all contributors are compared with each other.
        all_, none = np.full(count, count - 1.0), np.zeros(count)
        return IndependentReference(all_, all_, np.ones(count), none, none, none)
    neighbours, _ = _effective(pairs.neighbours)
    net = sparse.csr_array(pairs.against - pairs.supporting)
    against, mass = _effective(net.maximum(0))
    side, weight = _effective((-net).maximum(0))
    compared = np.maximum(pairs.compared, 1e-9)
    reach = np.minimum(pairs.others / compared / np.maximum(1 - share, 1e-9), 1.0)
    against = against * np.where(pairs.compared > 0, reach, 1.0)
    side = 1 + side * np.minimum(1, weight / np.maximum(mass, 1e-9))
    lonely = pairs.lonely / np.maximum(pairs.compared, 1)
    p_alone = special.expit((neighbours - 1) * stranger)
    return IndependentReference(
        neighbours, against, side, lonely, p_alone, special.expit((against - side) * stranger)
    )


def _effective(table: sparse.csr_array) -> tuple[Floats, Floats]:
    """Effective number of entries of each row, and their sum."""
    total = np.asarray(table.sum(axis=1)).ravel()
    squares = np.asarray(table.multiply(table).sum(axis=1)).ravel()
    return np.where(total > 1e-9, total**2 / np.maximum(squares, 1e-12), 0.0), total
