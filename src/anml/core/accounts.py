"""Accounts of how contributors make numbers: a bias and a spread for everybody, on a grid.

An account says how honest contributors differ among themselves, what share is not honest, and in which way
those are off. Numbers are counted in bins, so that an account costs as much for a million rows as for a few.
"""

from functools import cache
from typing import NamedTuple

import numpy as np
from scipy import sparse, special

from anml.core.checks import Floats, Ints
from anml.core.noise import spread_rows

_SOME_BIASES = (0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 6.0, 8.0, 16.0, 32.0)
BIASES = np.array([-b for b in reversed(_SOME_BIASES)] + [0.0, *_SOME_BIASES])
SPREADS = np.r_[2.0 ** np.arange(-1.5, 1.01, 0.25), 2.0 ** np.arange(1.5, 5.01, 0.5)]
# What honest contributors may be like: where their middle lies, and how far they differ among themselves.
CENTRES = BIASES[np.abs(BIASES) <= 1.5]
SCALES = SPREADS[(SPREADS > 0.45) & (SPREADS < 1.5)]
BIAS_DIFFERS = (0.1, 0.2, 0.4, 0.8)
SPREAD_DIFFERS = (0.1, 0.3)
# What the others may be like: shifted one way or either way, noisier, or both; a tenth are like nobody else.
SHIFTED = (1.0, 1.5, 2.0, 3.0, 4.0, 8.0, 16.0)
NOISIER = (1.5, 2.0, 3.0, 4.0, 8.0, 16.0)
UNLIKE = 0.1
# Shares of contributors who are not honest; a majority of them could not be told from the honest.
SHARES = (0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5)
# Tails of labels, as degrees of freedom: one wild label does not make a contributor noisy.
TAILS = (3.0, 6.0, 30.0)
# Numbers are counted in so many bins, finer near 0; beyond the last all are equally far off.
FARTHEST, BINS = 64.0, 400
# So many contributors settle what honest ones are like.
SOME = 200


class Account(NamedTuple):
    """One account of all contributors.

    Its log-likelihood and the best without anybody who is not honest, the share of those who are not, and
    the log-probabilities of every bias and spread among the honest and among the others.
    """

    likelihood: float
    without: float
    share: float
    honest: Floats
    other: Floats
    tails: float


def counted(off: Floats, apart: Floats, codes: Ints) -> sparse.csr_array:
    """How many numbers of each contributor lie in each bin."""
    bins = np.stack([bins_of(off), BINS + bins_of(apart)], axis=1).ravel()
    shape = (int(codes.max()) + 1, 2 * BINS)
    return sparse.csr_array((np.ones(len(bins)), (np.repeat(codes, 2), bins)), shape=shape)


def bins_of(off: Floats) -> Ints:
    """The bin of each number."""
    end = np.arcsinh(2 * FARTHEST)
    place = (np.arcsinh(2 * np.clip(off, -FARTHEST, FARTHEST)) + end) / (2 * end) * BINS
    return np.asarray(np.minimum(place.astype(np.int64), BINS - 1))


@cache
def densities(tails: float) -> Floats:
    """Log-density of every bin's middle for every bias and spread, (bins, points).

    A number has a bin of how far it is off, and one of how far from the middle; of the points the first
    half look at the one and the second half at the other.
    """
    end = np.arcsinh(2 * FARTHEST)
    middles = np.sinh((np.arange(BINS) + 0.5) / BINS * 2 * end - end) / 2
    bias, spread = _grid()
    z = (middles[:, None] - bias) / spread
    constant = special.gammaln((tails + 1) / 2) - special.gammaln(tails / 2) - 0.5 * np.log(tails * np.pi)
    density = constant - np.log(spread) - (tails + 1) / 2 * np.log1p(z * z / tails)
    return np.kron(np.eye(2), density)


def _grid() -> tuple[Floats, Floats]:
    bias, spread = np.meshgrid(BIASES, SPREADS)
    return bias.ravel(), spread.ravel()


