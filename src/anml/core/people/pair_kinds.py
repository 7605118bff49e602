"""People who compare, in batches: what a kind of person feels, and what its choices say of the scores."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from anml.core.checks import Bools, Floats, Ints
from anml.core.people.candidates import Net
from anml.core.people.davidson import NO_TIES, Mode, choices, laplace, slope_and_curvature

# Comparisons of one person that are looked at together, and cells of matrices in one batch.
TOGETHER, CELLS = 200, 400_000


class PairKind(NamedTuple):
    """What a kind of person feels: `slope` times the difference of scores, with a variance of the slope.

    `taste` and `side` are variances of its own scores and of its side; None is what is learned. `share` is
    how many people are like that before anything is seen.
    """

    slope: float
    varies: float | None
    taste: float | None
    side: float | None
    share: float


KINDS = {
    "careful": PairKind(1.0, None, None, None, 0.82),
    "weak": PairKind(0.5, 0.04, None, None, 0.05),
    "coin": PairKind(0.0, 0.0, 0.0, None, 0.05),
    "side": PairKind(0.0, 0.0, 0.0, 9.0, 0.03),
    "reversed": PairKind(-1.0, None, None, None, 0.03),
    # As coherent as anybody, on scores of its own; the milder one is not to be taken for a coin.
    "taste": PairKind(0.0, 0.0, 2.0, None, 0.015),
    "mild taste": PairKind(0.0, 0.0, 0.3, None, 0.005),
}
CAREFUL = list(KINDS).index("careful")


@dataclass(frozen=True)
class PairParams:
    """What all people share: how far scores, slopes, sides and tastes vary, the usual side, and ties."""

    spread: float
    slopes: float = 0.1
    sides: float = 0.05
    tastes: float = 0.1
    side: float = 0.0
    tie: float = NO_TIES
    ties: float = 0.0


class PairScores(NamedTuple):
    """Scores of the candidates and their covariance, as `Net` keeps it."""

    mean: Floats
    covariance: Floats


@dataclass
class PairBatch:
    """People with about as many comparisons each, as arrays (people, comparisons); padding is not `used`.

    `known` and `known_pull` are what each of them says of the differences of scores: a precision, and the
    precision times the mean. `d` and `left` are differences and their covariance without that.
    """

    owner: Ints
    rows: Ints
    used: Bools
    i: Ints
    j: Ints
    choice: Ints
    shared: Floats
    known: Floats
    known_pull: Floats
    d: Floats
    left: Floats
    fits: dict[str, Mode]

    @property
    def both(self) -> Floats:
        """1 where two comparisons of a person are both used."""
        return (self.used[:, :, None] & self.used[:, None, :]).astype(np.float64)

    def crossed(self) -> tuple[Ints, Ints, Ints, Ints]:
        """Candidates of every two comparisons of a person."""
        shape = (*self.i.shape, self.i.shape[1])
        by_row = (np.broadcast_to(x[:, :, None], shape) for x in (self.i, self.j))
        by_column = (np.broadcast_to(x[:, None, :], shape) for x in (self.i, self.j))
        return *by_row, *by_column  # type: ignore[return-value]

    def leave_out(self, net: Net, scores: PairScores) -> None:
        """Differences of scores, and what is uncertain about them, without the person's own word."""
        given = net.of_pairs(scores.covariance, *self.crossed()) * self.both
        out = np.eye(self.i.shape[1]) - given @ self.known
        d = (scores.mean[self.i] - scores.mean[self.j]) * self.used
        d = d - (given @ self.known_pull[..., None])[..., 0]
        self.d = np.asarray(np.linalg.solve(out, d[..., None])[..., 0] * self.used, dtype=np.float64)
        left = np.linalg.solve(out, given)
        self.left = np.asarray((left + left.transpose(0, 2, 1)) / 2, dtype=np.float64)

    def own(self, kind: PairKind, params: PairParams) -> Floats:
        """Covariance of the pulls of a kind of person, where the scores are known."""
        varies = params.slopes if kind.varies is None else kind.varies
        taste = params.tastes if kind.taste is None else kind.taste
        side = params.sides if kind.side is None else kind.side
        return varies * self.d[:, :, None] * self.d[:, None, :] + taste * self.shared + side * self.both

    def fit(self, name: str, params: PairParams) -> None:
        """What these people feel if they are of this kind."""
        kind = KINDS[name]
        usual = 0.0 if name == "side" else params.side
        mean = (usual + kind.slope * self.d) * self.used
        covariance = self.own(kind, params) + kind.slope**2 * self.left
        self.fits[name] = laplace(self.choice, self.used, mean, covariance, params.tie, params.ties)

    def tell(self, net: Net, share: Floats, params: PairParams) -> None:
        """What the careful among them say of the scores: `share` is how far each is one."""
        mode = self.fits["careful"]
        root = np.sqrt(mode.curvature)
        inner = (
            np.eye(self.i.shape[1]) + root[:, :, None] * self.own(KINDS["careful"], params) * root[:, None]
        )
        known = share[:, None, None] * root[:, :, None] * np.linalg.inv(inner) * root[:, None, :]
        # Of two parts that nothing joins, one tells nothing of the other but through people's own ways.
        part = net.part[self.i]
        self.known = known * (part[:, :, None] == part[:, None, :])
        felt = mode.pull + mode.slope / np.maximum(mode.curvature, 1e-6) - params.side
        self.known_pull = (self.known @ np.where(self.used, felt, 0.0)[..., None])[..., 0]


