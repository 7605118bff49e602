"""Near-copies: rows far closer to each other than rows of the table usually are.

A copy in another fold confirms its original, however wrong both are. So copies are held out together.
"""

import numpy as np

from anml.core.checks import Floats, Ints

# Nearer than this share of the usual distance to the nearest other row, two rows are copies.
COPY_DISTANCE_RATIO = 0.25
# Rows are compared where several random projections put them into one bin, in any of these tables.
TABLES, PROJECTIONS = 3, 5
# So many rows settle what is usual.
DISTANCE_SAMPLE = 500
# A bin wider than the reach of a copy by this factor seldom cuts one off.
SEARCH_WIDENING = 4.0


def near_duplicate_groups(x: Floats, rng: np.random.Generator) -> Ints:
    """Group of each row of standardised features: copies share one, any other row is alone in its own.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(200, 5))
    >>> x[1] = x[0] + 0.01
    >>> groups = near_duplicate_groups(x, np.random.default_rng(0))
    >>> bool(groups[0] == groups[1]), len(np.unique(groups))
    (True, 199)
    """
    n = len(x)
    alone = np.arange(n)
    if n < 3 or x.shape[1] == 0:
        return alone
    reach = COPY_DISTANCE_RATIO * _median_nearest_distance(x, rng)
    if reach <= 0:
        # Most rows have an equal: that says nothing of copying.
        return alone
    pairs = np.concatenate([_neighbours(x, reach, rng) for _ in range(TABLES)])
    if not len(pairs):
        return alone
    # Slow to load, and most tables have no copies.
    from scipy import sparse
    from scipy.sparse.csgraph import connected_components

    graph = sparse.coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(n, n))
    groups = np.asarray(connected_components(graph, directed=False)[1], dtype=np.int64)
    # What a tenth of all rows share is a common kind of row, no copy.
    common = np.bincount(groups)[groups] > max(0.1 * n, 3)
    return np.asarray(np.unique(np.where(common, n + alone, groups), return_inverse=True)[1])


def _median_nearest_distance(x: Floats, rng: np.random.Generator) -> float:
    """Median distance of some rows to their nearest other row."""
    asked = rng.permutation(len(x))[:DISTANCE_SAMPLE]
    others = rng.permutation(len(x))[: 40 * DISTANCE_SAMPLE]
    # Squared distances but for what is the same in a row; the nearest is then measured exactly.
    product = np.square(x[others]).sum(axis=1) - 2 * (x[asked] @ x[others].T)
    product[asked[:, None] == others] = np.inf
    nearest = others[product.argmin(axis=1)]
    return float(np.median(np.sqrt(np.square(x[asked] - x[nearest]).sum(axis=1))))


def _neighbours(x: Floats, reach: float, rng: np.random.Generator) -> Ints:
    """Pairs of rows within reach, among those next to each other in one bin of random projections."""
    directions = rng.normal(size=(x.shape[1], PROJECTIONS)) / np.sqrt(x.shape[1])
    place = x @ directions
    width = SEARCH_WIDENING * reach / np.sqrt(x.shape[1])
    bins = np.floor(place / width + rng.uniform(size=PROJECTIONS)).astype(np.int64)
    order = np.lexsort([place[:, 0], *bins.T])
    near = (np.diff(bins[order], axis=0) == 0).all(axis=1)
    first, second = order[:-1][near], order[1:][near]
    close = np.square(x[first] - x[second]).sum(axis=1) <= reach**2
    return np.stack([first[close], second[close]], axis=1)
