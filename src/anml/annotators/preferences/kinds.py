"""People who compare, in batches: what a kind of person feels, and what its choices say of the scores."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from scipy import special

from anml.annotators.preferences.candidates import ComparisonGraph, PairScores
from anml.annotators.preferences.davidson import (
    FIRST,
    NO_TIES,
    SECOND,
    TIE,
    Mode,
    choice_probabilities,
    laplace,
    slope_and_curvature,
)
from anml.core.checks import Bools, Floats, Ints

# Comparisons of one person that are looked at together, and cells of matrices in one batch.
BATCH_SIZE, MAX_ENTRIES = 200, 400_000
# Answers of somebody who does not look and gives one of them nearly always: Dirichlet's parameter of each.
CONSTANT_ANSWER_ALPHA = 0.2


class AnnotatorType(NamedTuple):
    """Type of annotator: mean `slope` on the difference of scores, with the variance `varies` of the slope.

    `taste` and `side` are the variances of its individual scores and of its position bias; None uses the
    learned variance. `share` is the prior probability of the type.
    """

    slope: float
    varies: float | None
    taste: float | None
    side: float | None
    share: float

    def variances(self, params: "PairParams") -> tuple[float, ...]:
        """Of slope, taste and side: its own, or those that are learned."""
        learned, own = (params.slopes, params.tastes, params.sides), (self.varies, self.taste, self.side)
        return tuple(usual if mine is None else mine for mine, usual in zip(own, learned, strict=True))


ANNOTATOR_TYPES = {
    "careful": AnnotatorType(1.0, None, None, None, 0.82),
    "weak": AnnotatorType(0.5, 0.04, None, None, 0.05),
    "coin": AnnotatorType(0.0, 0.0, 0.0, None, 0.05),
    # One answer nearly always: a side, or that both are equal; see `one_answer`.
    "side": AnnotatorType(0.0, 0.0, 0.0, 9.0, 0.03),
    "reversed": AnnotatorType(-1.0, None, None, None, 0.03),
    # As coherent as anybody, on scores of its own; the milder one is not to be taken for a coin.
    "taste": AnnotatorType(0.0, 0.0, 2.0, None, 0.015),
    "mild taste": AnnotatorType(0.0, 0.0, 0.3, None, 0.005),
}
RELIABLE_TYPE = list(ANNOTATOR_TYPES).index("careful")


@dataclass(frozen=True)
class PairParams:
    """Parameters of the population: variances of scores, slopes, position biases and tastes; mean bias; ties.

    `told` is the variance of scores explained by the candidates' features, `spread` the remaining variance.
    """

    spread: float
    slopes: float = 0.1
    sides: float = 0.05
    tastes: float = 0.1
    side: float = 0.0
    tie: float = NO_TIES
    ties: float = 0.0
    told: float = 1.0


@dataclass
class PairBatch:
    """People with about as many comparisons each, as arrays (people, comparisons); padding is not `used`.

    `first` is what their choices say of each difference of scores before anybody differs, and `told` how far
    each counts as careful since, and by which parameters. `d` and `left` are differences and their variances
    without their own word. `along` and `moments` are sums of the fits. Matrices of all comparisons of a
    person are made when they are needed: kept, they would be most of the memory.
    """

    owner: Ints
    rows: Ints
    used: Bools
    i: Ints
    j: Ints
    choice: Ints
    first: tuple[Floats, Floats]
    told: tuple[Floats, PairParams] | None = None
    d: Floats = field(init=False)
    left: Floats = field(init=False)
    fits: dict[str, Mode] = field(default_factory=dict)
    along: dict[str, Floats] = field(default_factory=dict)
    moments: dict[str, Floats] = field(default_factory=dict)

    @property
    def both(self) -> Floats:
        """1 where two comparisons of a person are both used."""
        return (self.used[:, :, None] & self.used[:, None, :]).astype(np.float64)

    @property
    def shared(self) -> Floats:
        """Covariance of what every two comparisons of a person take from a taste of variance 1."""
        i, j, k, m = paired_candidates(self.i, self.j)
        return np.asarray((1.0 * (i == k) - (i == m) - (j == k) + (j == m)) * self.both)

    def leave_out(self, net: ComparisonGraph, scores: PairScores) -> Floats:
        """Differences of scores without the person's own word, and the covariance of what is uncertain."""
        known, pull = self.known(net)
        lines = scores.lines[self.i] - scores.lines[self.j]
        given = net.of_pairs(scores.covariance, *paired_candidates(self.i, self.j)) + lines @ lines.transpose(
            0, 2, 1
        )
        given = given * self.both
        out = np.eye(self.i.shape[1]) - given @ known
        d = (scores.mean[self.i] - scores.mean[self.j]) * self.used
        d = d - (given @ pull[..., None])[..., 0]
        solved = np.linalg.solve(out, np.concatenate([d[..., None], given], axis=2))
        self.d = np.asarray(solved[..., 0] * self.used, dtype=np.float64)
        left = solved[..., 1:]
        left = np.asarray((left + left.transpose(0, 2, 1)) / 2, dtype=np.float64)
        self.left = np.einsum("bii->bi", left).copy()
        return left

    def own(self, kind: AnnotatorType, params: PairParams, shared: Floats) -> Floats:
        """Covariance of the pulls of a kind of person, where the scores are known."""
        varies, taste, side = kind.variances(params)
        return varies * self.d[:, :, None] * self.d[:, None, :] + taste * shared + side * self.both

    def fit(self, names: Iterable[str], params: PairParams, left: Floats) -> None:
        """Fit each annotator of the batch under each type; `left` is the covariance of differences."""
        shared = self.shared
        for name in names:
            kind = ANNOTATOR_TYPES[name]
            usual = 0.0 if name == "side" else params.side
            mean = (usual + kind.slope * self.d) * self.used
            covariance = self.own(kind, params, shared) + kind.slope**2 * left
            mode = laplace(self.choice, self.used, mean, covariance, params.tie, params.ties)
            if name == "side":
                mode = mode._replace(
                    evidence=constant_answer_log_likelihood(self.choice, self.used, params.ties > 0)
                )
            self.fits[name] = mode
            if kind.varies != 0:
                known = mode.precision(covariance)
                self.along[name] = np.einsum("bi,bij,bj->b", self.d, known, self.d)
            if name == "careful":
                self.moments = self._moments(mode, known, shared, params)

    def _moments(self, mode: Mode, known: Floats, shared: Floats, params: PairParams) -> dict[str, Floats]:
        """Sums by which it is learned how far careful people differ."""
        along, side = (mode.force * self.d).sum(axis=1), mode.force.sum(axis=1)
        return {
            "pull": along,
            "pulled": self.along["careful"],
            "slopes": along**2,
            "sides": side**2,
            "taste": np.einsum("bi,bij,bj->b", mode.force, shared, mode.force),
            "tastes": (shared * known).sum(axis=(1, 2)),
            "side": side,
            "sided": known.sum(axis=(1, 2)),
            "tie": mode.tie - params.tie,
            "ties": (mode.tie - params.tie) ** 2,
            "tied": 1 - mode.tie_variance / max(params.ties, 1e-9),
        }

    def known(self, net: ComparisonGraph) -> tuple[Floats, Floats]:
        """Precision of the differences of scores by the careful annotators, and precision times mean."""
        if self.told is None:
            return self.first[0][:, :, None] * np.eye(self.i.shape[1]), self.first[1]
        mode, (share, params) = self.fits["careful"], self.told
        known = (
            mode.precision(self.own(ANNOTATOR_TYPES["careful"], params, self.shared)) * share[:, None, None]
        )
        # Candidates of different components are only linked through the annotators' parameters.
        part = net.part[self.i]
        known = known * (part[:, :, None] == part[:, None, :])
        felt = mode.pull + mode.slope / np.maximum(mode.curvature, 1e-6) - params.side
        return known, (known @ np.where(self.used, felt, 0.0)[..., None])[..., 0]


