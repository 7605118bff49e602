"""What a contributor's labels are worth: how many of them are right, beside what guessing would give.

Each row says how likely its label is if it is right (by all but the label itself: predictions, other
labels of the item, known truth) and if it is wrong. So the posterior of a contributor's share of right
labels is a product over its rows, times what is known of people: most are drawn from one population, about
what others get right on comparable rows, and the rest could be anything. A row that nothing tells about
says nothing.

    kappa = (right - guessed) / (1 - guessed)

where `guessed` is what the same labels would get on items dealt at random.
"""

from typing import NamedTuple

import numpy as np
from scipy import special

from anml.core.checks import Bools, Floats, Ints
from anml.core.people.collective import Collective
from anml.core.people.params import ALIKE, PSEUDO, SKILL, USUAL, VARIES
from anml.core.people.rows import by_label

# Shares of right labels at which posteriors are kept.
GRID = (np.arange(200) + 0.5) / 200
# Kappa up to which labels are hardly better than guessing.
HARDLY = 0.15
# Rows are comparable where the likeliest class, by all but the label, is about as likely.
CLEAR = np.array([0.6, 0.8, 0.95, 0.99])


class Tally(NamedTuple):
    """What rows say of contributors: sums, which add up over slices.

    `logs`: log-likelihood of each contributor's labels for every share of right ones on `GRID` (K, grid).
    `rows`, `right`: rows, and rights expected among them, by how clear the truth is (K, kinds).
    `given`, `share`: how often each label was given (K, C), and how many rows are expected to be of each
    class (C,).
    `known`: rows whose truth is known (K,).
    `confused`: labels by what is believed of the truth [contributor, label, truth].
    """

    logs: Floats
    rows: Floats
    right: Floats
    given: Floats
    share: Floats
    known: Floats
    confused: Floats


class Worth(NamedTuple):
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


def tally_rows(
    seen: Floats, truth: Floats, y: Ints, who: Ints, count: int, to: Floats, known: Bools | None = None
) -> Tally:
    """What some rows say of their contributors; wrong labels go `to` [truth, label].

    `seen`, `truth`: probability of every class of each row by all but its label, and with it (n, C).
    """
    n, classes = seen.shape
    at = np.arange(n), y
    right, wrong = seen[at], (seen * to[:, y].T).sum(axis=1)
    logs = [np.bincount(who, np.log(a * right + (1 - a) * wrong + 1e-12), count) for a in GRID]
    kinds = len(CLEAR) + 1
    place = who * kinds + np.searchsorted(CLEAR, seen.max(axis=1))
    rows, rights = (
        np.asarray(np.bincount(place, weight, count * kinds), dtype=np.float64).reshape(count, kinds)
        for weight in (np.ones(n), truth[at])
    )
    told = np.asarray(np.bincount(who, np.zeros(n) if known is None else known, count), dtype=np.float64)
    pairs = [np.bincount(who * classes + y, p, count * classes) for p in truth.T]
    confused = np.asarray(np.stack(pairs, axis=1), dtype=np.float64)
    return Tally(
        np.stack(logs, axis=1), rows, rights, by_label(y, who, count, classes), truth.sum(axis=0), told,
        confused.reshape(count, classes, classes),
    )  # fmt: skip


def worth_of(sums: Tally, ordinary: Floats, vouched: Floats, nearby: Floats | None = None) -> Worth:
    """Posterior of every contributor's share of right labels.

    Each is `ordinary`, of the population, with this probability, and `vouched` for by log-odds (K,). Others
    `nearby` have such a share of the right labels that they have elsewhere (K,); None: everywhere alike.
    """
    rows, share = sums.rows.sum(axis=1), sums.share / sums.share.sum()
    guessed = (sums.given + PSEUDO * share) @ share / (rows + PSEUDO)
    alone = special.softmax(sums.logs, axis=1)
    for _ in range(2):
        # The second time those who hardly do better than guessing are no measure for others.
        expected = comparable(sums.rows, sums.right, ordinary) * (1.0 if nearby is None else nearby)
        prior, drawn = _population(alone, expected, guessed, vouched, rows)
        right = _posterior(alone, prior)
        better = (right * ((guessed + HARDLY * (1 - guessed))[:, None] < GRID)).sum(axis=1)
        ordinary = ordinary * better
    known = sums.known / np.maximum(rows, 1)
    return Worth(right, expected, guessed, rows, prior, alone, known, _posterior(alone, drawn))


def _posterior(likelihood: Floats, prior: Floats) -> Floats:
    joint = likelihood * prior
    return np.asarray(joint / joint.sum(axis=1, keepdims=True))


