"""Posterior of a contributor's accuracy, and its chance accuracy.

For each row the likelihood of its label is computed if it is correct (from predictions, other labels of the
item and true labels, without the label itself) and if it is wrong. The posterior of the accuracy is the
product of these likelihoods over the contributor's rows, times a population prior: regular contributors are
distributed about the peer accuracy on comparable rows, the others uniformly. A row without information has a
flat likelihood.

    kappa = (right - guessed) / (1 - guessed)

where `guessed` is what the same labels would get on items dealt at random.
"""

from typing import NamedTuple

import numpy as np
from scipy import special

from anml.annotators.collective import CollectiveErrorPosterior
from anml.annotators.params import (
    ACCURACY_CONCENTRATION,
    CELL_PSEUDO_COUNT,
    CONFUSION_CONCENTRATION,
    LOG_CONCENTRATION_SD,
    TYPE_PRIOR,
)
from anml.annotators.rows import label_counts
from anml.core.checks import Bools, Floats, Ints

# Shares of right labels at which posteriors are kept.
ACCURACY_GRID = (np.arange(200) + 0.5) / 200
# Kappa up to which labels are hardly better than guessing.
GUESSING_KAPPA = 0.15
# Rows are comparable where the likeliest class, by all but the label, is about as likely.
CLARITY_BINS = np.array([0.6, 0.8, 0.95, 0.99])


class AccuracyStats(NamedTuple):
    """Sufficient statistics of contributor accuracy; they are additive over slices.

    `logs`: log-likelihood of each contributor's labels for every accuracy of `ACCURACY_GRID` (K, grid).
    `rows`, `right`: rows, and expected correct labels, by clarity of the class posterior (K, kinds).
    `given`, `share`: label counts of each contributor (K, C), and expected rows of each true class (C,).
    `known`: rows with a true label (K,).
    `confused`: expected counts [contributor, label, true class].
    """

    logs: Floats
    rows: Floats
    right: Floats
    given: Floats
    share: Floats
    known: Floats
    confused: Floats


class AccuracyPosterior(NamedTuple):
    """Posteriors of contributors' shares of right labels on `GRID` (K, grid), beside comparable people.

    `right`: posterior of the share of labels that are what careful people of this crowd would say.
    `expected`: what others get right on rows as clear as these (K,).
    `guessed`: what the contributor's labels would get on items dealt at random (K,).
    `rows`, `known`: how many there are (K,), and the share of them whose truth is known.
    `prior`, `alone`: what is known of people before their rows, and what the rows say by themselves (K,
    grid).
    `drawn`: posterior of the share of these very rows.
    """

    right: Floats
    expected: Floats
    guessed: Floats
    rows: Floats
    prior: Floats
    alone: Floats
    known: Floats
    drawn: Floats


def accuracy_stats(
    seen: Floats, truth: Floats, y: Ints, who: Ints, count: int, to: Floats, known: Bools | None = None
) -> AccuracyStats:
    """Compute the statistics of some rows; `to` is the error distribution [true class, label].

    `seen`, `truth`: class posteriors of each row without and with its label (n, C).
    """
    n, classes = seen.shape
    at = np.arange(n), y
    right, wrong = seen[at], (seen * to[:, y].T).sum(axis=1)
    logs = [np.bincount(who, np.log(a * right + (1 - a) * wrong + 1e-12), count) for a in ACCURACY_GRID]
    kinds = len(CLARITY_BINS) + 1
    place = who * kinds + np.searchsorted(CLARITY_BINS, seen.max(axis=1))
    rows, rights = (
        np.asarray(np.bincount(place, weight, count * kinds), dtype=np.float64).reshape(count, kinds)
        for weight in (np.ones(n), truth[at])
    )
    told = np.asarray(np.bincount(who, np.zeros(n) if known is None else known, count), dtype=np.float64)
    pairs = [np.bincount(who * classes + y, p, count * classes) for p in truth.T]
    confused = np.asarray(np.stack(pairs, axis=1), dtype=np.float64)
    return AccuracyStats(
        np.stack(logs, axis=1), rows, rights, label_counts(y, who, count, classes), truth.sum(axis=0), told,
        confused.reshape(count, classes, classes),
    )  # fmt: skip


