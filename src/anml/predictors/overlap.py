"""How far the rows of contributors lie among those of others, and what is usual where they do not."""

from dataclasses import replace

import numpy as np

from anml.core.checks import Bools, Floats, Ints
from anml.predictors.classes import CHECKED_ROWS, FeatureRows, forest

# A contributor whose rows lie among its own by more than this cannot be compared with others: hospitals do by
# a half, the only one who labels a kind of item by more, specialists of a class who share it by a quarter.
OWN_REGION = 1 / 3
# Neighbours of a row that are looked at, and rows of a leaf of trees that say what is usual.
NEAREST, FEWEST = 10, 5


def own_region(x: Floats, who: Ints, groups: Ints | None = None) -> Floats:
    """How far each contributor's rows lie among its own rather than among others': 0 to 1.

    The share of a row's nearest that are its contributor's, beyond the share that chance would give. Copies
    of the row itself do not count. A contributor with no row among those looked at has 0.
    """
    from sklearn.neighbors import NearestNeighbors

    some = np.arange(0, len(x), max(1, -(-len(x) // CHECKED_ROWS)))
    mine, count = who[some], int(who.max()) + 1
    asked = min(2 * NEAREST, len(some) - 1)
    if asked < 1:
        return np.zeros(count)
    near = NearestNeighbors(n_neighbors=asked).fit(x[some]).kneighbors(return_distance=False)
    counts = np.ones(near.shape, dtype=bool)
    if groups is not None:
        group = groups[some]
        counts = group[near] != group[:, None]
    counts &= np.cumsum(counts, axis=1) <= NEAREST
    own = (counts & (mine[near] == mine[:, None])).sum(axis=1)
    rows_of = np.bincount(mine, minlength=count)
    found = np.bincount(mine, own, count) / np.maximum(np.bincount(mine, counts.sum(axis=1), count), 1)
    share = rows_of / len(some)
    return np.asarray(np.clip((found - share) / np.maximum(1 - share, 1e-9), 0.0, 1.0))


def usual_there(rows: FeatureRows, who: Ints, apart: Bools) -> Floats:
    """How likely each label is beside the likeliest, by the other rows of its own contributor: 0 to 1.

    Only contributors that stand `apart` are asked; the labels of all others have 1.
    """
    taught = np.zeros(len(rows.y), dtype=bool)
    taught[rows.taught] = True
    out = np.ones(len(rows.y))
    for one in np.flatnonzero(apart):
        mine = np.flatnonzero(who == one)
        inside = replace(
            rows, x=rows.x[mine], y=rows.y[mine], fold=rows.fold[mine], groups=None,
            taught=np.flatnonzero(taught[mine]),
        )  # fmt: skip
        log_p = forest(inside, None, FEWEST)
        out[mine] = np.exp(log_p[np.arange(len(mine)), inside.y] - log_p.max(axis=1))
    return out
