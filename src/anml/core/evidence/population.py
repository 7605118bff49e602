"""Contributors of numbers: who is honest, who answers without looking and who deviates.

A contributor has a bias and a scale of its own, in natural spreads, on a grid. An account says how far the
honest differ among themselves, how many are not honest, and in which way those are off. Accounts are weighed
by all contributors, and contributors by all accounts; credentials count by each contributor's mean. Numbers
are counted in bins, so that an account costs as much for a million rows as for a few.
"""

from functools import cache
from itertools import product
from typing import NamedTuple

import numpy as np
from scipy import sparse, special

from anml.core.checks import Floats, Ints
from anml.core.evidence.side import design

# Tails of labels, as degrees of freedom, from heavy to normal: one wild label does not make a contributor.
TAILS = (3.0, 6.0, 30.0)
# Shares of contributors who are not honest; more than a half could not be told from the honest.
SHARES = (0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5)
# So many contributors decide between accounts, and a few times as many accounts on each: more change nothing.
ENOUGH = 200
# Numbers are counted in so many bins: near 0 one is a seventieth of a natural spread.
BINS = 400


@cache
def _grid() -> tuple[Floats, Floats]:
    """Every bias and every scale, of equal steps in the inverse hyperbolic sine and in the logarithm."""
    bias, scale = np.meshgrid(np.sinh(np.linspace(-5, 5, 51)) / 2, 2.0 ** np.arange(-1.5, 5.1, 0.25))
    return bias.ravel(), scale.ravel()


def bins_of(off: Floats) -> Ints:
    """The bin of each number, finer near 0; beyond 64 all are equally far off."""
    place = np.arcsinh(2 * np.clip(off, -64, 64)) / np.arcsinh(128.001)
    return np.asarray(((place + 1) * BINS / 2).astype(np.int64))


def middles() -> Floats:
    """The number in the middle of each bin."""
    return np.asarray(np.sinh(((np.arange(BINS) + 0.5) * 2 / BINS - 1) * np.arcsinh(128.001)) / 2)


@cache
def _densities(tails: float) -> Floats:
    """Log-density of every bin's middle for every bias and scale."""
    bias, scale = _grid()
    return log_student((middles()[:, None] - bias) / scale, tails) - np.log(scale)


def log_student(z: Floats, tails: float) -> Floats:
    """Log-density of the t distribution."""
    constant = special.gammaln((tails + 1) / 2) - special.gammaln(tails / 2) - 0.5 * np.log(tails * np.pi)
    return np.asarray(constant - (tails + 1) / 2 * np.log1p(z * z / tails))


def _near(bias: float, differ: float, scale: float, uneven: float, least: float = 0.0) -> Floats:
    """Probabilities on the grid: normal in the bias and in the logarithm of a scale, above the least."""
    at, wide = _grid()
    odds = -0.5 * np.square((at - bias) / differ) - 0.5 * np.square(np.log(wide / scale) / uneven)
    likely = np.exp(odds) * np.sqrt(1 + 4 * at**2) * (wide >= least)
    return np.asarray(likely / likely.sum())


@cache
def _honest(scale: float, differ: float) -> tuple[Floats, Floats]:
    """What the honest may be like, a column each, and its log-probability.

    Near the line that most labels follow, and the less they differ the likelier.
    """
    kinds = list(product(np.linspace(-1.5, 1.5, 13), (0.1, 0.3)))
    odds = np.array([-0.5 * (centre / 0.5) ** 2 for centre, _ in kinds])
    columns = np.stack([_near(centre, differ, scale, uneven) for centre, uneven in kinds], axis=1)
    return np.vstack([columns, np.zeros_like(columns)]), odds - special.logsumexp(odds) - differ / 0.4


