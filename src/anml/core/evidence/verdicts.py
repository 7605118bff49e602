"""What may be said of a contributor, apart from how far its labels are weighed.

An accusation needs more than a weight: the posterior of not being honest, a false discovery rate over all
who are accused, more evidence than contributors dealt at random from trusted rows of the same kind ever
show, and labels that are more often wrong than right where it matters.
"""

from typing import NamedTuple

import numpy as np
from scipy import special

from anml.core.checks import Bools, Floats, Ints
from anml.core.evidence.classes import ALONE, Annotators, Labels
from anml.core.evidence.side import Side

TRUSTED, UNSURE = "trusted", "cannot tell"
BLIND, CONTRADICTS = "answers without looking", "contradicts the others"
VERDICTS = (TRUSTED, UNSURE, BLIND, CONTRADICTS)
ACCUSED = (BLIND, CONTRADICTS)

# Expected share of false accusations among all that are made.
FALSE_DISCOVERIES = 0.01
# A contributor is trusted at this probability of being honest.
PROBABLY = 0.9
# By so many labels the wrong ones of a class must outnumber the right ones: one toss in sixteen, of a coin.
MORE_WRONG = 4.0
# Contributors dealt at random for each that might be accused.
DEALT = 30
# Above this share of the rows, those who contradict the others may be the ones who are right.
LARGE_CAMP = 0.38


class Accusation(NamedTuple):
    """Who is accused, of what, and how many of the accusations are expected to be false."""

    verdict: list[str]
    false_accusations: float


def accuse(types: Floats, blind: Bools, mostly_wrong: Bools, beyond: Bools, known: Bools) -> Accusation:
    """A verdict for every contributor.

    Parameters
    ----------
    types
        Posterior of honest, spammer, deviant (contributors, 3).
    blind
        Whose labels tell nothing of the truth.
    mostly_wrong
        Whose labels of some class are more often wrong than right.
    beyond
        Whose evidence is beyond that of contributors dealt at random.
    known
        Whose rows are covered by others, so that there is something to compare with.

    Examples
    --------
    >>> types = np.array([[1, 0, 0], [0.001, 0, 0.999], [0.6, 0.2, 0.2]])
    >>> yes = np.ones(3, dtype=bool)
    >>> accuse(types, ~yes, yes, yes, yes).verdict
    ['trusted', 'contradicts the others', 'cannot tell']
    """
    honest = types[:, 0]
    candidate = (blind | mostly_wrong) & beyond & known & (honest < 0.5)
    order = np.argsort(np.where(candidate, honest, 2.0), kind="stable")
    expected = np.cumsum(honest[order]) / np.arange(1, len(honest) + 1)
    count = int(candidate.sum())
    below = np.flatnonzero(expected[:count] <= FALSE_DISCOVERIES)
    accused = np.zeros(len(honest), dtype=bool)
    if len(below):
        accused[order[: below[-1] + 1]] = True
    verdict = np.where(honest >= PROBABLY, TRUSTED, UNSURE).astype(object)
    verdict[accused & blind], verdict[accused & ~blind] = BLIND, CONTRADICTS
    return Accusation([str(name) for name in verdict], float(honest[accused].sum()))


def how_they_label(fits: list[Annotators], weights: Floats, p_correct: Floats) -> tuple[Bools, Bools]:
    """Whose labels tell nothing of the truth, and whose labels of some class are mostly wrong."""
    labels = fits[0].labels
    posterior = sum(w * fit.posterior() for w, fit in zip(weights, fits, strict=True))
    shape = (labels.count, labels.classes, labels.classes)
    # [contributor, label, truth], in labels
    table = np.asarray(labels.by_both @ posterior).reshape(shape)
    spam = sum(w * fit.types[:, 1] for w, fit in zip(weights, fits, strict=True))
    deviant = sum(w * fit.types[:, 2] for w, fit in zip(weights, fits, strict=True))
    # Of a label that tells nothing the truth is spread as over all of the contributor's rows.
    given, truth = table.sum(axis=2), table.sum(axis=1)
    size = np.maximum(labels.size, 1)[:, None, None]
    expected = given[:, :, None] * truth[:, None, :] / size
    tells = np.abs(table - expected).sum(axis=(1, 2)) / (2 * size[:, 0, 0])
    most = 1 - np.square(given / size[:, 0]).sum(axis=1)
    blind = (spam > deviant) | ((tells < 0.25 * most) & (deviant > 0.5))
    right = np.einsum("kcc->kc", table)
    # Of a class, or among the labels that name it, so many more wrong than right that it is no accident.
    by_truth = truth - 2 * right >= MORE_WRONG
    by_label = given - 2 * right >= MORE_WRONG
    return np.asarray(blind), np.asarray((by_truth | by_label).any(axis=1))