def comparable(rows: Floats, right: Floats, ordinary: Floats) -> Floats:
    """Share of right labels that ordinary others have on rows as clear as each contributor's."""
    weigh, rights = ordinary[:, None] * rows, ordinary[:, None] * right
    others, theirs = weigh.sum(axis=0) - weigh, rights.sum(axis=0) - rights
    rate = (theirs + SKILL * rights.sum() / max(weigh.sum(), 1e-9)) / (others + SKILL)
    return np.asarray(np.clip((rows * rate).sum(axis=1) / np.maximum(rows.sum(axis=1), 1), 0.01, 0.99))


def _population(
    alone: Floats, expected: Floats, guessed: Floats, vouched: Floats, rows: Floats
) -> tuple[Floats, Floats]:
    """What people are drawn from (K, grid): about what is expected of them, about guessing, or anything.

    How alike people are, and how many guess or could be anything, is what makes their rows likeliest;
    beforehand it is as in the model, as ten people say. What vouches for somebody moves the odds of the
    first. The second is the same of the share that is right among these very rows: who guesses is lucky or
    unlucky in them.
    """
    # Who does not look is right as often as by chance.
    guess = np.maximum(1 - np.abs(GRID - guessed[:, None]) * len(GRID), 0.0)
    guess /= np.maximum(guess.sum(axis=1, keepdims=True), 1e-12)
    found = []
    for strength in 2.0 ** np.arange(1, 9):
        near = beta_on_grid(strength * expected, strength * (1 - expected))
        parts = np.stack([near, guess, np.full_like(guess, 1 / len(GRID))])
        likely = np.einsum("kg,mkg->km", alone, parts)
        share, prior = USUAL, np.exp(np.outer(vouched, [1.0, 0.0, 0.0]))
        for _ in range(20):
            joint = likely * prior * share
            share = (joint / joint.sum(axis=1, keepdims=True)).sum(axis=0) + SKILL * USUAL
            share = share / share.sum()
        each = prior * share / (prior * share).sum(axis=1, keepdims=True)
        fit = np.log((likely * each).sum(axis=1) + 1e-300).sum() + SKILL * (USUAL * np.log(share)).sum()
        fit -= 0.5 * (np.log(strength / ALIKE) / VARIES) ** 2
        found.append((float(fit), each, parts))
    _, each, parts = max(found, key=lambda one: one[0])
    lucky = parts.copy()
    lucky[1] = beta_on_grid(rows * guessed + 1, rows * (1 - guessed) + 1)
    return np.einsum("km,mkg->kg", each, parts), np.einsum("km,mkg->kg", each, lucky)


def beta_on_grid(a: Floats, b: Floats) -> Floats:
    """Beta distributions with these pseudo-counts (K,), as probabilities on the grid."""
    logs = (a[:, None] - 1) * np.log(GRID) + (b[:, None] - 1) * np.log1p(-GRID)
    return np.asarray(special.softmax(logs, axis=1))


class WorthAtRates(NamedTuple):
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
        """What others get right on comparable rows, whatever the rate (K,)."""
        return np.asarray((self.expected * self.weight.sum(axis=2)).sum(axis=1))

    def posterior(self) -> Floats:
        """Probability of each share of right labels, whatever the rate (K, grid)."""
        cells = len(GRID)
        place = np.clip((self.right * cells).astype(np.int64), 0, cells - 1)
        place = place + cells * np.arange(len(self.weight))[:, None, None]
        sums = np.bincount(place.ravel(), self.weight.ravel(), self.weight[:, 0].size)
        return np.asarray(sums, dtype=np.float64).reshape(-1, cells)


def interval(posterior: Floats, confidence: float = 0.95) -> tuple[Floats, Floats]:
    """The shortest intervals with this probability, of posteriors on the grid (K, grid)."""
    count, step = len(posterior), 1 / len(GRID)
    running = np.cumsum(posterior, axis=1)
    before = np.concatenate([np.zeros((count, 1)), running[:, :-1]], axis=1)
    # For each first cell the last one that is needed.
    last = np.stack(
        [(running < (before[:, [at]] + confidence - 1e-12)).sum(axis=1) for at in range(len(GRID))], axis=1
    )
    width = np.where(last < len(GRID), last - np.arange(len(GRID)), np.inf)
    first = width.argmin(axis=1)
    return first * step, (last[np.arange(count), first] + 1) * step


def standing(worth: Worth, collective: Collective, classes: int, these: bool = False) -> WorthAtRates:
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
    right = np.clip(GRID * (1 - g)[:, :, None] + (1 - GRID) * hit[:, :, None], 0.0, 1.0)
    expected = worth.expected[:, None] * (1 - g) + (1 - worth.expected[:, None]) * hit
    return WorthAtRates(right, worth.right[:, None, :] * weight[None, :, None], expected)