@cache
def _others(scale: float) -> Floats:
    """What the others may be like, a column each; the lower half of the rows is of those who do not look.

    Shifted one way or either way, noisier, or both; a tenth are like nobody else. Nobody is convicted for
    being more precise, nor for not looking if his numbers lie closer together than those of all: who has
    items of one sort alone looks the same.
    """
    shifts, noises = (1.0, 1.5, 2.0, 3.0, 4.0, 8.0, 16.0), (1.0, 1.5, 2.0, 3.0, 4.0, 8.0, 16.0)
    off = [(sign * s, 0.25 * s, noise) for sign, s, noise in product((-1, 1), shifts, noises[:4:2])]
    off += [(0.0, s, noise) for s, noise in product((0.3, *shifts), noises[:5])]
    looks = [_near(b, d, noise * scale, 0.3, 0.99 * scale) for b, d, noise in off if d > 0.3 or noise > 1]
    blind = [_near(0.0, 0.3, noise, 0.2, 0.7) for noise in noises]
    any_way = (_grid()[1] >= 0.99 * scale) / (_grid()[1] >= 0.99 * scale).sum()
    none = np.zeros(len(any_way))
    columns = [np.r_[0.9 * each + 0.1 * any_way, none] for each in looks]
    columns += [np.r_[0.1 * any_way, 0.9 * each] for each in blind]
    return np.stack([*columns, np.r_[any_way, none]], axis=1)


class Judged(NamedTuple):
    """Contributors' types (K, 3), log Bayes factors of not being honest, biases and scales; the evidence."""

    types: Floats
    log_bayes_factor: Floats
    bias: Floats
    scale: Floats
    evidence: float


