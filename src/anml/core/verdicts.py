"""What may be said of a contributor, apart from how far its labels are weighed.

An accusation needs more than a weight: the posterior of not being honest, a false discovery rate over all
who are accused, more evidence than contributors dealt at random from trusted rows of the same kind ever
show, and labels that are more often wrong than right where it matters.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy import special

from anml.core.checks import Bools, Floats, Ints
from anml.core.evidence.belief import Belief, Contributor, log_odds, mixed, quality_of, told_by
from anml.core.evidence.classes import RIGHT, STEPS, Annotators, Labels
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


def how_they_label(table: Floats, size: Floats, types: Floats) -> tuple[Bools, Bools]:
    """Whose labels tell nothing of the truth, and whose labels of some class are mostly wrong.

    `table` are labels by truth [contributor, label, truth]; `size` how many labels each gave.
    """
    given, truth, size = table.sum(axis=2), table.sum(axis=1), np.maximum(size, 1)
    # Of a label that tells nothing the truth is spread as over all of the contributor's rows.
    expected = given[:, :, None] * truth[:, None, :] / size[:, None, None]
    tells = np.abs(table - expected).sum(axis=(1, 2)) / (2 * size)
    most = 1 - np.square(given / size[:, None]).sum(axis=1)
    blind = (types[:, 1] > types[:, 2]) | ((tells < 0.25 * most) & (types[:, 2] > 0.5))
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
    for _ in range(STEPS // 6):
        null.pooled = np.broadcast_to(fit.pooled[like], null.pooled.shape)
        null.expect()
        null.count_matrices()
    null.judge()
    return np.asarray(special.logsumexp(null.odds[:, 1:], axis=1))


def _of(part: Floats | None, rows: Ints) -> Floats | None:
    return None if part is None else part[rows]


def judge_contributors(
    belief: Belief, fits: list[Annotators], weights: Floats, known: Bools | None, rng: np.random.Generator
) -> Belief:
    """The same belief, with a verdict on every contributor and what would settle the open ones.

    `known` are contributors whose rows others cover.
    """
    labels = fits[0].labels
    if not labels.people:
        return belief
    p = belief.p_correct
    judging = weights * [fit.people for fit in fits] + 1e-9
    judging = judging / judging.sum()
    odds = mixed(judging, [special.logsumexp(fit.odds[:, 1:], axis=1) for fit in fits])
    # That everybody may be honest speaks for who is suspected; it earns nobody's trust.
    types = mixed(judging, [fit.types for fit in fits])
    types = np.where(types[:, :1] < 0.5, mixed(weights, [fit.types for fit in fits]), types)
    told = told_by(mixed(weights, [fit.seen for fit in fits]), labels.y)
    quality, low, high, _, _ = quality_of(p, labels.who, labels.count, told)
    _, _, _, good, bad = quality_of(belief.r_free, labels.who, labels.count, told)
    shape = (labels.count, labels.classes, labels.classes)
    table = np.asarray(labels.by_both @ belief.truth).reshape(shape)
    blind, mostly_wrong = how_they_label(table, labels.size, types)
    beyond = beyond_chance(fits[int(np.argmax(weights))], rng)
    covered = np.ones(labels.count, dtype=bool) if known is None else known
    verdict, false = accuse(types, blind, mostly_wrong, beyond, covered)
    if belief.doubtful is not None:
        verdict, false = [UNSURE] * labels.count, 0.0
    verdict = [name if sure else UNSURE for name, sure in zip(verdict, covered, strict=True)]
    people = Contributor(types, verdict, odds, quality, low, high, good, bad, false)
    helps = what_would_help(people, told_by(labels.log_p, labels.y), labels.size)
    return replace(belief, contributors=people, help=helps)


def what_would_help(people: Contributor, told: float, rows: Floats) -> str | None:
    """How many known labels, or second labels, would settle what cannot be told; None where all is settled.

    A known label tells an honest contributor from one who is right half of the time by so many nats; one in
    a hundred may be misjudged. A second label tells as much less as it is right less surely: where that takes
    more than the rows there are, by contributor, it is not spoken of.
    """
    open_ = np.flatnonzero([name == UNSURE for name in people.verdict])
    if not len(open_):
        return None
    right = float(special.expit(RIGHT[0]))
    nats = right * np.log(2 * right) + (1 - right) * np.log(2 * (1 - right))
    known = np.ceil((np.log(99) - np.abs(log_odds(people.types[open_, 0]))).clip(1.0) / nats).sum()
    second = np.ceil(known / max(told, 0.1))
    whom = f"{len(open_)} contributor{'s' if len(open_) > 1 else ''}"
    needed = f"known labels for about {known:,.0f} rows of {whom}"
    if second <= rows[open_].sum():
        needed += f", or a second label by others for about {second:,.0f} of their items,"
    return f"{needed} would settle it"