def accounts_of(counts: sparse.csr_array, tails: float) -> list[Account]:
    """The likeliest account for every degree to which honest contributors may differ."""
    total = counts[spread_rows(counts.shape[0], SOME)] @ densities(tails)
    top = total.max(axis=1, keepdims=True)
    likely = np.exp(total - top)
    found: list[Account] = []
    for biased in BIAS_DIFFERS:
        for uneven in SPREAD_DIFFERS:
            tried = [_improved(likely, float(top.sum()), biased, uneven, float(s), tails) for s in SCALES]
            best = max(tried, key=lambda account: account.likelihood)
            found.append(best._replace(without=max(account.without for account in tried)))
    return found


def _improved(
    likely: Floats, top: float, biased: float, uneven: float, scale: float, tails: float
) -> Account:
    """Improve the share, the honest middle and the others' way in turn."""
    kinds, ways = _kinds(biased, uneven, scale), _others(scale)
    honest, other = likely @ kinds + 1e-300, likely @ ways + 1e-300
    # First against what is like nobody else: the last of the ways.
    kind = int(np.argmax(np.log(0.8 * honest + 0.2 * other[:, -1:]).sum(axis=0)))
    best, found = -np.inf, (0.0, 0, 0)
    for _ in range(10):
        mixed = np.stack([np.log((1 - s) * honest[:, [kind]] + s * other).sum(axis=0) for s in SHARES])
        at, way = (int(place) for place in np.unravel_index(int(mixed.argmax()), mixed.shape))
        again = np.log((1 - SHARES[at]) * honest + SHARES[at] * other[:, [way]]).sum(axis=0)
        kind = int(np.argmax(again))
        if float(again[kind]) <= best + 1e-6:
            break
        best, found = float(again[kind]), (SHARES[at], kind, way)
    share, kind, way = found
    without = float(np.log(honest).sum(axis=0).max())
    log_honest, log_other = np.log(kinds[:, kind] + 1e-300), np.log(ways[:, way] + 1e-300)
    return Account(best + top, without + top, share, log_honest, log_other, tails)


@cache
def _kinds(biased: float, uneven: float, scale: float) -> Floats:
    """Probabilities of every bias and spread among the honest, a column for each middle."""
    near = np.stack([_near(float(centre), biased, scale, uneven) for centre in CENTRES], axis=1)
    return np.vstack([near, np.zeros_like(near)])


@cache
def _others(scale: float) -> Floats:
    """The same among the others, a column for each way; the last holds every bias and spread alike.

    A half of the points is for those who do not look at the item: numbers about the middle of all.
    """
    wider = _grid()[1] >= 0.99 * scale
    alike = wider / wider.sum()
    either = [(0.0, shift, noise) for shift in SHIFTED for noise in (1.0, 2.0, 4.0)]
    one_way = [
        (sign * shift, 0.25 * shift, noise)
        for shift in SHIFTED for sign in (-1, 1) for noise in (1.0, 1.5, 3.0)
    ]  # fmt: skip
    noisy = [(0.0, 0.3, noise) for noise in NOISIER]
    none = np.zeros(len(wider))
    columns = []
    for shift, biased, noise in (*either, *one_way, *noisy):
        near = _near(shift, biased, noise * scale, 0.3) * wider
        columns.append(np.r_[(1 - UNLIKE) * near / near.sum() + UNLIKE * alike, none])
    for noise in (1.0, *NOISIER):
        near = _near(0.0, 0.5, noise * scale, 0.3) * wider
        columns.append(np.r_[UNLIKE * alike, (1 - UNLIKE) * near / near.sum()])
    return np.stack([*columns, np.r_[alike, none]], axis=1)


def _near(bias: float, biased: float, spread: float, uneven: float) -> Floats:
    """Probabilities on the grid, normal in the bias and in the logarithm of the spread."""
    at, wide = _grid()
    odds = -0.5 * np.square((at - bias) / biased) - 0.5 * np.square(np.log(wide / spread) / uneven)
    # Each point stands for as much of the plane as lies about it.
    likely = np.exp(odds) * np.outer(np.gradient(np.log(SPREADS)), np.gradient(BIASES)).ravel()
    return np.asarray(likely / likely.sum())
