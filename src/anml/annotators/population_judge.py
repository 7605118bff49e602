"""From a fit of the annotator model to estimates of labels and contributors: functions of one posterior."""

from typing import Any, NamedTuple

import numpy as np
from scipy import special

from anml.annotators import verdicts
from anml.annotators.judge import SURELY_WRONG, kappa_of, noise_rate_bounds
from anml.annotators.population import (
    ACCURACY,
    PSEUDO_COUNT,
    PopulationParams,
    RowPosteriors,
    log_normalise,
    type_posteriors,
)
from anml.annotators.reference import (
    ContributorPairs,
    NearestRows,
    add_pairs,
    item_pairs,
    near_pairs,
    reference,
)
from anml.annotators.result import ContributorEstimates, LabelEstimates, Neighbourhood, decompose_log_odds
from anml.annotators.rows import LabelData
from anml.annotators.words import INCONCLUSIVE
from anml.core.checks import Bools, Floats, Ints

# Kappa up to which labels are no better than guessing.
GUESSING_KAPPA = 0.15
# Of a single contributor's errors all make a share that is Beta(1, 3): its quantiles; and powers looked at.
COLLECTIVE_BETA, NODES = 4.0, 12
POWERS = 2.0 ** np.arange(-5, 0.1, 0.25)
# Rows that settle how far a power flattens the posterior.
SOME_ROWS = 20_000
# Of more rows than this the share of right labels is the accuracy.
MAX_BINOMIAL = 1_000
QUANTILES = (np.arange(20) + 0.5) / 20


class JudgingSums(NamedTuple):
    """PassSums over rows that contributors are judged by; they add up over slices.

    `known`: rows whose truth is known (K,). `lone`: labels of single-label items that predictions contradict
    (K,). `single`: rows of regular contributors on items with several labels, their expected errors, rows of
    such items, and all rows. `surest`: rows, and sums of the largest class probability, untempered and for
    every power. `told`: log-likelihood of true labels for every power. `contradicted`: labels that all else
    contradicts.
    """

    known: Floats
    lone: Floats
    single: Floats
    surest: Floats
    gold: Floats
    contradicted: Floats
    pairs: ContributorPairs

    def plus(self, other: "JudgingSums") -> "JudgingSums":
        """Return the sums of both slices together."""
        parts: Any = (one + two for one, two in zip(self[:-1], other[:-1], strict=True))
        return JudgingSums(*(*parts, add_pairs(self.pairs, other.pairs)))


class CollectiveErrors(NamedTuple):
    """Rates of collective error, the powers of the posterior that have them, and their weights."""

    rates: Floats
    powers: Floats
    weight: Floats

    def truth(self, posterior: Floats) -> Floats:
        """Posterior of the truth, from that of what the crowd would agree on."""
        logs = np.log(posterior + 1e-12)
        each = zip(self.powers, self.weight, strict=True)
        return np.asarray(sum(weight * special.softmax(power * logs, axis=1) for power, weight in each))


# No collective errors.
ALONE = CollectiveErrors(np.zeros(1), np.ones(1), np.ones(1))


class Judged(NamedTuple):
    """Estimates that the rows of every slice need.

    `mirror`: probability that the contributors who contradict the others are right; `doubtful`: their share
    of the rows if they cannot be flagged. `unsound`: probability that those who contradict a contributor are
    wrong (K,). `unseen`: that no contributor can be compared with it (K,).
    """

    people: ContributorEstimates | None
    crowd: CollectiveErrors
    mirror: float
    doubtful: float | None
    unsound: Floats
    unseen: Floats
    contradicted: int


class AccuracyPosteriors(NamedTuple):
    """Posteriors of contributors' shares of right labels on `ACCURACY` (K, grid), beside comparable others.

    `expected`: accuracy of the others. `guessed`: accuracy of the same labels on random items. `rows`,
    `told`: how many labels there are, and the share of them whose truth is known. `alone`: the posterior
    under a uniform prior.
    """

    posterior: Floats
    expected: Floats
    guessed: Floats
    rows: Floats
    gold: Floats
    alone: Floats


def by_class(params: PopulationParams, posterior: Floats) -> Floats:
    """Posterior of classes, from that of states."""
    return np.asarray(posterior.reshape(len(posterior), params.classes, -1).sum(axis=2))


