"""Numeric labels of contributors: which are right, who makes them otherwise, and what the right values are.

An honest label scatters about its prediction by the natural spread there, with a bias and a scale of its
contributor near those of the other honest ones. Who answers without looking gives numbers about one middle,
whatever the item; who deviates has any bias, and a scale no smaller than the honest one. What the honest are
like, in which way the others are off and how many they are is not known: every account of it is weighed by
how likely it makes all labels, and as much as all others together the account that everybody is honest.
So few rows do not convict, and where everybody differs nobody is convicted for it.
"""

from functools import cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from anml.core.checks import Bools, Floats, Ints
from anml.core.evidence.population import (
    BINS,
    Judged,
    bins_of,
    credited,
    judge,
    log_student,
    middles,
)
from anml.core.evidence.side import Side, design

# What each single label that is called wrong must give, in nats: any oddity of shape gives a little.
LEAST_EACH = 0.1


class NumericFit(NamedTuple):
    """What is believed of labels (n,) and of contributors (K,).

    `types` are probabilities of being honest, of answering without looking and of deviating;
    `log_bayes_factor` says how much likelier a contributor's labels are if it is not honest, given all
    others; `bias` and `scale` are in natural spreads. `rate` is the share of wrong labels among the honest,
    `evidence` the log marginal likelihood, `consensus` and `doubt` mean and deviation of the right value.
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


def fit_numbers(values: Floats, predicted: Floats, spread: Floats, side: Side) -> NumericFit:
    """Weigh numeric labels, given held-out predictions and the natural spread about them.

    Everybody is honest, or somebody is not: both are believed as far as they explain the labels.
    """
    plain = _explained(values, predicted, spread, side, others=False)
    if side.codes is None:
        return plain
    other = _explained(values, predicted, spread, side, others=True)
    belief = float(special.expit(other.evidence - plain.evidence))
    mixed: Any = [
        (1 - belief) * np.asarray(a) + belief * np.asarray(b) for a, b in zip(plain, other, strict=True)
    ]
    evidence = float(np.logaddexp(plain.evidence, other.evidence) - np.log(2))
    return NumericFit(*mixed)._replace(
        rate=float(mixed[5]), evidence=evidence, log_bayes_factor=other.log_bayes_factor
    )


def _explained(values: Floats, predicted: Floats, spread: Floats, side: Side, *, others: bool) -> NumericFit:
    """Labels explained with or without contributors who are not honest.

    Whom to trust, where honest labels lie and which single ones are wrong: each needs the others, in turns.
    """
    n = len(values)
    codes = np.zeros(n, dtype=np.int64) if side.codes is None else side.codes
    groups = int(codes.max()) + 1
    nothing = np.zeros(groups)
    people = Judged(np.tile([1.0, 0.0, 0.0], (groups, 1)), nothing, nothing, nothing + 1, 0.0)
    trust, right = np.ones(n), np.ones(n)
    for turn in range(6 if others else 3):
        centre, size = _straight(values, predicted, spread, trust)
        off = (values - centre) / size
        expected, scatter, right_value, doubt = _items(off, centre, size, trust * right, side, turn > 0)
        off, width = (off - expected) / scatter, size * scatter
        before = trust
        if side.codes is not None:
            # Who does not look knows what numbers are like, and not which: his scatter as all of them do.
            pool = max(
                float(np.subtract(*np.quantile(values, [0.75, 0.25]))) / 1.349, float(np.median(width))
            )
            apart = (values - np.average(values, weights=trust)) / pool
            people = judge(off, apart, width / pool, codes, side.credentials, others=others)
            trust = np.maximum(people.types[codes, 0], 1e-6)
        left = (off - people.bias[codes]) / people.scale[codes]
        right, rate, alone, gain = _single(left, trust, side.credentials)
        if turn > 1 and np.abs(trust - before).max() < 0.01:
            break
    evidence = (alone if side.codes is None else people.evidence) + gain - float(np.log(width).sum())
    # The robust line is about tails of four degrees: normal errors are so much wider than it says.
    bias, scale = people.bias * 0.83, people.scale * 0.83
    correct, consensus = people.types[codes, 0] * right, centre + right_value * size
    own = people.types, people.log_bayes_factor, bias, scale
    return NumericFit(correct, *own, rate, evidence, consensus, doubt * size)


def _straight(values: Floats, predicted: Floats, spread: Floats, trust: Floats) -> tuple[Floats, Floats]:
    """A robust line through trusted labels along the predictions, and the spread about it.

    Wrong labels pull predictions, and timid ones fall short at the ends.
    """
    unit = np.maximum(spread, 1e-9 * max(float(np.abs(values).max()), 1e-290))
    off = (values - predicted) / unit
    half = len(off) // 2
    ordered = np.sort(off)
    lengths = ordered[half:] - ordered[: len(off) - half]
    start = int(np.argmin(lengths))
    scale = float(lengths[start]) / 1.349
    if len(off) < 4 or scale <= 1e-6 * np.ptp(off):
        return predicted + np.median(values - predicted), max(float(off.std()), 1e-6) * unit
    # However many are far off, most are not: the scale stays near that of the shortest half.
    widest = 1.5 * scale
    line = np.column_stack(
        [np.median(unit) / unit, (predicted - np.average(predicted, weights=trust)) / unit]
    )
    fit = np.array([np.median(ordered[start : start + half + 1]) / np.median(line[:, 0]), 0.0])
    for _ in range(20):
        error = off - line @ fit
        pull = trust * 5 / (4 + np.square(error / scale))
        scale = min(float(np.sqrt((pull * error**2).sum() / trust.sum())), widest)
        # Before there is evidence the slope leans by a half or so.
        prior = np.diag([1e-9, (2 * scale) ** 2])
        fit = np.linalg.solve((line.T * pull) @ line + prior, (line.T * pull) @ off)
    return predicted + (line @ fit) * unit, scale * unit


def _items(
    off: Floats, centre: Floats, size: Floats, believed: Floats, side: Side, ask: bool
) -> tuple[Floats, Floats, Floats, Floats]:
    """Where each label is expected by all but its contributor, its scatter, the right value and its doubt.

    The prediction is joined with the other labels of the item by their precisions; a known value settles it.
    """
    n = len(off)
    items = np.arange(n) if side.items is None else side.items
    fact = np.full(n, np.nan) if side.truth is None else (side.truth - centre) / size
    told = np.bincount(items, ~np.isnan(fact))[items]
    fact = np.bincount(items, np.nan_to_num(fact))[items] / np.maximum(told, 1)
    weight = np.minimum(believed, 0.99)
    within = _within(off, weight, items, told > 0, fact)
    precision, known = weight / within, 1 / max(1 - within, 0.05)
    same = np.arange(n) if side.codes is None else np.unique(items * n + side.codes, return_inverse=True)[1]
    of, said = (np.bincount(items, part)[items] for part in (precision, precision * off))
    own, own_said = (np.bincount(same, part)[same] for part in (precision, precision * off))
    others = np.maximum(of - own, 0) if ask else np.zeros(n)
    expected = np.where(others > 1e-9, (said - own_said) / (others + known), 0.0)
    scatter = np.where(others > 1e-9, np.sqrt(within + 1 / (others + known)), 1.0)
    return (
        np.where(told > 0, fact, expected),
        np.where(told > 0, np.sqrt(within), scatter),
        np.where(told > 0, fact, said / (of + known)),
        np.where(told > 0, 0.0, 1 / np.sqrt(of + known)),
    )


def _within(off: Floats, weight: Floats, items: Ints, told: Bools, fact: Floats) -> float:
    """Share of the variance that lies between labels of one item, or about its known value."""
    sums = np.maximum(np.bincount(items, weight), 1e-12)
    mean = np.bincount(items, weight * off) / sums
    left = weight * np.square(off - np.where(told, fact, mean[items]))
    # An item's mean takes one label's worth of freedom.
    free = float((weight * np.where(told, 1.0, 1 - weight / sums[items])).sum())
    total = max(float((weight * off**2).sum() / weight.sum()), 1e-12)
    return float(np.clip(left.sum() / free / total, 0.05, 1.0)) if free > 1 else 0.05


@cache
def _shapes() -> tuple[Floats, Floats, Floats]:
    """Log-densities of bins: of one part of any tails and lopsidedness, of a normal part, of wrong labels.

    Wrong labels lie to one side, or scatter.
    """
    x = middles()[:, None]
    middle, scale = np.array([*product(np.linspace(-1.2, 1.2, 13), 2.0 ** np.arange(-1.5, 0.6, 0.25))]).T
    z, one = (x - middle) / scale, []
    for tails, skew in product((4.0, 8.0, 100.0), 2.0 ** np.linspace(-1, 1, 7)):
        density = log_student(z * np.where(z < 0, skew, 1 / skew), tails)
        one.append(density - np.log(scale * (skew + 1 / skew) / 2))
    sides = np.array(
        [*product((-6, -4, -3, -2.5, -2, 2, 2.5, 3, 4, 6), (0.7, 1.5)), (0, 3), (0, 5), (0, 10), (0, 30)]
    )
    wrong = log_student((x - sides[:, 0]) / sides[:, 1], 100.0) - np.log(sides[:, 1])
    return np.hstack(one), log_student(z, 100.0) - np.log(scale), wrong


def _single(off: Floats, trust: Floats, credentials: Floats | None) -> tuple[Floats, float, float, float]:
    """Probability that each label of an honest contributor is right, and the share that is not.

    And the log-evidence if none is wrong, and what is gained above it.

    None is wrong, and residuals are one part of any shape; or some are, and there are two. What is believed
    is the mean, weighted by the evidence.
    """
    place = bins_of(off)
    count = np.bincount(place, trust, BINS)
    some = np.flatnonzero(count)
    one, right, wrong = (table[some] for table in _shapes())
    rates = np.geomspace(0.005, 0.4, 12)
    likely, odd = np.exp(right)[:, :, None], np.exp(wrong)[:, None, :] + 1e-300
    each = [np.tensordot(count[some], np.log((1 - r) * likely + r * odd), 1) for r in rates]
    two = np.stack(each) - LEAST_EACH * rates[:, None, None] * count.sum()
    plain = float((count[some] @ one).max())
    # Two parts have three numbers more (a rate, a middle, a scale): the Bayesian information criterion.
    gain = float(two.max()) - plain - 1.5 * np.log(max(count.sum(), 2.0))
    rate, best, part = np.unravel_index(two.argmax(), two.shape)
    odds = (_shapes()[1][:, best] - _shapes()[2][:, part])[place]
    usual = np.full(len(off), special.logit(1 - rates[rate]))
    if credentials is not None:
        lifted, more = credited(design(credentials, len(credentials)), usual[:, None], odds[:, None], trust)
        usual, gain = lifted[:, 0], gain + float(more[0])
    doubt = special.expit(gain) * special.expit(-usual - odds)
    share = float(np.average(doubt, weights=trust))
    return 1 - doubt, share, plain, float(np.logaddexp(0, gain) - np.log(2))