def paired_candidates(i: Ints, j: Ints) -> tuple[Ints, ...]:
    """Candidates of every two comparisons of a person (people, comparisons, comparisons), four arrays."""
    return np.broadcast_arrays(i[:, :, None], j[:, :, None], i[:, None, :], j[:, None, :])


def constant_answer_log_likelihood(choice: Ints, used: Bools, ties: bool) -> Floats:
    """Log-probability of each person's choices, if they are one answer nearly always, whichever that is.

    Examples
    --------
    >>> same, mixed = np.zeros((1, 12), dtype=int), np.arange(12)[None] % 2
    >>> every = np.ones((1, 12), dtype=bool)
    >>> np.exp(constant_answer_log_likelihood(same, every, True)).round(2)
    array([0.12])
    >>> bool(constant_answer_log_likelihood(mixed, every, True) < -6)
    True
    """
    answers = (FIRST, SECOND, TIE) if ties else (FIRST, SECOND)
    counts = np.stack([((choice == answer) & used).sum(axis=1) for answer in answers], axis=1)
    every = CONSTANT_ANSWER_ALPHA * len(answers)
    each = special.gammaln(CONSTANT_ANSWER_ALPHA + counts) - special.gammaln(CONSTANT_ANSWER_ALPHA)
    total = special.gammaln(every) - special.gammaln(every + used.sum(axis=1))
    return np.asarray(total + each.sum(axis=1))


def make_batches(
    first: Ints, second: Ints, choice: Ints, who: Ints, params: PairParams, scores: PairScores
) -> Iterator[PairBatch]:
    """People in batches of like size; somebody with very many comparisons is in several."""
    plain_d = scores.mean[first] - scores.mean[second]
    slope, curvature = slope_and_curvature(choice_probabilities(plain_d + params.side, params.tie), choice)
    for owner, rows, used in _alike(who):
        said = curvature[rows] * used, (curvature * plain_d + slope)[rows] * used
        yield PairBatch(owner, rows, used, first[rows], second[rows], choice[rows], said)


def _alike(who: Ints) -> Iterator[tuple[Ints, Ints, Bools]]:
    order, sizes = np.argsort(who, kind="stable"), np.bincount(who)
    parts = [
        (len(part), person, part)
        for person, rows in enumerate(np.split(order, np.cumsum(sizes)[:-1]))
        if len(rows)
        for part in np.array_split(rows, -(-len(rows) // BATCH_SIZE))
    ]
    parts.sort(key=lambda each: each[:2])
    begin = 0
    while begin < len(parts):
        least, end = parts[begin][0], begin
        # Of like size, and not too many.
        while end < len(parts) and (size := parts[end][0]) <= 1.25 * least + 2:
            if (end - begin) * size**2 >= MAX_ENTRIES + least**2:
                break
            end += 1
        longest = parts[end - 1][0]
        rows = np.zeros((end - begin, longest), dtype=np.int64)
        used = np.zeros(rows.shape, dtype=bool)
        for at, (size, _, part) in enumerate(parts[begin:end]):
            rows[at, :size], used[at, :size] = part, True
        yield np.array([person for _, person, _ in parts[begin:end]]), rows, used
        begin = end