def batches(
    first: Ints, second: Ints, choice: Ints, who: Ints, params: PairParams, scores: PairScores
) -> Iterator[PairBatch]:
    """People in batches of like size; somebody with very many comparisons is in several."""
    plain_d = scores.mean[first] - scores.mean[second]
    slope, curvature = slope_and_curvature(choices(plain_d + params.side, params.tie), choice)
    for owner, rows, used in _alike(who):
        i, j = first[rows], second[rows]
        both = used[:, :, None] & used[:, None, :]
        same = [
            (a[:, :, None] == b[:, None, :]).astype(np.float64) for a, b in ((i, i), (j, j), (i, j), (j, i))
        ]
        known = (curvature[rows] * used)[:, :, None] * np.eye(rows.shape[1])
        pull = (curvature * plain_d + slope)[rows] * used
        nothing = np.zeros(0)
        yield PairBatch(
            owner, rows, used, i, j, choice[rows], (same[0] + same[1] - same[2] - same[3]) * both, known,
            pull, nothing, nothing, {},
        )  # fmt: skip


def _alike(who: Ints) -> Iterator[tuple[Ints, Ints, Bools]]:
    order, sizes = np.argsort(who, kind="stable"), np.bincount(who)
    parts = [
        (len(part), person, part)
        for person, rows in enumerate(np.split(order, np.cumsum(sizes)[:-1]))
        if len(rows)
        for part in np.array_split(rows, -(-len(rows) // TOGETHER))
    ]
    parts.sort(key=lambda each: each[:2])
    begin = 0
    while begin < len(parts):
        least, end = parts[begin][0], begin
        while end < len(parts) and _fits(parts[end][0], least, end - begin):
            end += 1
        longest = parts[end - 1][0]
        rows = np.zeros((end - begin, longest), dtype=np.int64)
        used = np.zeros(rows.shape, dtype=bool)
        for at, (size, _, part) in enumerate(parts[begin:end]):
            rows[at, :size], used[at, :size] = part, True
        yield np.array([person for _, person, _ in parts[begin:end]]), rows, used
        begin = end


def _fits(size: int, least: int, count: int) -> bool:
    return size <= 1.25 * least + 2 and count * size**2 < CELLS + least**2
