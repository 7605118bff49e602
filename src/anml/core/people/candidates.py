"""Scores of candidates that are compared, and what is left uncertain about them.

Candidates that no chain of comparisons joins have nothing to do with each other: covariances are kept by
connected part, one small matrix each in one long array.
"""

from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import lapack
from scipy.sparse import csgraph

from anml.core.checks import Floats, Ints
from anml.core.errors import InputError

# Candidates in one connected part; their covariance is one matrix.
MOST_JOINED = 5_000


class Net(NamedTuple):
    """Which part each candidate is in, its place there, where its row of the part's matrix begins."""

    part: Ints
    place: Ints
    row: Ints
    size: Ints
    start: Ints

    @classmethod
    def of(cls, first: Ints, second: Ints, count: int) -> "Net":
        """The parts that comparisons of `first` with `second` make of `count` candidates."""
        graph = sparse.coo_matrix((np.ones(len(first)), (first, second)), (count, count))
        _, part = csgraph.connected_components(graph, directed=False)
        part = part.astype(np.int64)
        size = np.bincount(part)
        if size.max() > MOST_JOINED:
            raise InputError(
                f"{size.max():,} candidates are compared with one another, directly or through others; at "
                f"most {MOST_JOINED:,} can be: name the column of groups, or compare within them"
            )
        order = np.argsort(part, kind="stable")
        place = np.empty(count, dtype=np.int64)
        place[order] = np.arange(count) - np.repeat(np.cumsum(size) - size, size)
        start = np.cumsum(size**2) - size**2
        return cls(part, place, start[part] + place * size[part], size, start)

    @property
    def cells(self) -> int:
        """How long the array of all matrices is."""
        return int((self.size**2).sum())

    def at(self, i: Ints, j: Ints) -> Ints:
        """Where the cell of two candidates of the same part is; for others any cell."""
        return np.asarray(np.minimum(self.row[i] + self.place[j], self.cells - 1))

    def of_pairs(self, covariance: Floats, i: Ints, j: Ints, k: Ints, m: Ints) -> Floats:
        """Covariance of the difference of i and j with that of k and m."""
        cells = covariance[self.at(i, k)] + covariance[self.at(j, m)]
        cells = cells - covariance[self.at(i, m)] - covariance[self.at(j, k)]
        return np.asarray(np.where(self.part[i] == self.part[k], cells, 0.0))

    def variance(self, covariance: Floats) -> Floats:
        """Variance of each candidate's score."""
        every = np.arange(len(self.part))
        return np.asarray(covariance[self.at(every, every)])

    def add(self, total: Floats, precision: Floats, i: Ints, j: Ints, k: Ints, m: Ints) -> None:
        """Add what is known of the differences of i and j, and of k and m, to the precision of the scores."""
        together = self.part[i] == self.part[k]
        known, i, j, k, m = (values[together] for values in (precision, i, j, k, m))
        for a, b, sign in ((i, k, 1.0), (j, m, 1.0), (i, m, -1.0), (j, k, -1.0)):
            total += np.bincount(self.at(a, b), sign * known, self.cells)

    def solve(self, precision: Floats, pulled: Floats, spread: float) -> tuple[Floats, Floats]:
        """Scores and their covariance, by what is known of them and a prior of variance `spread`."""
        covariance, scores = np.empty(self.cells), np.empty(len(self.part))
        order = np.argsort(self.part * (self.size.max() + 1) + self.place, kind="stable")
        first = np.cumsum(self.size) - self.size
        for size in np.unique(self.size):
            parts = np.flatnonzero(self.size == size)
            cells = self.start[parts, None] + np.arange(size**2)
            members = order[first[parts, None] + np.arange(size)]
            found = _inverted(precision[cells].reshape(-1, size, size) + np.eye(size) / spread)
            covariance[cells] = found.reshape(len(parts), -1)
            scores[members] = (found @ pulled[members][..., None])[..., 0]
        return scores, covariance


def _inverted(matrices: Floats) -> Floats:
    """Inverses of symmetric matrices: many small ones at once, large ones by Cholesky's factor."""
    if matrices.shape[1] < 100:
        return np.asarray(np.linalg.inv((matrices + matrices.transpose(0, 2, 1)) / 2))
    found = np.empty_like(matrices)
    for at, matrix in enumerate(matrices):
        factor, _ = lapack.dpotrf(matrix, lower=1)
        half, _ = lapack.dpotri(factor, lower=1)
        found[at] = np.tril(half) + np.tril(half, -1).T
    return found
