"""Numeric labels of contributors: which are right, who makes them otherwise, and what the right values are.

An honest label scatters about its prediction by the natural spread there, with a bias and a scale of its
contributor near those of the other honest ones. Who answers without looking gives numbers about one middle,
whatever the item; who deviates has any bias, and a scale no smaller than the honest one. How far the honest
differ, how the others are off and how many they are is integrated out. That everybody is honest is as likely
beforehand as all else: few rows do not convict, and where everybody differs nobody is convicted for it.
"""

from collections.abc import Iterable
from functools import cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse, special

from anml.annotators.rows import SideInformation, credential_design, credential_log_odds_fit
from anml.annotators.units import detect_units
from anml.core.checks import Floats, Ints

# So many contributors settle what is common to all.
CONTRIBUTOR_SUBSAMPLE = 200
# Degrees of freedom of labels about a contributor's own bias: one wild label does not make a contributor.
T_DF = 6.0
# Shares of contributors who are not honest; more than a half could not be told from the honest.
DISHONEST_SHARE_GRID = (0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5)
# Numbers are counted in so many bins: near 0 one is a seventieth of a natural spread.
BINS = 400


class NumericFit(NamedTuple):
    """Estimates for numeric labels (n,) and their contributors (K,).

    `types`: probabilities of the types regular, spammer and outlier.
    `log_bayes_factor`: log Bayes factor of not regular against regular, given all other contributors.
    `bias`, `scale`: parameters of each contributor, in units of the residual scale.
    `rate`: label error rate of regular contributors.
    `evidence`: log marginal likelihood.
    `consensus`, `doubt`: posterior mean and standard deviation of the true value.
    `residual`: label minus its leave-one-out expectation, in units of `width`, the residual scale.
    `credentials`: log-odds of a correct label contributed by credentials.
    """

    p_correct: Floats
    types: Floats
    log_bayes_factor: Floats
    bias: Floats
    scale: Floats
    rate: float
    evidence: float
    consensus: Floats
    doubt: Floats
    residual: Floats
    width: Floats
    credentials: Floats
    habits: tuple[str, ...] = ()


def fit_numbers(values: Floats, predicted: Floats, spread: Floats, side: SideInformation) -> NumericFit:
    """Weigh numeric labels, given held-out predictions and the natural spread about them.

    Everybody is honest, or somebody is not: both are believed as far as they explain the labels. Numbers in
    other units are judged as the others' units have them, and are wrong as they stand.
    """
    if side.codes is None:
        return _fit_in_common_units(values, predicted, spread, side)
    units = detect_units(values, predicted, side.codes, np.ones(len(values)))
    strange = units.other[side.codes]
    if not strange.any():
        return _fit_in_common_units(values, predicted, spread, side)
    # Everybody else's numbers are as they stand.
    slope = np.where(strange, units.slope[side.codes], 1.0)
    converted = (values - np.where(strange, units.shift[side.codes], 0.0)) / slope
    fit = _fit_in_common_units(converted, predicted, spread, side)
    types = np.where(units.other[:, None], np.array([0.0, 0.0, 1.0]), fit.types)
    residual = np.where(strange, (values - converted) / fit.width + fit.residual, fit.residual)
    names = tuple(units.named(k) for k in range(len(types)))
    p_correct = np.where(strange, 0.0, fit.p_correct)
    return fit._replace(p_correct=p_correct, types=types, residual=residual, habits=names)


def _fit_in_common_units(
    values: Floats, predicted: Floats, spread: Floats, side: SideInformation
) -> NumericFit:
    """Weigh numbers that are all in the same units."""
    plain = _fit_mixture(values, predicted, spread, side, (0.0,))
    if side.codes is None:
        return plain
    other = _fit_mixture(values, predicted, spread, side, DISHONEST_SHARE_GRID)
    belief = float(special.expit(other.evidence - plain.evidence))
    both: Any = zip(plain[:-1], other[:-1], strict=True)
    mixed = NumericFit(*((1 - belief) * a + belief * b for a, b in both))
    evidence = float(np.logaddexp(plain.evidence, other.evidence) - np.log(2))
    return mixed._replace(log_bayes_factor=other.log_bayes_factor, evidence=evidence)


