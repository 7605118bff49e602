"""Overlap of contributors in feature space, and the accuracy of others in the same region."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from anml.annotators.params import ACCURACY_CONCENTRATION
from anml.core.checks import Bools, Floats, Ints
from anml.predictors.classes import NEIGHBOUR_ROWS, FeatureRows, forest

# Hospitals lie among their own rows by 0.4 to 0.8, the only one who labels a kind of item by more, and
# specialists of a class who share it by a quarter.
MAX_SELF_NEIGHBOUR_RATE = 1 / 3
# Neighbours of a row that are looked at, and rows of a leaf of trees that say what is usual.
N_NEIGHBOURS, MIN_LEAF = 10, 5
# Rows whose distances to all others are in memory at a time.
TILE_ROWS = 512


class NeighbourRows(NamedTuple):
    """Some of the rows, the nearest of each among them, and which of these count: none is a copy of it."""

    some: Ints
    near: Ints
    counts: Bools


def find_neighbours(x: Floats, groups: Ints | None = None) -> NeighbourRows:
    """The nearest of at most `CHECKED_ROWS` rows; rows of a group are copies of each other."""
    some = np.arange(0, len(x), max(1, -(-len(x) // NEIGHBOUR_ROWS)))
    asked = min(2 * N_NEIGHBOURS, len(some) - 1)
    if asked < 1:
        return NeighbourRows(
            some, np.zeros((len(some), 0), dtype=np.int64), np.zeros((len(some), 0), dtype=bool)
        )
    near = _nearest(x[some], asked)
    counts = np.ones(near.shape, dtype=bool)
    if groups is not None:
        counts = groups[some][near] != groups[some][:, None]
    return NeighbourRows(some, near, counts)


def _nearest(x: Floats, k: int) -> Ints:
    """Return the k nearest other rows of each row, (n, k), nearest first."""
    n, lengths = len(x), np.square(x).sum(axis=1)
    near = np.empty((n, k), dtype=np.int64)
    for start in range(0, n, TILE_ROWS):
        rows = np.arange(start, min(start + TILE_ROWS, n))
        # Squared distances but for what is the same in a row.
        distance = lengths - 2 * (x[rows] @ x.T)
        distance[np.arange(len(rows)), rows] = np.inf
        nearest = np.argpartition(distance, k - 1, axis=1)[:, :k]
        order = np.argsort(np.take_along_axis(distance, nearest, axis=1), axis=1, kind="stable")
        near[rows] = np.take_along_axis(nearest, order, axis=1)
    return near


def is_isolated(rows: NeighbourRows, who: Ints) -> Bools:
    """Contributors whose rows lie so far among their own that they cannot be compared with others."""
    return self_neighbour_rate(rows, who) > MAX_SELF_NEIGHBOUR_RATE


def self_neighbour_rate(rows: NeighbourRows, who: Ints) -> Floats:
    """Excess self-neighbour rate of each contributor, from 0 to 1.

    The share of nearest neighbours from the same contributor, minus the share expected by chance, rescaled to
    a maximum of 1. A contributor without a sampled row has 0.
    """
    mine, count = who[rows.some], int(who.max()) + 1
    counts = rows.counts & (np.cumsum(rows.counts, axis=1) <= N_NEIGHBOURS)
    own = (counts & (mine[rows.near] == mine[:, None])).sum(axis=1)
    found = np.bincount(mine, own, count) / np.maximum(np.bincount(mine, counts.sum(axis=1), count), 1)
    share = np.bincount(mine, minlength=count) / len(mine)
    return np.asarray(np.clip((found - share) / np.maximum(1 - share, 1e-9), 0.0, 1.0))


def effective_opponents(rows: NeighbourRows, who: Ints, y: Ints, said: Ints) -> Floats:
    """Effective number of other contributors whose nearby labels support the class that contradicts a label.

    `said` is the most probable class of each row. Infinite if there are fewer such labels nearby than
    contradicted labels, since the contradiction then comes from rows further away.
    """
    mine, label, believed, count = who[rows.some], y[rows.some], said[rows.some], int(who.max()) + 1
    others = rows.counts & (mine[rows.near] != mine[:, None])
    others &= (np.cumsum(others, axis=1) <= N_NEIGHBOURS) & (label != believed)[:, None]
    row, place = np.nonzero(others & (label[rows.near] == believed[:, None]))
    pairs, labels = np.unique(mine[row] * count + mine[rows.near[row, place]], return_counts=True)
    given = np.bincount(pairs // count, labels, count)
    voices = np.square(given) / np.maximum(np.bincount(pairs // count, np.square(labels), count), 1)
    return np.where(given >= np.maximum(np.bincount(mine, label != believed, count), 1), voices, np.inf)


def local_accuracy_ratio(rows: NeighbourRows, who: Ints, p: Floats, ordinary: Floats) -> Floats:
    """Accuracy of others near each contributor's rows, relative to that near rows of regular contributors.

    `p`: p_correct of each row. The ratio is at most 1, and 1 if no other contributor is near.
    """
    mine, right, count = who[rows.some], p[rows.some], int(who.max()) + 1
    others = rows.counts & (mine[rows.near] != mine[:, None])
    others &= np.cumsum(others, axis=1) <= N_NEIGHBOURS
    labels = np.bincount(mine, others.sum(axis=1), count)
    rights = np.bincount(mine, (others * right[rows.near]).sum(axis=1), count)
    usual = max(float(ordinary @ rights), 1e-9) / max(float(ordinary @ labels), 1e-9)
    # The neighbours of one row are correlated and count as one observation.
    few = ACCURACY_CONCENTRATION * N_NEIGHBOURS
    return np.asarray(np.minimum((rights / usual + few) / (labels + few), 1.0))


def plausible_in_own_region(rows: FeatureRows, who: Ints, apart: Bools, right: float) -> Bools:
    """Labels that the other rows of their own contributor make likelier right than wrong.

    As many are right as labels usually are, and wrong ones may be any other class. Only contributors that
    stand `apart` are asked; all labels of others are usual.
    """
    chosen = np.zeros(len(rows.y), dtype=bool)
    chosen[rows.training_rows] = True
    out = np.ones(len(rows.y), dtype=bool)
    for one in np.flatnonzero(apart):
        mine = np.flatnonzero(who == one)
        inside = replace(
            rows, x=rows.x[mine], y=rows.y[mine], fold=rows.fold[mine], groups=None,
            training_rows=np.flatnonzero(chosen[mine]),
        )  # fmt: skip
        p = np.exp(forest(inside, None, MIN_LEAF)[np.arange(len(mine)), inside.y])
        out[mine] = p * right >= (1 - p) * (1 - right) / max(rows.classes - 1, 1)
    return out