def beyond_chance(fit: Annotators, rng: np.random.Generator) -> Bools:
    """Whose odds of not being honest exceed those of contributors dealt at random.

    For each suspect, contributors of the same size are dealt rows of trusted contributors, of the classes
    and the difficulty of the suspect's own rows, and judged by the same parameters.
    """
    labels = fit.labels
    suspects = np.flatnonzero(fit.types[:, 0] < 0.5)
    odds = special.logsumexp(fit.odds[:, 1:], axis=1)
    beyond = np.ones(labels.count, dtype=bool)
    pool = np.flatnonzero(fit.types[labels.who, 0] > 0.5)
    if not len(suspects) or len(pool) < 20:
        beyond[suspects] = False
        return beyond
    kind = _kinds(fit.seen)
    by_kind = [pool[kind[pool] == k] for k in range(int(kind.max()) + 1)]
    most = max(1, 50_000 // (DEALT * len(suspects)))
    for k in suspects:
        own = np.flatnonzero(labels.who == k)[:most]
        rows, who = _dealt(kind[own], by_kind, pool, rng)
        beyond[k] = odds[k] > _judged(fit, rows, who, int(k)).max()
    return beyond


def _kinds(seen: Floats) -> Ints:
    """The kind of each row: its likeliest class, and whether that is clear."""
    clear = seen.max(axis=1)
    return np.asarray(seen.argmax(axis=1) * 2 + (clear > np.median(clear)))


def _dealt(kinds: Ints, by_kind: list[Ints], pool: Ints, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Rows of `DEALT` contributors like one of these kinds, and which of them each row is dealt to."""
    rows = np.empty((DEALT, len(kinds)), dtype=np.int64)
    for kind in np.unique(kinds):
        some = by_kind[kind] if len(by_kind[kind]) else pool
        here = np.flatnonzero(kinds == kind)
        rows[:, here] = rng.choice(some, (DEALT, len(here)))
    return rows.ravel(), np.repeat(np.arange(DEALT), len(kinds))


def _judged(fit: Annotators, rows: Ints, who: Ints, like: int) -> Floats:
    """Log Bayes factor of not being honest of contributors with these rows."""
    side = fit.labels.side
    dealt = Labels(fit.seen[rows], fit.labels.y[rows], Side(who, _of(side.credentials, rows)))
    dealt.features = fit.labels.features[rows]
    null = Annotators(dealt, fit.noise, 1.0, fit.base)
    null.by_class, null.worth, null.class_prior = fit.by_class, fit.worth, fit.class_prior
    null.bad_worth = np.zeros(dealt.means.shape[1])
    for _ in range(ALONE):
        null.pooled = np.broadcast_to(fit.pooled[like], null.pooled.shape)
        null.expect()
        null.count_matrices()
    null.judge()
    return np.asarray(special.logsumexp(null.odds[:, 1:], axis=1))


def _of(part: Floats | None, rows: Ints) -> Floats | None:
    return None if part is None else part[rows]


def reason_for_doubt(opposed: float) -> str | None:
    """Why nobody can be accused: those who contradict the others may be right; None where that is clear."""
    if opposed > LARGE_CAMP:
        return (
            f"contributors of {opposed:.0%} of the rows contradict the others, and which of the two sides is "
            "right cannot be told from the labels alone"
        )
    return None