def _fit_mixture(
    values: Floats, predicted: Floats, spread: Floats, side: SideInformation, shares: tuple[float, ...]
) -> NumericFit:
    """Labels explained with such shares of contributors who are not honest.

    Whom to trust, where honest labels lie and which single ones are wrong: each needs the others, in turns.
    """
    codes = np.zeros(len(values), dtype=np.int64) if side.codes is None else side.codes
    trust = right = np.ones(len(values))
    for turn in range(6):
        centre, size = _robust_line(values, predicted, spread, trust)
        residual = (values - centre) / size
        expected, scatter, right_value, error = _leave_one_out_items(
            residual, centre, size, trust * right, side, turn > 0
        )
        residual, width, before = (residual - expected) / scatter, size * scatter, trust
        # Who does not look knows what numbers are like, and not which: his scatter as all of them do.
        pool = max(float(np.ptp(np.quantile(values, [0.25, 0.75]))) / 1.349, float(np.median(width)))
        apart = (values - np.average(values, weights=trust)) / pool
        types, factor, bias, scale, evidence = _contributor_types(
            residual, apart, width / pool, codes, side, shares
        )
        trust = np.maximum(types[codes, 0], 1e-6)
        right, gain = _p_label_correct((residual - bias[codes]) / scale[codes], trust, side.credentials)
        if turn > 1 and np.abs(trust - before).max() < 0.01:
            break
    rate, evidence = float(np.average(1 - right, weights=trust)), evidence + gain - float(np.log(width).sum())
    # The robust line is about tails of four degrees: normal errors are so much wider than it says.
    own, truth = (types, factor, bias * 0.83, scale * 0.83), (centre + right_value * size, error * size)
    off = (residual * 0.83, width / 0.83, np.zeros(len(values)))
    return NumericFit(types[codes, 0] * right, *own, rate, evidence, *truth, *off)


def _robust_line(values: Floats, predicted: Floats, spread: Floats, trust: Floats) -> tuple[Floats, Floats]:
    """A robust line through trusted labels along the predictions, and the spread about it.

    Wrong labels pull predictions, and timid ones fall short at the ends.
    """
    unit = np.maximum(spread, 1e-9 * max(float(np.abs(values).max()), 1e-290))
    residual = (values - predicted) / unit
    half, ordered = len(residual) // 2, np.sort(residual)
    start = int(np.argmin(ordered[half:] - ordered[: len(residual) - half]))
    scale = float(ordered[start + half] - ordered[start]) / 1.349
    if len(residual) < 4 or scale <= 1e-6 * np.ptp(residual):
        return predicted + np.median(values - predicted), max(float(residual.std()), 1e-6) * unit
    # However many are far off, most are not: the scale stays near that of the shortest half.
    widest, along = 1.5 * scale, predicted - np.average(predicted, weights=trust)
    line = np.column_stack([np.median(unit) / unit, along / unit])
    fit = np.array([np.median(ordered[start : start + half + 1]) / np.median(line[:, 0]), 0.0])
    for _ in range(20):
        error = residual - line @ fit
        pull = trust * 5 / (4 + np.square(error / scale))
        scale = min(float(np.sqrt((pull * error**2).sum() / trust.sum())), widest)
        # Before there is evidence the slope leans by a half or so.
        prior = np.diag([1e-9, (2 * scale) ** 2])
        fit = np.linalg.solve((line.T * pull) @ line + prior, (line.T * pull) @ residual)
    return predicted + (line @ fit) * unit, scale * unit


def _leave_one_out_items(
    residual: Floats, centre: Floats, size: Floats, believed: Floats, side: SideInformation, ask: bool
) -> tuple[Floats, Floats, Floats, Floats]:
    """Leave-one-out mean and scatter of each label, and mean and error of the true value.

    The prediction is combined with the other labels of the item by precision. A true value determines the
    result.
    """
    n = len(residual)
    items = np.arange(n) if side.items is None else side.items
    same = np.arange(n) if side.codes is None else np.unique(items * n + side.codes, return_inverse=True)[1]
    fact = np.full(n, np.nan) if side.truth is None else (side.truth - centre) / size
    # A true value is a label without error, represented by a large precision.
    sure, weight = 1e12 * ~np.isnan(fact), np.minimum(believed, 0.99)
    settled = sure * np.nan_to_num(fact)
    sums = np.maximum(np.bincount(items, weight + sure), 1e-12)[items]
    left = residual - np.bincount(items, weight * residual + settled)[items] / sums
    # Share of the variance that lies within items; an item's mean takes one label's worth of freedom.
    free, total = weight @ (1 - weight / sums), max(weight @ residual**2 / weight.sum(), 1e-12)
    within = float(np.clip(weight @ left**2 / free / total, 0.05, 1.0)) if free > 1 else 0.05
    known, precision = 1 / max(1 - within, 0.05), weight / within * ask
    of, said = (np.bincount(items, x)[items] for x in (precision + sure, precision * residual + settled))
    own, own_said = (np.bincount(same, x)[same] for x in (precision, precision * residual))
    rest = np.maximum(of - own, 0)
    scatter = np.where(rest > 1e-9, np.sqrt(within + 1 / (rest + known)), 1.0)
    doubt = np.where(of < 1e9, 1 / np.sqrt(of + known), 0.0)
    return (said - own_said) / (rest + known), scatter, said / (of + known), doubt