def judge(
    off: Floats, apart: Floats, width: Floats, codes: Ints, credentials: Floats | None, *, others: bool
) -> Judged:
    """Weigh accounts by all contributors, and contributors by all accounts, with others or without.

    `off` says how far each number is from where it is expected, in natural spreads; `apart` how far from the
    middle of all, in the spread of all, for those who do not look; `width` is the natural spread of the row
    in units of that of all.
    """
    groups = int(codes.max()) + 1
    looks, blind = (
        sparse.csr_array((np.ones(len(off)), (codes, bins_of(x))), shape=(groups, BINS)) for x in (off, apart)
    )
    wider = np.bincount(codes, np.log(width), groups)[:, None]

    def seen(some: Ints, tails: float) -> tuple[Floats, Floats]:
        total = np.hstack([looks[some] @ _densities(tails), blind[some] @ _densities(tails) + wider[some]])
        top = total.max(axis=1, keepdims=True)
        return np.exp(total - top), top

    some = np.unique(np.linspace(0, groups - 1, min(groups, ENOUGH)).astype(np.int64))
    most = int(np.clip(ENOUGH**2 // groups, 20, 4 * ENOUGH))
    accounts = _accounts({tails: seen(some, tails) for tails in TAILS}, others, most)
    parts = np.zeros((3, groups, most))[:, :, : len(accounts.evidence)]
    own = np.zeros((2, groups))
    half = len(_grid()[0])
    for start, tails in product(range(0, groups, 20 * ENOUGH), TAILS):
        rows, which = np.arange(start, min(start + 20 * ENOUGH, groups)), accounts.tails == tails
        likely, top = seen(rows, tails)
        honest, other = accounts.honest[:, which], accounts.other[:, which]
        pairs = ((likely, honest), (likely[:, half:], other[half:]), (likely[:, :half], other[:half]))
        for part, (by, said) in zip(parts, pairs, strict=True):
            part[np.ix_(rows, which)] = np.log(by @ said + 1e-300) + top
        if which[0]:
            mixed = (1 - accounts.share[0]) * honest[:half, 0] + accounts.share[0] * other[:half, 0]
            own[:, rows] = _middle(likely[:, :half] * mixed)
    types, factor, evidence = _averaged(accounts, parts, codes, credentials)
    return Judged(types, factor, own[0], np.exp(own[1]), evidence)


def _middle(mass: Floats) -> Floats:
    """Mean bias and mean logarithm of the scale."""
    bias, scale = _grid()
    return np.asarray((mass @ np.column_stack([bias, np.log(scale)])).T / (mass.sum(axis=1) + 1e-300))


class _Accounts(NamedTuple):
    """What the honest and the others may be like (columns), how many those are, tails, and the evidence."""

    evidence: Floats
    tails: Floats
    share: Floats
    honest: Floats
    other: Floats


def _accounts(seen: dict[float, tuple[Floats, Floats]], others: bool, most: int) -> _Accounts:
    """For each way in which the honest may differ, each share and each way of others, the likeliest account.

    It stands for all that differ from it only in tails and in where and how wide the honest are.
    """
    scales, differs = 2.0 ** np.arange(-1, 0.51, 0.25), (0.1, 0.2, 0.4, 0.8)
    shares = SHARES if others else (0.0,)
    table, best = [], []
    for (likely, top), scale, differ in product(seen.values(), scales, differs):
        kinds, prior = _honest(scale, differ)
        honest = likely @ kinds + 1e-300
        other = likely @ _others(scale)[:, slice(None) if others else [-1]] + 1e-300
        hoped = np.log(0.7 * honest[:, :, None] + 0.3 * other[:, None, :]).sum(axis=0).max(axis=1) + prior
        few = np.argsort(-hoped)[:8] if others else np.arange(len(prior))
        each = np.stack(
            [np.log((1 - s) * honest[:, few, None] + s * other[:, None, :]).sum(axis=0) for s in shares]
        )
        each += prior[few, None] + top.sum() - np.log(len(shares) * other.shape[1])
        table.append(special.logsumexp(each, axis=1))
        best.append(few[each.argmax(axis=1)])
    shape = (len(seen) * len(scales), len(differs), *table[0].shape)
    evidence, kind = np.reshape(table, shape), np.reshape(best, shape)
    merged, first = special.logsumexp(evidence, axis=0), evidence.argmax(axis=0)
    chosen = np.unravel_index(np.argsort(-merged, axis=None)[:most], merged.shape)
    which = first[chosen]
    wide = scales[which % len(scales)]
    columns = [
        _honest(s, differs[d])[0][:, k] for s, d, k in zip(wide, chosen[0], kind[which, *chosen], strict=True)
    ]
    ways = [_others(s)[:, way if others else -1] for s, way in zip(wide, chosen[2], strict=True)]
    tails = np.array(list(seen))[which // len(scales)]
    share = np.array(shares)[chosen[1]]
    return _Accounts(merged[chosen], tails, share, np.stack(columns, axis=1), np.stack(ways, axis=1))


def _averaged(
    accounts: _Accounts, parts: Floats, codes: Ints, credentials: Floats | None
) -> tuple[Floats, Floats, float]:
    """Types of contributors, their Bayes factors, and the evidence, over all accounts."""
    honest, other = parts[0], np.logaddexp(parts[1], parts[2])
    share, evidence = accounts.share, accounts.evidence
    usual = np.tile(special.logit(1 - np.maximum(share, 1e-12)), (len(honest), 1))
    if credentials is not None:
        rows = np.maximum(np.bincount(codes), 1)
        means = np.stack([np.bincount(codes, each) / rows for each in credentials.T], axis=1)
        usual, gain = credited(design(means, len(means)), usual, honest - other, np.ones(len(rows)))
        evidence = evidence + gain * (share > 0)
    p, q = special.log_expit(usual), special.log_expit(-usual)
    each = np.logaddexp(p + honest, q + other)
    belief = special.softmax(evidence)
    types = np.stack([np.exp(x - each) @ belief for x in (p + honest, q + parts[1], q + parts[2])], axis=1)
    # Given the others.
    rest = evidence - each
    factor = special.logsumexp(rest + other, axis=1) - special.logsumexp(rest + honest, axis=1)
    return types, factor, float(special.logsumexp(evidence))


def credited(x: Floats, usual: Floats, odds: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Log-odds (rows, accounts) with what credentials are worth, and the log-evidence that they add.

    Weights have standard normal priors and are integrated out about their best values.
    """
    worth = np.zeros((usual.shape[1], x.shape[1]))
    each = weight[:, None]

    def information(doubt: Floats) -> Floats:
        return np.asarray(np.einsum("kp,km,kq->mpq", x, each * doubt, x, optimize=True) + np.eye(x.shape[1]))

    for _ in range(30):
        prior = special.expit(usual + x @ worth.T)
        pull = (x.T @ (each * (special.expit(usual + x @ worth.T + odds) - prior))).T - worth
        worth += np.linalg.solve(information(prior * (1 - prior)), pull[..., None])[..., 0]
    credited = usual + x @ worth.T
    prior, after = special.expit(credited), special.expit(credited + odds)
    _, curved = np.linalg.slogdet(information(prior * (1 - prior) - after * (1 - after)))
    likelihood = [
        (each * np.logaddexp(special.log_expit(z) + odds, special.log_expit(-z))).sum(axis=0)
        for z in (credited, usual)
    ]
    return credited, likelihood[0] - likelihood[1] - 0.5 * (worth**2).sum(axis=1) - 0.5 * curved
