"""How far the rows of contributors lie among those of others, and what is usual where they do not."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from anml.core.checks import Bools, Floats, Ints
from anml.core.people.params import SKILL
from anml.predictors.classes import CHECKED_ROWS, FeatureRows, forest

# Hospitals lie among their own rows by 0.4 to 0.8, the only one who labels a kind of item by more, and
# specialists of a class who share it by a quarter.
OWN_REGION = 1 / 3
# Neighbours of a row that are looked at, and rows of a leaf of trees that say what is usual.
NEAREST, FEWEST = 10, 5


class NearRows(NamedTuple):
    """Some of the rows, the nearest of each among them, and which of these count: none is a copy of it."""

    some: Ints
    near: Ints
    counts: Bools


def nearest(x: Floats, groups: Ints | None = None) -> NearRows:
    """The nearest of at most `CHECKED_ROWS` rows; rows of a group are copies of each other."""
    from sklearn.neighbors import NearestNeighbors

    some = np.arange(0, len(x), max(1, -(-len(x) // CHECKED_ROWS)))
    asked = min(2 * NEAREST, len(some) - 1)
    if asked < 1:
        return NearRows(some, np.zeros((len(some), 0), dtype=np.int64), np.zeros((len(some), 0), dtype=bool))
    near = NearestNeighbors(n_neighbors=asked).fit(x[some]).kneighbors(return_distance=False)
    counts = np.ones(near.shape, dtype=bool)
    if groups is not None:
        counts = groups[some][near] != groups[some][:, None]
    return NearRows(some, near, counts)


def stand_apart(rows: NearRows, who: Ints) -> Bools:
    """Contributors whose rows lie so far among their own that they cannot be compared with others."""
    return own_region(rows, who) > OWN_REGION


def own_region(rows: NearRows, who: Ints) -> Floats:
    """How far each contributor's rows lie among its own rather than among others': 0 to 1.

    The share of a row's nearest that are its contributor's, beyond the share that chance would give. A
    contributor with no row among those looked at has 0.
    """
    mine, count = who[rows.some], int(who.max()) + 1
    counts = rows.counts & (np.cumsum(rows.counts, axis=1) <= NEAREST)
    own = (counts & (mine[rows.near] == mine[:, None])).sum(axis=1)
    found = np.bincount(mine, own, count) / np.maximum(np.bincount(mine, counts.sum(axis=1), count), 1)
    share = np.bincount(mine, minlength=count) / len(mine)
    return np.asarray(np.clip((found - share) / np.maximum(1 - share, 1e-9), 0.0, 1.0))


def voices_against(rows: NearRows, who: Ints, y: Ints, said: Ints) -> Floats:
    """How many others, in effect, give the labels nearby that are believed instead of a contributor's own.

    `said` is what is believed of each row. Infinite where fewer such labels are near than labels are not
    believed: then the others speak from further away.
    """
    mine, label, believed, count = who[rows.some], y[rows.some], said[rows.some], int(who.max()) + 1
    others = rows.counts & (mine[rows.near] != mine[:, None])
    others &= (np.cumsum(others, axis=1) <= NEAREST) & (label != believed)[:, None]
    row, place = np.nonzero(others & (label[rows.near] == believed[:, None]))
    pairs, labels = np.unique(mine[row] * count + mine[rows.near[row, place]], return_counts=True)
    given = np.bincount(pairs // count, labels, count)
    voices = np.square(given) / np.maximum(np.bincount(pairs // count, np.square(labels), count), 1)
    return np.where(given >= np.maximum(np.bincount(mine, label != believed, count), 1), voices, np.inf)


def right_nearby(rows: NearRows, who: Ints, p: Floats, ordinary: Floats) -> Floats:
    """What others near each contributor's rows have of the right labels that are usual near ordinary ones.

    `p`: how likely each row's label is right. 1 where nobody else is near, or others there have no less.
    """
    mine, right, count = who[rows.some], p[rows.some], int(who.max()) + 1
    others = rows.counts & (mine[rows.near] != mine[:, None])
    others &= np.cumsum(others, axis=1) <= NEAREST
    labels = np.bincount(mine, others.sum(axis=1), count)
    rights = np.bincount(mine, (others * right[rows.near]).sum(axis=1), count)
    usual = max(float(ordinary @ rights), 1e-9) / max(float(ordinary @ labels), 1e-9)
    # The nearest of one row are alike: they say as much as one.
    few = SKILL * NEAREST
    return np.asarray(np.minimum((rights / usual + few) / (labels + few), 1.0))


def usual_there(rows: FeatureRows, who: Ints, apart: Bools, right: float) -> Bools:
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
        p = np.exp(forest(inside, None, FEWEST)[np.arange(len(mine)), inside.y])
        out[mine] = p * right >= (1 - p) * (1 - right) / max(rows.classes - 1, 1)
    return out
