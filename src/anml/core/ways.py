"""Who makes numbers otherwise than the others: a bias and a spread per contributor, on a grid.

Each contributor's numbers, in honest spreads, have a bias b and a spread s of their own. Honest
contributors differ a little: their b and s are near the pool's. Others have any bias, and a spread no
smaller than the honest one: nobody is convicted for being more precise. Which is likelier is weighed with
b and s averaged over, so few rows do not convict, and how far honest contributors differ is what
explains all contributors best: where everybody differs, nobody is convicted for it.
"""

from typing import NamedTuple

import numpy as np
from scipy import sparse, special

from anml.core.checks import Floats, Ints
from anml.core.evidence import Likelihoods, weigh_evidence
from anml.core.noise import spread_rows

_POSITIVE = (0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 6.0, 8.0, 16.0, 32.0)
BIASES = np.array([-b for b in reversed(_POSITIVE)] + [0.0, *_POSITIVE])
SPREADS = np.r_[2.0 ** np.arange(-1.5, 1.01, 0.25), 2.0 ** np.arange(1.5, 5.01, 0.5)]
# What honest contributors may be like: where their middle lies, and how far they differ among themselves.
CENTRES = BIASES[np.abs(BIASES) <= 1.5]
SCALES = SPREADS[(SPREADS > 0.45) & (SPREADS < 1.5)]
BIAS_DIFFERS = (0.1, 0.2, 0.4, 0.8)
SPREAD_DIFFERS = (0.1, 0.3)
# What the others may be like: shifted one way or either way, noisier, or both; a tenth are like nobody else.
SHIFTED = (1.0, 1.5, 2.0, 3.0, 4.0, 8.0, 16.0)
NOISIER = (1.0, 1.5, 2.0, 3.0, 4.0, 8.0, 16.0)
UNLIKE = 0.1
# Shares of contributors who are not honest; a majority of them could not be told from the honest.
SHARES = np.r_[0.01, np.arange(0.05, 0.51, 0.05)]
# Tails of labels, as degrees of freedom: one wild label does not make a contributor noisy.
TAILS = (3.0, 6.0, 30.0)
# Numbers are counted in so many bins, finer near 0; beyond the last all are equally far off.
FARTHEST, BINS = 64.0, 400
# So many contributors settle what honest ones are like, and so many rows are weighed at a time.
SOME, ROWS = 500, 20_000


class Ways(NamedTuple):
    """How far each contributor makes numbers as the honest do.

    Parameters
    ----------
    honest
        Each contributor's probability of being honest.
    odds
        The same as log-odds: base, credentials and what the numbers say.
    base, credentials
        Log-odds before looking at the numbers: for all, and what the contributor's credentials add.
    doubt
        Standard error of what the numbers say, by how much of it each label gave.
    ratio
        For each label, the log-ratio of its likelihood if its contributor is honest to that if not, given
        the contributor's other labels.
    gain
        Log-likelihood of all above that of nobody but honest contributors.
    """

    honest: Floats
    odds: Floats
    base: float
    credentials: Floats
    doubt: Floats
    ratio: Floats
    gain: float


class _Pool(NamedTuple):
    """An account of all contributors: its log-likelihood, the best one without anybody who is not honest,
    the share of those who are not, and the log-priors of honest and of other ways."""

    likelihood: float
    without: float
    share: float
    honest: Floats
    other: Floats
    table: Floats


def contributor_ways(off: Floats, codes: Ints, signals: Floats | None = None) -> Ways:
    """Judge contributors by numbers that are measured in honest spreads."""
    groups = int(codes.max()) + 1
    place = _bins(off)
    counts = sparse.csr_array(
        (np.ones(len(off)), (codes, place)), shape=(groups, BINS)
    )
    pools = [_pool(counts, _table(tails)) for tails in TAILS]
    pool = max(pools, key=lambda pool: pool.likelihood)
    total = counts @ pool.table
    honest = special.logsumexp(total + pool.honest, axis=1)
    other = special.logsumexp(total + pool.other, axis=1)
    odds = honest - other
    known = None if signals is None else _means(signals, codes, groups)
    if known is not None and np.ptp(known, axis=0).max() < 1e-9:
        known = None
    # The logarithm's limits in `weigh_evidence`.
    bounded = np.clip(odds, -25.0, 25.0)
    found = weigh_evidence(Likelihoods(np.exp(bounded), np.ones(groups)), known, None, pool.share)
    ratio = _ratios(place, codes, total, pool, odds)
    return Ways(
        honest=found.clean,
        odds=found.base + found.credentials + odds,
        base=found.base,
        credentials=found.credentials,
        doubt=np.sqrt(np.bincount(codes, ratio**2, groups)),
        ratio=ratio,
        gain=pool.likelihood - max(pool.without for pool in pools),
    )


def _ratios(place: Ints, codes: Ints, total: Floats, pool: _Pool, odds: Floats) -> Floats:
    """Log-ratio of each label's likelihood in honest and other ways, given the contributor's other labels."""
    ratio = np.empty(len(place))
    for start in range(0, len(place), ROWS):
        rows = slice(start, start + ROWS)
        rest = total[codes[rows]] - pool.table[place[rows]]
        without = special.logsumexp(rest + pool.honest, axis=1) - special.logsumexp(rest + pool.other, axis=1)
        ratio[rows] = odds[codes[rows]] - without
    return ratio