def known_rows(rows: LabelData) -> Bools:
    """Rows of which it is known whether their label is right."""
    out = np.zeros(rows.n, dtype=bool)
    if rows.truth is not None:
        out |= rows.truth >= 0
    return out if rows.wrong is None else out | rows.wrong


def evidence(
    params: PopulationParams, rows: LabelData, result: RowPosteriors, near: NearestRows | None = None
) -> JudgingSums:
    """Sums of some rows; `near` are neighbours among them."""
    at, count = np.arange(rows.n), rows.count
    posterior, others = by_class(params, result.item), by_class(params, np.exp(result.others))
    contradicted = others.argmax(axis=1) != rows.y
    lone = (rows.labels_of_item == 1) & contradicted
    several = rows.labels_of_item > 1
    regular = type_posteriors(params)[rows.who, 0] * several
    single = [regular.sum(), regular @ (1 - posterior[at, rows.y]), several.sum(), rows.n]
    surest, gold = np.zeros(len(POWERS) + 2), np.zeros(len(POWERS))
    if several.any():
        subset = posterior[:: max(1, -(-rows.n // SOME_ROWS))]
        logs = np.log(subset + 1e-12)
        each = [special.softmax(power * logs, axis=1).max(axis=1).sum() for power in POWERS]
        surest = np.array([len(subset), subset.max(axis=1).sum(), *each])
    if rows.truth is not None and (rows.truth >= 0).any():
        known = np.flatnonzero(rows.truth >= 0)
        mixture = by_class(params, np.exp(log_normalise((result.cavity + result.emission)[known])))
        logs, truth = np.log(mixture + 1e-12), (np.arange(len(known)), rows.truth[known])
        gold = np.array(
            [np.log(special.softmax(power * logs, axis=1)[truth] + 1e-12).sum() for power in POWERS]
        )
    return JudgingSums(
        np.bincount(rows.who, known_rows(rows), count).astype(np.float64),
        np.bincount(rows.who, lone * posterior[at, rows.y], count).astype(np.float64),
        np.array(single), surest, gold, np.array([float(contradicted.sum())]),
        add_pairs(item_pairs(rows, posterior), near_pairs(rows, posterior, near)),
    )  # fmt: skip


def collective_error(result: JudgingSums, classes: int) -> CollectiveErrors:
    """Posterior of the rate of collective errors."""
    regular, errors, several, rows = result.single
    if not several or not regular:
        return ALONE
    shared = 1 - (1 - (np.arange(NODES) + 0.5) / NODES) ** (1 / COLLECTIVE_BETA)
    rates = np.minimum(shared / (1 - shared) * errors / regular * several / rows, 0.5)
    untempered, *by_power = result.surest[1:] / result.surest[0]
    lost = (untempered - np.array(by_power)) / max(untempered - (1 - untempered) / max(classes - 1, 1), 1e-9)
    powers = np.interp(-rates, -lost, POWERS)
    return CollectiveErrors(rates, powers, special.softmax(np.interp(powers, POWERS, result.gold)))


def judge(params: PopulationParams, result: JudgingSums, people: bool = True) -> Judged:
    """Judge contributors by the sums of all rows; without `people` there are none."""
    crowd, size, count = collective_error(result, params.classes), params.size, len(params.given)
    sound = reference(result.pairs, size / size.sum(), params.types)
    settled = result.known >= verdicts.MIN_ROWS_TO_FLAG
    unseen = np.where(settled, 0.0, sound.unseen if count > 1 else 1.0)
    if not people:
        return Judged(None, crowd, 0.0, None, np.zeros(count), unseen, int(result.contradicted[0]))
    types, guessed = type_posteriors(params), params.guessed
    baseline, flat = (np.exp(log_normalise(part)) for part in (params.prior, np.zeros((1, len(ACCURACY)))))
    mixture = _mix_types(params, types, baseline, flat)
    below = mixture * ((guessed + GUESSING_KAPPA * (1 - guessed))[:, None] > ACCURACY)
    accused = below.sum(axis=1)
    # Those who contradict it may be the ones who are wrong, if its labels follow anything: then nothing is
    # known but the population. Answers at random follow nothing.
    follows = _follows(params)
    unsound = np.where(settled, 0.0, sound.unsound) * accused * follows
    moved = (unsound / np.maximum(accused, 1e-12))[:, None]
    posterior = mixture - moved * below + unsound[:, None] * baseline
    peers = _peers(params, mixture, guessed)
    worse = mixture * ((guessed + verdicts.MIN_RELATIVE_KAPPA * peers * (1 - guessed))[:, None] > ACCURACY)
    doubted = worse.sum(axis=1)
    # Where the only other one guesses, nothing is known either.
    near = result.pairs.neighbours
    extra = np.asarray(near @ doubted) / np.maximum(np.asarray(near.sum(axis=1)), 1e-9)
    p_alone = sound.p_alone * np.maximum(doubted * follows ** np.clip(sound.neighbours - 1, 0, 1), extra)
    unseen = np.where(settled, 0.0, np.maximum(unseen, p_alone))
    posterior = (1 - unseen)[:, None] * posterior + unseen[:, None] * flat
    gold = result.known / np.maximum(size, 1)
    expected = guessed + peers * (1 - guessed)
    alone = np.exp(log_normalise(params.logs))
    accuracies = AccuracyPosteriors(posterior, expected, guessed, size, gold, alone)
    opposed = ((posterior * (guessed[:, None] > ACCURACY)).sum(axis=1) > 0.5) & (types[:, 1] < 0.5)
    minority, mirror = opposed.astype(np.float64), 0.0
    if result.known.sum() < verdicts.MIN_ROWS_TO_FLAG and count > 1:
        same_error = verdicts.errors_are_concentrated(_confusions(params), minority)
        mirror = verdicts.p_minority_correct(minority, size, same_error)
    excess = result.lone / np.maximum(size, 1) * (1 - gold)
    estimates = contributor_estimates(accuracies, crowd, params.classes, types[:, 1] >= 0.5, mirror, excess)
    doubtful = verdicts.disputed_share(mirror, minority, size)
    return Judged(estimates, crowd, mirror, doubtful, unsound, unseen, int(result.contradicted[0]))


def _mix_types(params: PopulationParams, types: Floats, baseline: Floats, flat: Floats) -> Floats:
    """Posterior of each contributor's accuracy over the types of the population."""
    regular, outlier = (
        np.exp(log_normalise(params.logs + np.log(part + 1e-300))) for part in (baseline, flat)
    )
    # A spammer is right as often as its labels are by luck.
    spammer = np.maximum(1 - np.abs(ACCURACY - params.luck[:, None]) * len(ACCURACY), 1e-9)
    spammer /= spammer.sum(axis=1, keepdims=True)
    mixture: Floats = types[:, :1] * regular + types[:, 1:2] * spammer + types[:, 2:] * outlier
    return mixture


def _follows(params: PopulationParams) -> Floats:
    """Dependence of each contributor's labels on the classes, or on nothing but one label, from 0 to 1.

    The first is their mutual information in units of the entropy of the classes.
    """
    counts = _confusions(params)
    label = counts.sum(axis=2) / np.maximum(params.size, 1)[:, None]
    alone = label[:, :, None] * params.class_shares
    joint = (counts + PSEUDO_COUNT * alone) / (np.maximum(params.size, 1) + PSEUDO_COUNT)[:, None, None]
    given, truth = joint.sum(axis=2, keepdims=True), joint.sum(axis=1, keepdims=True)
    gold = (joint * np.log(np.maximum(joint, 1e-12) / np.maximum(given * truth, 1e-12))).sum(axis=(1, 2))
    entropy = -(truth * np.log(np.maximum(truth, 1e-12))).sum(axis=(1, 2))
    constant = np.square(label).sum(axis=1)
    baseline = float(np.square(params.share).sum())
    constant = (constant - baseline) / max(1 - baseline, 1e-9)
    return np.asarray(np.clip(np.maximum(gold / np.maximum(entropy, 1e-9), constant), 0.0, 1.0))


def _peers(params: PopulationParams, mixture: Floats, guessed: Floats) -> Floats:
    """Mean kappa of the others who do better than guessing, beside one with the population's mean (K,)."""
    kappa = (ACCURACY - guessed[:, None]) / (1 - guessed[:, None])
    better = mixture * (kappa > GUESSING_KAPPA)
    better_mass, total = better.sum(axis=1), (better * kappa).sum(axis=1)
    return np.asarray((total.sum() - total + params.accuracy) / (better_mass.sum() - better_mass + 1))


def _confusions(params: PopulationParams) -> Floats:
    """Expected labels by truth [contributor, label, class]."""
    out = np.zeros((params.given.size, params.classes))
    out[params.given.ravel() > 0] = by_class(params, params.counts)
    return out.reshape(*params.given.shape, params.classes)


def contributor_estimates(
    result: AccuracyPosteriors, crowd: CollectiveErrors, classes: int, spammer: Bools, mirror: float,
    excess: Floats, covered: Bools | None = None,
) -> ContributorEstimates:  # fmt: skip
    """Verdicts and intervals from posteriors of accuracies.

    `spammer`: whose labels do not follow the truth. `excess`: share of labels that may all be wrong, so that
    intervals go down by it. `covered`: contributors that can be compared; None: all.
    """
    count, guessed = len(result.rows), result.guessed
    out, baseline = np.zeros_like(result.posterior), np.zeros(count)
    guessing, against, less = np.zeros((3, count))
    offset, others = np.arange(count)[:, None] * len(ACCURACY), max(classes - 1, 1)
    for rate, weight in zip(crowd.rates, crowd.weight, strict=True):
        lost = (rate * (1 - result.gold))[:, None]
        right = ACCURACY * (1 - lost) + (1 - ACCURACY) * lost / others
        theirs = result.expected * (1 - lost[:, 0]) + (1 - result.expected) * lost[:, 0] / others
        cell = np.minimum((right * len(ACCURACY)).astype(np.int64), len(ACCURACY) - 1) + offset
        out += weight * np.bincount(cell.ravel(), result.posterior.ravel(), out.size).reshape(out.shape)
        kappa, peers = kappa_of(right, guessed[:, None]), kappa_of(theirs, guessed)
        guessing += weight * (result.posterior * (kappa < GUESSING_KAPPA)).sum(axis=1)
        against += weight * (result.posterior * (kappa < 0)).sum(axis=1)
        less += weight * (result.posterior * (kappa < verdicts.MIN_RELATIVE_KAPPA * peers[:, None])).sum(
            axis=1
        )
        baseline += weight * theirs
    mean, (low, high) = out @ ACCURACY, shortest_interval(predictive(out, result.rows))
    low = np.maximum(low - excess, 0.0)
    chances = verdicts.VerdictProbabilities(guessing, against, less, result.rows)
    covered = np.ones(count, dtype=bool) if covered is None else covered
    words, false = verdicts.assign_verdicts(chances, spammer, covered, mirror)
    kappa, kappa_low, kappa_high = (kappa_of(part, guessed) for part in (mean, low, high))
    counts, needed = _equivalent_counts(result), _true_labels_needed(result, words)
    return ContributorEstimates(
        words, mean, low, high, kappa, kappa_low, kappa_high, baseline, *counts, needed, false
    )


def predictive(posterior: Floats, size: Floats) -> Floats:
    """Distribution of the share of right labels among as many rows (K, grid): binomial."""
    out = posterior.copy()
    for n in np.unique(np.rint(size)):
        if not 0 < n <= MAX_BINOMIAL:
            continue
        selected, hits = np.rint(size) == n, np.arange(n + 1)
        ways = special.gammaln(n + 1) - special.gammaln(hits + 1) - special.gammaln(n - hits + 1)
        logs = ways + hits * np.log(ACCURACY)[:, None] + (n - hits) * np.log1p(-ACCURACY)[:, None]
        cell = np.minimum((hits / n * len(ACCURACY)).astype(np.int64), len(ACCURACY) - 1)
        out[selected] = posterior[selected] @ (
            special.softmax(logs, axis=1) @ (cell[:, None] == np.arange(len(ACCURACY)))
        )
    return out


def shortest_interval(posterior: Floats, level: float = 0.95) -> tuple[Floats, Floats]:
    """The shortest intervals that have this probability."""
    upto = np.cumsum(posterior, axis=1)
    upto = upto / upto[:, -1:]
    before = np.concatenate([np.zeros((len(upto), 1)), upto[:, :-1]], axis=1)
    width = np.full(len(upto), len(ACCURACY) + 1)
    low, high = np.zeros((2, len(upto)), dtype=np.int64)
    for first in range(len(ACCURACY)):
        last = (upto < (before[:, first] + level)[:, None] - 1e-12).sum(axis=1)
        better = (last < len(ACCURACY)) & (last - first < width)
        width, low = np.where(better, last - first, width), np.where(better, first, low)
        high = np.where(better, last, high)
    half = 0.5 / len(ACCURACY)
    return np.maximum(ACCURACY[low] - half, 0.0), np.minimum(ACCURACY[high] + half, 1.0)


def _equivalent_counts(result: AccuracyPosteriors) -> tuple[Floats, Floats]:
    """Right and wrong labels with the information of the rows, without the prior of the population."""
    mean = result.alone @ ACCURACY
    spread = np.maximum(result.alone @ ACCURACY**2 - mean**2, 1e-6)
    # No more than there are rows, beside the one of each that a flat start counts as.
    size = np.clip(mean * (1 - mean) / spread - 1, 2.0, result.rows + 2)
    return np.maximum(mean * size - 1, 0.0), np.maximum((1 - mean) * size - 1, 0.0)


def _true_labels_needed(result: AccuracyPosteriors, words: list[str]) -> Ints:
    """True labels that settle each open verdict for 95% of the posterior of the accuracy, else 0."""
    out = np.zeros(len(words), dtype=np.int64)
    limit = result.guessed + verdicts.MIN_RELATIVE_KAPPA * np.maximum(result.expected - result.guessed, 0)
    running = np.cumsum(result.posterior, axis=1)
    for k in np.flatnonzero([word == INCONCLUSIVE for word in words]):
        at = np.minimum((running[k] < QUANTILES[:, None]).sum(axis=1), len(ACCURACY) - 1)
        each = ACCURACY[at][:, None] * np.log(ACCURACY) + (1 - ACCURACY[at])[:, None] * np.log1p(-ACCURACY)
        tried = np.unique(np.geomspace(1, max(10 * result.rows[k], 1000), 40).astype(np.int64))
        # A true label replaces what its row said before; beside rows anything may be so.
        left = np.maximum(1 - tried / result.rows[k], 0.0)[:, None] * np.log(result.alone[k] + 1e-300)
        extra = np.log(result.posterior[k] / np.maximum(result.alone[k], 1e-12) + 1 / len(ACCURACY))
        logs = tried[:, None, None] * each + left[:, None] + np.minimum(extra, 3.0)
        less = special.softmax(logs, axis=2)[:, :, limit[k] > ACCURACY].sum(axis=2)
        settled = (less <= 1 - verdicts.RELIABLE_PROBABILITY) | (less >= verdicts.FLAG_PROBABILITY)
        enough = np.flatnonzero(settled.mean(axis=1) >= verdicts.FLAG_PROBABILITY)
        # At least one true label is needed.
        needed = max(int(tried[enough[0]] if len(enough) else tried[-1]), 1)
        out[k] = needed
    return out


def label_estimates(
    params: PopulationParams, rows: LabelData, result: RowPosteriors, judged: Judged,
    shares: dict[str, float], owner: Ints | None = None,
) -> LabelEstimates:  # fmt: skip
    """Estimates of the labels of some rows; `owner` is the contributor of each period of one."""
    at, known = np.arange(rows.n), known_rows(rows)
    posterior = by_class(params, result.item)
    truth = judged.crowd.truth(posterior)
    if known.any():
        fixed = (
            known if rows.item is None or not rows.shared else np.bincount(rows.item, known)[rows.item] > 0
        )
        truth = np.where(fixed[:, None], posterior, truth)
    contributor = rows.who if owner is None else owner[rows.who]
    p, people = truth[at, rows.y], judged.people
    if people is not None:
        doubt = judged.unsound[contributor] * (rows.labels_of_item == 1) * ~known
        p = (1 - doubt) * p + doubt * np.maximum(people.expected[contributor], p)
    mean = float(p.mean())
    if judged.mirror >= 0.5:
        # Either side may be right: all labels count alike.
        p = np.full(rows.n, mean)
    p = np.clip(p, 1e-9, 1 - 1e-9)
    covered = judged.unseen < 0.5
    return LabelEstimates(
        **decompose_log_odds(p, mean, np.zeros(rows.n), people, contributor), truth=truth,
        predicted=rows.log_p,
        shares=shares,
        wrong=noise_rate_bounds(p.sum(), (p < SURELY_WRONG).sum(), judged.contradicted, rows.n),
        alone=np.zeros(rows.n, dtype=bool), mirrored=judged.mirror, doubtful=judged.doubtful,
        around=Neighbourhood(covered if people else None),
    )  # fmt: skip
