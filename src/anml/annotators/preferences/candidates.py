"""Scores of candidates that are compared, and what is left uncertain about them.

Candidates that no chain of comparisons joins have nothing to do with each other: covariances are kept by
connected part, one small matrix each in one long array. Features join them all again: scores are a line of
the features plus what is each candidate's own, and what is uncertain of the line is the same for all.
"""

from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import lapack
from scipy.sparse import csgraph

from anml.core.checks import Floats, Ints
from anml.core.errors import InputError

# Candidates in one connected part; their covariance is one matrix.
MAX_EXACT_COMPONENT = 5_000
# Directions of the features that are looked at: those in which candidates differ most.
MAX_COMPONENTS = 100


class PairScores(NamedTuple):
    """Scores of the candidates and their covariance: that without the features' line, as `Net` keeps it.

    `line` is the slope in each direction of the features, `doubt` a root of its covariance, and `lines` what
    each score takes of that doubt.
    """

    mean: Floats
    covariance: Floats
    line: Floats
    doubt: Floats
    lines: Floats


class ComparisonGraph(NamedTuple):
    """Components of the graph of comparisons: component of each candidate, its position, start of its row.

    `features` are directions (candidates, directions), with no column if candidates have no features.
    """

    part: Ints
    place: Ints
    row: Ints
    size: Ints
    start: Ints
    features: Floats

    @classmethod
    def of(cls, first: Ints, second: Ints, count: int, features: Floats | None = None) -> "ComparisonGraph":
        """The parts that comparisons of `first` with `second` make of `count` candidates."""
        graph = sparse.coo_matrix((np.ones(len(first)), (first, second)), (count, count))
        _, part = csgraph.connected_components(graph, directed=False)
        part = part.astype(np.int64)
        size = np.bincount(part)
        if size.max() > MAX_EXACT_COMPONENT:
            raise InputError(
                f"{size.max():,} candidates are compared with one another, directly or through others; at "
                f"most {MAX_EXACT_COMPONENT:,} can be: name the column of groups, or compare within them"
            )
        order = np.argsort(part, kind="stable")
        place = np.empty(count, dtype=np.int64)
        place[order] = np.arange(count) - np.repeat(np.cumsum(size) - size, size)
        start = np.cumsum(size**2) - size**2
        turned = np.zeros((count, 0)) if features is None else _principal_components(features, part)
        return cls(part, place, start[part] + place * size[part], size, start, turned)

    @property
    def cells(self) -> int:
        """Length of the array that holds the matrices of all components."""
        return int((self.size**2).sum())

    def at(self, i: Ints, j: Ints) -> Ints:
        """Return the position of the cell of two candidates of one component; any cell for other pairs."""
        return np.asarray(np.minimum(self.row[i] + self.place[j], self.cells - 1))

    def of_pairs(self, covariance: Floats, i: Ints, j: Ints, k: Ints, m: Ints) -> Floats:
        """Covariance of the difference of i and j with that of k and m, each two of one part."""
        cells = covariance[self.at(i, k)] + covariance[self.at(j, m)]
        cells = cells - covariance[self.at(i, m)] - covariance[self.at(j, k)]
        return np.asarray(np.where(self.part[i] == self.part[k], cells, 0.0))

    def variance(self, scores: PairScores) -> Floats:
        """Variance of each candidate's score."""
        every = np.arange(len(self.part))
        return np.asarray(scores.covariance[self.at(every, every)] + np.square(scores.lines).sum(axis=1))

    def gap(self, scores: PairScores, i: Ints, j: Ints) -> Floats:
        """Variance of the difference of any two."""
        alone = self.variance(scores)
        both = np.where(self.part[i] == self.part[j], scores.covariance[self.at(i, j)], 0.0)
        both = both + (scores.lines[i] * scores.lines[j]).sum(axis=1)
        return np.asarray(np.maximum(alone[i] + alone[j] - 2 * both, 0.0))

    def add(self, total: Floats, precision: Floats, i: Ints, j: Ints, k: Ints, m: Ints) -> None:
        """Add what is known of the differences of i and j, and of k and m, to the precision of the scores."""
        together = self.part[i] == self.part[k]
        known, i, j, k, m = (values[together] for values in (precision, i, j, k, m))
        for a, b, sign in ((i, k, 1.0), (j, m, 1.0), (i, m, -1.0), (j, k, -1.0)):
            total += np.bincount(self.at(a, b), sign * known, self.cells)

    def solve(self, precision: Floats, pulled: Floats, spread: float, told: float) -> PairScores:
        """Scores by what is known of them, and priors: of variance `spread` around a line of the features.

        `told` is the variance that the line gives scores beforehand.
        """
        covariance, found = np.empty(self.cells), np.empty((len(self.part), 1 + self.features.shape[1]))
        asked = np.column_stack([pulled, self.features / spread])
        order = np.argsort(self.part * (self.size.max() + 1) + self.place, kind="stable")
        first = np.cumsum(self.size) - self.size
        for size in np.unique(self.size):
            parts = np.flatnonzero(self.size == size)
            cells = self.start[parts, None] + np.arange(size**2)
            members = order[first[parts, None] + np.arange(size)]
            inverse = _batched_inverse(precision[cells].reshape(-1, size, size) + np.eye(size) / spread)
            covariance[cells] = inverse.reshape(len(parts), -1)
            found[members] = inverse @ asked[members]
        along = found[:, 1:]
        # The line, with all scores integrated out of it.
        known = np.eye(along.shape[1]) / told + self.features.T @ (self.features - along) / spread
        doubt = np.linalg.cholesky(np.linalg.inv((known + known.T) / 2))
        line = doubt @ (doubt.T @ (along.T @ pulled))
        return PairScores(found[:, 0] + along @ line, covariance, line, doubt, along @ doubt)


def _principal_components(features: Floats, part: Ints) -> Floats:
    """Features turned into the directions in which candidates of one part differ most, each column alike.

    Scaled so that a line of variance 1 gives candidates of one part scores that differ by about as much.
    """
    mean = np.zeros((int(part.max()) + 1, features.shape[1]))
    np.add.at(mean, part, features)
    within = features - (mean / np.bincount(part)[:, None])[part]
    wide = np.sqrt(np.square(within).mean(axis=0))
    varies = wide > 1e-9 * np.maximum(np.abs(features).max(axis=0, initial=0.0), 1e-300)
    if not varies.any():
        return np.zeros((len(features), 0))
    scaled = (features - features.mean(axis=0))[:, varies] / wide[varies]
    _, _, turn = np.linalg.svd(within[:, varies] / wide[varies], full_matrices=False)
    return np.asarray(scaled @ turn[:MAX_COMPONENTS].T / np.sqrt(varies.sum()))


def _batched_inverse(matrices: Floats) -> Floats:
    """Inverses of symmetric matrices: many small ones at once, large ones by Cholesky's factor."""
    if matrices.shape[1] < 100:
        return np.asarray(np.linalg.inv((matrices + matrices.transpose(0, 2, 1)) / 2))
    found = np.empty_like(matrices)
    for at, matrix in enumerate(matrices):
        factor, _ = lapack.dpotrf(matrix, lower=1)
        half, _ = lapack.dpotri(factor, lower=1)
        found[at] = np.tril(half) + np.tril(half, -1).T
    return found