def accuracy_posterior(
    sums: AccuracyStats, ordinary: Floats, vouched: Floats, nearby: Floats | None = None
) -> AccuracyPosterior:
    """Posterior of every contributor's share of right labels.

    Each is `ordinary`, of the population, with this probability, and `vouched` for by log-odds (K,). Others
    `nearby` have such a share of the right labels that they have elsewhere (K,); None: everywhere alike.
    """
    rows, share = sums.rows.sum(axis=1), sums.share / sums.share.sum()
    guessed = (sums.given + CELL_PSEUDO_COUNT * share) @ share / (rows + CELL_PSEUDO_COUNT)
    alone = special.softmax(sums.logs, axis=1)
    for _ in range(2):
        # The second time those who hardly do better than guessing are no measure for others.
        expected = peer_accuracy_on_comparable_rows(sums.rows, sums.right, ordinary) * (
            1.0 if nearby is None else nearby
        )
        prior, drawn = _fit_population_prior(alone, expected, guessed, vouched, rows)
        right = _posterior(alone, prior)
        better = (right * ((guessed + GUESSING_KAPPA * (1 - guessed))[:, None] < ACCURACY_GRID)).sum(axis=1)
        ordinary = ordinary * better
    known = sums.known / np.maximum(rows, 1)
    return AccuracyPosterior(right, expected, guessed, rows, prior, alone, known, _posterior(alone, drawn))


def _posterior(likelihood: Floats, prior: Floats) -> Floats:
    joint = likelihood * prior
    return np.asarray(joint / joint.sum(axis=1, keepdims=True))


def peer_accuracy_on_comparable_rows(rows: Floats, right: Floats, ordinary: Floats) -> Floats:
    """Share of right labels that ordinary others have on rows as clear as each contributor's."""
    weigh, rights = ordinary[:, None] * rows, ordinary[:, None] * right
    others, theirs = weigh.sum(axis=0) - weigh, rights.sum(axis=0) - rights
    rate = (theirs + ACCURACY_CONCENTRATION * rights.sum() / max(weigh.sum(), 1e-9)) / (
        others + ACCURACY_CONCENTRATION
    )
    return np.asarray(np.clip((rows * rate).sum(axis=1) / np.maximum(rows.sum(axis=1), 1), 0.01, 0.99))


def _fit_population_prior(
    alone: Floats, expected: Floats, guessed: Floats, vouched: Floats, rows: Floats
) -> tuple[Floats, Floats]:
    """Fit the prior of each contributor's accuracy (K, grid): near peer accuracy, at chance, or uniform.

    Concentration and mixture shares maximise the marginal likelihood, with the shares of the contributor
    model as a prior worth ten contributors. Credentials shift the odds of the first component. The second
    array is the prior of the observed share of correct labels, in which a spammer's varies about chance.
    """
    # Accuracy of a spammer equals chance.
    guess = np.maximum(1 - np.abs(ACCURACY_GRID - guessed[:, None]) * len(ACCURACY_GRID), 0.0)
    guess /= np.maximum(guess.sum(axis=1, keepdims=True), 1e-12)
    found = []
    for strength in 2.0 ** np.arange(1, 9):
        near = beta_pmf(strength * expected, strength * (1 - expected))
        parts = np.stack([near, guess, np.full_like(guess, 1 / len(ACCURACY_GRID))])
        likely = np.einsum("kg,mkg->km", alone, parts)
        share, prior = TYPE_PRIOR, np.exp(np.outer(vouched, [1.0, 0.0, 0.0]))
        for _ in range(20):
            joint = likely * prior * share
            share = (joint / joint.sum(axis=1, keepdims=True)).sum(
                axis=0
            ) + ACCURACY_CONCENTRATION * TYPE_PRIOR
            share = share / share.sum()
        each = prior * share / (prior * share).sum(axis=1, keepdims=True)
        fit = (
            np.log((likely * each).sum(axis=1) + 1e-300).sum()
            + ACCURACY_CONCENTRATION * (TYPE_PRIOR * np.log(share)).sum()
        )
        fit -= 0.5 * (np.log(strength / CONFUSION_CONCENTRATION) / LOG_CONCENTRATION_SD) ** 2
        found.append((float(fit), each, parts))
    _, each, parts = max(found, key=lambda one: one[0])
    lucky = parts.copy()
    lucky[1] = beta_pmf(rows * guessed + 1, rows * (1 - guessed) + 1)
    return np.einsum("km,mkg->kg", each, parts), np.einsum("km,mkg->kg", each, lucky)