def _bins(residual: Floats) -> Ints:
    """The bin of each number: finer near 0, and beyond 64, of arcsinh(128) = 5.5452, all are equally far."""
    return np.asarray(((np.arcsinh(2 * np.clip(residual, -64, 64)) / 5.5453 + 1) * BINS / 2).astype(np.int64))


def _densities(columns: Iterable[tuple[float, ...]]) -> Floats:
    """Log-density of every bin (rows) by t distributions of a middle, scale, tails and skew (columns)."""
    middle, scale, tails, skew = np.array([*columns]).T
    x = np.sinh(((np.arange(BINS) + 0.5) * 2 / BINS - 1) * 5.5453)[:, None] / 2 - middle
    z = x / scale * np.where(x < 0, skew, 1 / skew)
    unit = scale * (skew + 1 / skew) / 2 * np.sqrt(tails) * special.beta(0.5, tails / 2)
    return np.asarray(-(tails + 1) / 2 * np.log1p(z * z / tails) - np.log(unit))


@cache
def _priors() -> tuple[Floats, ...]:
    """Log-densities of bins by the bias and scale of a contributor, and priors of these, a column each.

    The honest are near the line that most labels follow, and the less they differ the likelier. Deviants are
    shifted one way or either way, noisier, or both; a tenth are like nobody else. Nobody is convicted for
    being more precise, nor for not looking if his numbers lie closer together than those of all: who has
    items of one sort alone looks the same. Then come the mean prior and its moments, and log-probabilities
    of pairs of an honest column and another.
    """
    grid = [*product(np.sinh(np.linspace(-5, 5, 51)) / 2, 2.0 ** np.arange(-1.5, 5.1, 0.25), [T_DF], [1.0])]
    bias, scale, *_ = np.array(grid).T

    def near(centre: float, differ: float, size: float, uneven: float, least: float) -> Floats:
        odds = -0.5 * np.square((bias - centre) / differ) - 0.5 * np.square(np.log(scale / size) / uneven)
        likely = np.exp(odds) * np.sqrt(1 + 4 * bias**2) * (scale >= least)
        return np.asarray(likely / likely.sum())

    steps, noises = 2.0 ** np.arange(0, 4.1, 0.5), 2.0 ** np.arange(-1, 2.1, 0.5)
    kinds = [*product(np.linspace(-1.5, 1.5, 13), (0.1, 0.2, 0.4, 0.8), noises[:4], (0.1, 0.3))]
    log_p = special.log_softmax([-0.5 * (centre / 0.5) ** 2 - differ / 0.4 for centre, differ, *_ in kinds])
    ways = [(w * s, s / (1 + 3 * abs(w)), noise) for w, s, noise in product((-1, 0, 1), steps, noises[:4])]
    ways += [(0.0, 0.3, 0.99 * noise) for noise in noises[1:]]
    honest = np.stack([near(*kind, 0.0) for kind in kinds], axis=1)
    deviant = np.stack([near(*way, 0.3, 0.99 * way[2]) for way in ways] + [0 * bias] * len(steps), axis=1)
    blind = np.stack([0 * bias] * len(ways) + [near(0.0, 0.3, s, 0.2, 0.7) for s in steps], axis=1)
    deviant = 0.9 * deviant + 0.1 * ((scale >= 0.99) / (scale >= 0.99).sum())[:, None]
    noisier = np.r_[[way[2] for way in ways], np.inf + steps] >= np.array(kinds)[:, 2:3]
    pairs = log_p[:, None] + special.log_softmax(np.where(noisier, 0.0, -np.inf), axis=1)
    mean = 0.9 * honest @ np.exp(log_p) + 0.1 * deviant.mean(axis=1)
    own = np.stack([mean, mean * bias, mean * np.log(scale)], axis=1)
    return _densities(grid), honest, deviant, 0.9 * blind, own, pairs


