"""Who makes numbers otherwise than the others: a bias and a spread per contributor, on a grid.

Each contributor's numbers, in honest spreads, have a bias and a spread of their own. Honest contributors
differ a little: theirs are near the pool's. Others have any bias, and a spread no smaller than the honest
one: nobody is convicted for being more precise. Which is likelier is weighed with bias and spread averaged
over, so few rows do not convict. How far honest contributors differ is whatever explains all contributors
best: where everybody differs, nobody is convicted for it.
"""

from functools import cache
from typing import NamedTuple

import numpy as np
from scipy import sparse, special

from anml.core.checks import Floats, Ints
from anml.core.evidence import Evidence, Likelihoods, weigh_evidence
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
# So many contributors settle what honest ones are like, and so many rows are weighed at a time.
SOME, ROWS = 200, 4_000
# Not everybody is honest: clear at odds of twenty to one, or, where credentials must help, at more nats.
TWENTY_TO_ONE, CLEARLY_MORE = float(np.log(20)), 4.0
# Log-odds beyond which nothing changes, within the limits of `weigh_evidence`.
WIDEST_ODDS = 25.0
# Log-odds at which a point of the grid is left out.
NEVER = 25.0


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
    gain
        Log-likelihood above that of honest contributors only, less what it must be to be clear.
    judged
        What `label_ratios` needs.
    """

    honest: Floats
    odds: Floats
    base: float
    credentials: Floats
    gain: float
    judged: "Judged"


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


class Judged(NamedTuple):
    """An account, the log-odds it gives each contributor, and these joined with credentials."""

    account: Account
    counts: sparse.csr_array
    odds: Floats
    found: Evidence
    likelihood: float


def contributor_ways(off: Floats, apart: Floats, codes: Ints, signals: Floats | None = None) -> Ways:
    """Judge contributors by their numbers and credentials.

    Both in honest spreads: `off` is how far each number lies from where it is expected, `apart` how far
    from the middle of all numbers, for those who do not look at the item at all.
    """
    groups = int(codes.max()) + 1
    counts = _counted(off, apart, codes)
    known = None if signals is None else _means(signals, codes, groups)
    accounts = [account for tails in TAILS for account in _accounts(counts, tails)]
    without = max(account.without for account in accounts)
    plain = max(accounts, key=lambda account: account.likelihood)
    chosen = _judged(plain, counts, known)
    gain = plain.likelihood - without - TWENTY_TO_ONE
    if known is not None:
        # Credentials may tell which account is right, if they are worth more than what chance finds in them,
        # their squares and their products: half a nat in each.
        chances = known.shape[1] * (known.shape[1] + 3) / 2
        cost = CLEARLY_MORE + 0.5 * chances
        others = [_judged(a, counts, known) for a in accounts if a.tails == plain.tails and a is not plain]
        right_way = [judged for judged in (chosen, *others) if vouched_for(known, judged.found.clean)]
        helped = max(right_way, key=lambda judged: judged.likelihood, default=chosen)
        if helped.likelihood - without - cost > max(gain, 0.0):
            chosen, gain = helped, helped.likelihood - without - cost
    before = chosen.found.base + chosen.found.credentials
    return Ways(
        honest=special.expit(before + chosen.odds),
        odds=before + chosen.odds,
        base=chosen.found.base,
        credentials=chosen.found.credentials,
        gain=gain,
        judged=chosen,
    )


def beyond_chance(ways: Ways, off: Floats, apart: Floats, codes: Ints) -> bool:
    """Whether it is clear that somebody is not honest.

    Not if the same numbers, dealt to contributors at random, show as much: then it is their shape that
    is unusual, not a contributor.
    """
    if ways.gain <= 0:
        return False
    dealt = np.random.default_rng(0).permutation(codes)
    accounts = [a for tails in TAILS for a in _accounts(_counted(off, apart, dealt), tails)]
    luck = max(a.likelihood for a in accounts) - max(a.without for a in accounts)
    return ways.gain > luck


def label_ratios(ways: Ways, off: Floats, apart: Floats, codes: Ints) -> Floats:
    """For each label, the log-ratio of its likelihood if its contributor is honest to that if not.

    Given the contributor's other labels: a label does not vouch for itself.
    """
    account, counts, odds, _, _ = ways.judged
    ratio = np.empty(len(off))
    order = np.argsort(codes, kind="stable")
    for start in range(0, len(off), ROWS):
        rows = order[start : start + ROWS]
        present, who = np.unique(codes[rows], return_inverse=True)
        first, second = _bins(off[rows]), BINS + _bins(apart[rows])
        gone = []
        for prior in (account.honest, account.other):
            # Points that no contributor is near count for nothing.
            total = counts[present] @ _table(account.tails) + prior
            near = np.flatnonzero((total - total.max(axis=1, keepdims=True)).max(axis=0) > -NEVER)
            table = _table(account.tails)[:, near]
            gone.append(special.logsumexp(total[:, near][who] - table[first] - table[second], axis=1))
        ratio[rows] = odds[codes[rows]] - gone[0] + gone[1]
    return ratio


def _counted(off: Floats, apart: Floats, codes: Ints) -> sparse.csr_array:
    """How many numbers of each contributor lie in each bin."""
    bins = np.stack([_bins(off), BINS + _bins(apart)], axis=1).ravel()
    shape = (int(codes.max()) + 1, 2 * BINS)
    return sparse.csr_array((np.ones(len(bins)), (np.repeat(codes, 2), bins)), shape=shape)


def vouched_for(credentials: Floats, believed: Floats) -> bool:
    """Whether those who are believed have the better credentials.

    Credentials count in whichever direction the data supports, but of two camps they may only accuse the one
    that has the worse: else which camp is honest would be a toss.
    """
    right = believed @ credentials / max(float(believed.sum()), 1e-9)
    wrong = (1 - believed) @ credentials / max(float((1 - believed).sum()), 1e-9)
    return bool(right.sum() >= wrong.sum())


def _judged(account: Account, counts: sparse.csr_array, known: Floats | None) -> Judged:
    """Log-odds of being honest by an account, and what credentials are worth for it."""
    groups = counts.shape[0]
    honest, other = np.empty(groups), np.empty(groups)
    for start in range(0, groups, ROWS):
        some = slice(start, start + ROWS)
        total = counts[some] @ _table(account.tails)
        honest[some] = special.logsumexp(total + account.honest, axis=1)
        other[some] = special.logsumexp(total + account.other, axis=1)
    odds = honest - other
    bounded = np.clip(odds, -WIDEST_ODDS, WIDEST_ODDS)
    found = weigh_evidence(Likelihoods(np.exp(bounded), np.ones(len(odds))), known, None, account.share)
    mixed = np.log(found.expected + (1 - found.expected) * np.exp(-bounded))
    # Of as many contributors as the account itself rests on.
    few = spread_rows(len(odds), SOME)
    return Judged(account, counts, odds, found, float((mixed + honest)[few].sum()))


def _means(signals: Floats, codes: Ints, groups: int) -> Floats | None:
    """Each contributor's mean credentials; None where all have the same."""
    rows = np.maximum(np.bincount(codes, minlength=groups), 1)
    means = np.stack([np.bincount(codes, column, groups) / rows for column in signals.T], axis=1)
    return means if np.ptp(means, axis=0).max() > 1e-9 else None


def _bins(off: Floats) -> Ints:
    end = np.arcsinh(2 * FARTHEST)
    place = (np.arcsinh(2 * np.clip(off, -FARTHEST, FARTHEST)) + end) / (2 * end) * BINS
    return np.asarray(np.minimum(place.astype(np.int64), BINS - 1))


@cache
def _table(tails: float) -> Floats:
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


def _accounts(counts: sparse.csr_array, tails: float) -> list[Account]:
    """The likeliest account for every degree to which honest contributors may differ."""
    total = counts[spread_rows(counts.shape[0], SOME)] @ _table(tails)
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