def _means(signals: Floats, codes: Ints, groups: int) -> Floats:
    rows = np.maximum(np.bincount(codes, minlength=groups), 1)
    return np.stack([np.bincount(codes, column, groups) / rows for column in signals.T], axis=1)


def _bins(off: Floats) -> Ints:
    end = np.arcsinh(2 * FARTHEST)
    place = (np.arcsinh(2 * np.clip(off, -FARTHEST, FARTHEST)) + end) / (2 * end) * BINS
    return np.minimum(place.astype(np.int64), BINS - 1)


def _table(tails: float) -> Floats:
    """Log-density of every bin's middle for every bias and spread, (bins, ways)."""
    end = np.arcsinh(2 * FARTHEST)
    middles = np.sinh((np.arange(BINS) + 0.5) / BINS * 2 * end - end) / 2
    bias, spread = _grid()
    z = (middles[:, None] - bias) / spread
    constant = special.gammaln((tails + 1) / 2) - special.gammaln(tails / 2) - 0.5 * np.log(tails * np.pi)
    return np.asarray(constant - np.log(spread) - (tails + 1) / 2 * np.log1p(z * z / tails))


def _grid() -> tuple[Floats, Floats]:
    bias, spread = np.meshgrid(BIASES, SPREADS)
    return bias.ravel(), spread.ravel()


def _pool(counts: sparse.csr_array, table: Floats) -> _Pool:
    """What honest contributors are like, what the others, and how many: what explains all of them best.

    From every degree to which honest contributors may differ the three are improved in turn.
    """
    total = counts[spread_rows(counts.shape[0], SOME)] @ table
    top = total.max(axis=1, keepdims=True)
    likely = np.exp(total - top)
    honest, other = likely @ HONEST + 1e-300, likely @ OTHER + 1e-300
    without = float(np.log(honest).sum(axis=0).max() + top.sum())
    found = [_improved(honest, other, start) for start in np.split(np.arange(HONEST.shape[1]), STARTS)]
    likelihood, share, kind, way = max(found)
    return _Pool(
        likelihood + float(top.sum()), without, share,
        np.log(HONEST[:, kind] + 1e-300), np.log(OTHER[:, way] + 1e-300), table,
    )  # fmt: skip


def _improved(honest: Floats, other: Floats, start: Ints) -> tuple[float, float, int, int]:
    """Improve share, honest kind and other way in turn, from the best of some kinds."""
    best = (-np.inf, 0.0, 0, 0)
    # First against what is like nobody else: the last of the ways.
    apart = other[:, -1:]
    kind = int(start[np.argmax(np.log(0.8 * honest[:, start] + 0.2 * apart).sum(axis=0))])
    for _ in range(10):
        mixed = [np.log((1 - s) * honest[:, [kind]] + s * other).sum(axis=0) for s in SHARES]
        at, way = np.unravel_index(int(np.argmax(mixed)), np.shape(mixed))
        share = float(SHARES[at])
        again = np.log((1 - share) * honest[:, start] + share * other[:, [way]]).sum(axis=0)
        kind = int(start[np.argmax(again)])
        likelihood = float(again.max())
        if likelihood <= best[0] + 1e-6:
            break
        best = (likelihood, share, kind, int(way))
    return best


def _honest_kinds() -> Floats:
    """Probabilities of every bias and spread among the honest, one column for each kind of pool."""
    columns = [
        _near(centre, biased, scale, uneven)
        for biased in BIAS_DIFFERS
        for uneven in SPREAD_DIFFERS
        for centre in CENTRES
        for scale in SCALES
    ]
    return np.stack(columns, axis=1)


def _other_ways() -> Floats:
    """The same among the others; the last column holds every bias and spread alike."""
    alike = np.full(len(BIASES) * len(SPREADS), 1 / (len(BIASES) * len(SPREADS)))
    ways = [(0.0, shift, noise) for shift in SHIFTED for noise in (1.0, 2.0, 4.0)]
    ways += [
        (sign * shift, 0.25 * shift, noise)
        for shift in SHIFTED for sign in (-1, 1) for noise in (1.0, 1.5, 3.0)
    ]  # fmt: skip
    ways += [(0.0, 0.3, noise) for noise in NOISIER[1:]]
    near = [_near(shift, biased, noise, 0.3) for shift, biased, noise in ways]
    return np.stack([*((1 - UNLIKE) * column + UNLIKE * alike for column in near), alike], axis=1)


def _near(bias: float, biased: float, spread: float, uneven: float) -> Floats:
    """Probabilities on the grid, normal in the bias and in the logarithm of the spread."""
    at, wide = _grid()
    likely = np.exp(
        -0.5 * np.square((at - bias) / biased) - 0.5 * np.square(np.log(wide / spread) / uneven)
    )
    # Each point stands for as much of the plane as lies about it.
    likely *= np.outer(np.gradient(np.log(SPREADS)), np.gradient(BIASES)).ravel()
    return np.asarray(likely / likely.sum())


HONEST, OTHER = _honest_kinds(), _other_ways()
STARTS = len(BIAS_DIFFERS) * len(SPREAD_DIFFERS)