def _contributor_types(
    residual: Floats,
    apart: Floats,
    width: Floats,
    codes: Ints,
    side: SideInformation,
    shares: tuple[float, ...],
) -> tuple[Floats, Floats, Floats, Floats, float]:
    """Types of contributors, log Bayes factors of not being honest, biases, scales; the log-evidence.

    A `residual` is how far a number is from where it is expected, in natural spreads; numbers are `apart`
    from the middle of all in the spread of all, which is the unit of `width`, the natural spread.
    """
    table, *priors, pairs = _priors()
    size, wider, seen = np.bincount(codes), np.bincount(codes, np.log(width))[:, None], []
    shape = len(size), BINS
    looks, blind = (sparse.csr_array((np.ones(len(x)), (codes, _bins(x))), shape) for x in (residual, apart))
    for rows in np.array_split(np.arange(len(size)), 1 + len(size) // 1000):
        each = np.stack([looks[rows] @ table, blind[rows] @ table + wider[rows]])
        top = each.max(axis=(0, 2))
        by = np.exp(each - top[:, None])[[0, 0, 1, 0]]
        seen.append([top, *(likely @ prior + 1e-300 for likely, prior in zip(by, priors, strict=True))])
    top, honest, deviant, unseen, own = (np.concatenate(part) for part in zip(*seen, strict=True))
    some = np.unique(np.linspace(0, len(size) - 1, min(len(size), CONTRIBUTOR_SUBSAMPLE)).astype(np.int64))
    one, two = honest[some, :, None], (deviant + unseen)[some, None, :]
    total = np.stack([np.log((1 - s) * one + s * two).sum(axis=0) for s in shares]) + pairs
    # Fewer explanations are averaged the more contributors there are.
    first = np.argsort(-total, axis=None)[: int(np.clip(CONTRIBUTOR_SUBSAMPLE**2 // len(size), 20, 1000))]
    share, kind, way = np.unravel_index(first, total.shape)
    parts = np.stack([honest[:, kind], unseen[:, way], deviant[:, way]])
    usual = np.tile(special.logit(1 - np.array(shares)[share]), (len(size), 1))
    belief, gain = special.log_softmax(total.ravel()[first]), np.zeros(len(first))
    if side.credentials is not None and shares[0]:
        means = np.array([np.bincount(codes, x) for x in side.credentials.T]).T / np.maximum(size, 1)[:, None]
        odds = np.log(parts[0] / (parts[1] + parts[2]))
        usual, gain = credential_log_odds_fit(credential_design(means), usual, odds, np.ones(len(size)))
    evidence = (
        top[some].sum() + special.logsumexp(total) + special.logsumexp(belief + gain) - np.log(len(shares))
    )
    prior, belief = special.expit([usual, -usual, -usual]), special.softmax(belief + gain)
    # Each contributor is judged by what the others say of explanations.
    parts /= (prior * parts).sum(axis=0)
    factor = np.log((parts[1] + parts[2]) @ belief) - np.log(parts[0] @ belief)
    bias, log_scale = (own[:, 1:] / own[:, :1]).T
    return ((prior * parts) @ belief).T, factor, bias, np.exp(log_scale), float(evidence)


@cache
def _noise_densities() -> tuple[Floats, ...]:
    """Log-densities of bins: one part of any shape, a normal one, wrong labels to one side or scattered."""
    near = [*product(np.linspace(-1.2, 1.2, 13), 2.0 ** np.arange(-1.5, 0.6, 0.25))]
    wrong = [*product((-6, -4, -3, -2.5, -2, 2, 2.5, 3, 4, 6), (0.7, 1.5)), (0, 3), (0, 5), (0, 10), (0, 30)]
    normal, any_shape = [(100.0, 1.0)], [*product((4.0, 8.0, 100.0), 2.0 ** np.linspace(-1, 1, 7))]
    each = (near, any_shape), (near, normal), (wrong, normal)
    return tuple(_densities((*at, *shape) for at, shape in product(*part)) for part in each)


def _p_label_correct(residual: Floats, trust: Floats, credentials: Floats | None) -> tuple[Floats, float]:
    """Probability that each label of an honest contributor is right, and the evidence that some are wrong.

    None is wrong, and residuals are one part of any shape; or some are, and there are two. What is believed
    is the mean, weighted by the evidence.
    """
    place, rates = _bins(residual), np.geomspace(0.005, 0.4, 12)
    count = np.bincount(place, trust, BINS)
    some, total = np.flatnonzero(count), count.sum()
    one, right, wrong = (table[some] for table in _noise_densities())
    likely, odd = np.exp(right)[:, :, None], np.exp(wrong)[:, None, :] + 1e-300
    # What is called wrong must give a tenth of a nat each: any oddity of shape gives a little.
    each = (np.tensordot(count[some], np.log((1 - r) * likely + r * odd), 1) - 0.1 * r * total for r in rates)
    two = np.stack([*each])
    # Two parts have three numbers more (a rate, a middle, a scale): the Bayesian information criterion.
    gain = float(two.max() - (count[some] @ one).max() - 1.5 * np.log(max(total, 2.0)))
    rate, best, part = np.unravel_index(two.argmax(), two.shape)
    odds = (_noise_densities()[1][:, best] - _noise_densities()[2][:, part])[place]
    usual = np.full((len(residual), 1), special.logit(1 - rates[rate]))
    if credentials is not None:
        usual, more = credential_log_odds_fit(credential_design(credentials), usual, odds[:, None], trust)
        gain += float(more[0])
    p_wrong = special.expit(gain) * special.expit(-usual[:, 0] - odds)
    return 1 - p_wrong, float(np.logaddexp(0, gain) - np.log(2))