def beta_pmf(a: Floats, b: Floats) -> Floats:
    """Beta distributions with these pseudo-counts (K,), as probabilities on the grid."""
    logs = (a[:, None] - 1) * np.log(ACCURACY_GRID) + (b[:, None] - 1) * np.log1p(-ACCURACY_GRID)
    return np.asarray(special.softmax(logs, axis=1))


class AccuracyAtErrorRates(NamedTuple):
    """Worth against the truth, for some rates at which the crowd errs together.

    `right`: shares of right labels at each rate, for every share on `GRID` of what careful people would say
    (K, rates, grid), or (1, rates, grid) where they are those of everybody.
    `weight`: their probabilities (K, rates, grid).
    `expected`: what others get right on comparable rows (K, rates).
    """

    right: Floats
    weight: Floats
    expected: Floats

    def below(self, limit: Floats) -> Floats:
        """Probability that each contributor's share of right labels is below a limit (K,) or (K, rates)."""
        limit = np.broadcast_to(limit[:, None] if limit.ndim == 1 else limit, self.weight.shape[:2])
        return np.asarray((self.weight * (self.right < limit[:, :, None])).sum(axis=(1, 2)))

    def usual(self) -> Floats:
        """Peer accuracy on comparable rows, averaged over error rates (K,)."""
        return np.asarray((self.expected * self.weight.sum(axis=2)).sum(axis=1))

    def posterior(self) -> Floats:
        """Probability of each share of right labels, whatever the rate (K, grid)."""
        cells = len(ACCURACY_GRID)
        place = np.clip((self.right * cells).astype(np.int64), 0, cells - 1)
        place = place + cells * np.arange(len(self.weight))[:, None, None]
        sums = np.bincount(place.ravel(), self.weight.ravel(), self.weight[:, 0].size)
        return np.asarray(sums, dtype=np.float64).reshape(-1, cells)


def hpd_interval(posterior: Floats, confidence: float = 0.95) -> tuple[Floats, Floats]:
    """The shortest intervals with this probability, of posteriors on the grid (K, grid)."""
    count, step = len(posterior), 1 / len(ACCURACY_GRID)
    running = np.cumsum(posterior, axis=1)
    before = np.concatenate([np.zeros((count, 1)), running[:, :-1]], axis=1)
    # For each first cell the last one that is needed.
    last = np.stack(
        [(running < (before[:, [at]] + confidence - 1e-12)).sum(axis=1) for at in range(len(ACCURACY_GRID))],
        axis=1,
    )
    width = np.where(last < len(ACCURACY_GRID), last - np.arange(len(ACCURACY_GRID)), np.inf)
    first = width.argmin(axis=1)
    return first * step, (last[np.arange(count), first] + 1) * step


def adjust_for_collective_error(
    worth: AccuracyPosterior, collective: CollectiveErrorPosterior, classes: int, these: bool = False
) -> AccuracyAtErrorRates:
    """Worth against the truth: what careful people of the crowd would say is wrong at an unknown rate.

    Where the truth is known, nobody's opinion stands for it. Of `these` very rows, those that the crowd gets
    wrong are as many as chance has it.
    """
    rates, weight = collective.rates[None, :], collective.weight
    if these:
        # A normal deviate in three points: Gauss and Hermite's.
        chance = np.sqrt(3 * np.maximum(rates * (1 - rates), 0) / np.maximum(worth.rows, 1)[:, None])
        rates = np.concatenate([np.broadcast_to(rates, chance.shape), rates - chance, rates + chance], axis=1)
        weight = np.concatenate([weight * 2 / 3, weight / 6, weight / 6])
    told = worth.known if worth.known.any() else worth.known[: len(rates)]
    g = np.asarray((1 - told)[:, None] * rates)
    hit = g / max(classes - 1, 1)
    right = np.clip(ACCURACY_GRID * (1 - g)[:, :, None] + (1 - ACCURACY_GRID) * hit[:, :, None], 0.0, 1.0)
    expected = worth.expected[:, None] * (1 - g) + (1 - worth.expected[:, None]) * hit
    return AccuracyAtErrorRates(right, worth.right[:, None, :] * weight[None, :, None], expected)
