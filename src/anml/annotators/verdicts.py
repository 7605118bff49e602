"""Five words for what a contributor's labels are worth, decided on its posterior.

An accusation (no better than guessing, contradicts the others) needs ten rows, a probability of 95% by
itself, and a false discovery rate of 1% over all that are made. Everybody else is compared with what
others get right on comparable rows. Where those who contradict the others may be the ones who are right,
nobody is accused.
"""

from typing import NamedTuple

import numpy as np
from scipy import special

from anml.annotators.consensus import CLEAR_PROBABILITY
from anml.annotators.params import ATYPICAL_PRIOR_LOGIT
from anml.annotators.words import CONTRADICTS, GUESSING, INCONCLUSIVE, LESS_RELIABLE, RELIABLE
from anml.core.checks import Bools, Floats, Ints

# Expected share of false accusations among all that are made.
FALSE_DISCOVERY_RATE = 0.01
# Share of others' kappa on comparable rows that parts reliable from less reliable.
MIN_RELATIVE_KAPPA = 2 / 3
# Probability at which somebody is called reliable, as an item is called clear; and, at least, less reliable
# or accused.
RELIABLE_PROBABILITY, FLAG_PROBABILITY = CLEAR_PROBABILITY, 0.95
# Log-odds beforehand of somebody being of one of two kinds that are not of the population.
OUTLIER_LOGIT = ATYPICAL_PRIOR_LOGIT - np.log(2)
# Share of the rows that errors with one cause have: Beta(1, this), a ninth on average.
COMMON_CAUSE_BETA = 8
# Nobody is accused on fewer rows.
MIN_ROWS_TO_FLAG = 10
# Why somebody is not accused, whatever the rest says.
TOO_FEW_PEERS, MODELS_DISAGREE = 1, 2


class VerdictProbabilities(NamedTuple):
    """Of every contributor: probabilities that decide, and how many rows they rest on.

    `guessing`: that labels are hardly better than guessing.
    `against`: that labels are right less often than by chance.
    `less`: that kappa is below `WELL_BELOW` of what others have on comparable rows.
    `rows`: how many labels there are.
    """

    guessing: Floats
    against: Floats
    less: Floats
    rows: Floats


class Verdicts(NamedTuple):
    """Verdict of every contributor, and the expected number of false flags."""

    words: list[str]
    false_accusations: float


def assign_verdicts(
    chances: VerdictProbabilities,
    blind: Bools,
    covered: Bools,
    mirrored: float = 0.0,
    spared: Ints | None = None,
) -> Verdicts:
    """A verdict on every contributor.

    `blind`: whose labels follow no truth at all: guessing, however often that is wrong.
    `covered`: whose rows others cover, so that there is something to compare with.
    `mirrored`: probability that those who contradict the others are right.
    `spared`: who is not accused, by `FEW_VOICES`, or as `TWO_ACCOUNTS` of the labels judge differently: then
    nothing but *less reliable* is sure; 0 for all others; None: nobody.

    Examples
    --------
    >>> guessing, less, rows = np.array([[0, 1, 1, 0], [0, 1, 1, 0.6], [50, 50, 5, 50]])
    >>> chances = VerdictProbabilities(guessing, np.array([0, 1, 0, 0]), less, rows)
    >>> nobody, all_ = np.zeros(4, dtype=bool), np.ones(4, dtype=bool)
    >>> assign_verdicts(chances, nobody, all_).words
    ['reliable', 'contradicts the others', 'less reliable', 'inconclusive']
    """
    surely = chances.guessing * (1 - mirrored)
    why = np.zeros(len(surely)) if spared is None else spared
    # Where others do no better on comparable rows, there is nothing to accuse anybody of.
    worse = (chances.rows >= MIN_ROWS_TO_FLAG) & covered & (why == 0) & (chances.less >= FLAG_PROBABILITY)
    accused = bayesian_fdr_set(surely * worse)
    against = (chances.against >= FLAG_PROBABILITY) & ~blind
    words = np.full(len(surely), INCONCLUSIVE, dtype=object)
    words[(chances.less <= 1 - RELIABLE_PROBABILITY) & (chances.guessing <= 1 - RELIABLE_PROBABILITY)] = (
        RELIABLE
    )
    words[chances.less >= FLAG_PROBABILITY] = LESS_RELIABLE
    words[~covered | ((why == MODELS_DISAGREE) & (surely < FLAG_PROBABILITY))] = INCONCLUSIVE
    if mirrored > FALSE_DISCOVERY_RATE:
        words[:] = INCONCLUSIVE
    words[accused & against], words[accused & ~against] = CONTRADICTS, GUESSING
    return Verdicts([str(word) for word in words], float((1 - surely)[accused].sum()))


def bayesian_fdr_set(p: Floats) -> Bools:
    """The largest set whose expected share of errors is small, each of it sure by itself.

    Examples
    --------
    >>> bayesian_fdr_set(np.array([0.999, 0.5, 0.97, 0.999]))
    array([ True, False, False,  True])
    """
    order = np.argsort(-p, kind="stable")
    share = np.cumsum(1 - p[order]) / np.arange(1, len(p) + 1)
    found = np.zeros(len(p), dtype=bool)
    found[order[: int((share <= FALSE_DISCOVERY_RATE).sum())]] = True
    return found & (p >= FLAG_PROBABILITY)


def p_minority_correct(against: Floats, rows: Floats, alike: bool = False) -> float:
    """Probability that those who contradict the others are right, and the others wrong.

    Everybody on a side is wrong, each with the prior odds of somebody like nobody; a side has its effective
    number of people, by rows. Or one person has several names, which is as unusual, and the side has as many
    people as give so many rows elsewhere: names cost nothing, rows do. Or, where those who contradict are
    `alike` in it, all of a side have one cause, such as a guideline or an order; that is as unusual too, and
    such an error usually has few of the rows.

    Examples
    --------
    >>> rows = np.full(4, 100.0)
    >>> [round(p_minority_correct(np.array(lone), rows), 3) for lone in ([1.0, 0, 0, 0], [1.0, 1, 0, 0])]
    [0.005, 0.5]
    >>> eight = np.repeat([1.0, 0.0], [8, 12])
    >>> [round(p_minority_correct(eight, np.ones(20), alike), 3) for alike in (False, True)]
    [0.0, 0.055]
    """
    total, usual = max(rows.sum(), 1e-12), np.square(rows).sum() / max(rows.sum(), 1e-12)

    def wrong(weight: Floats) -> float:
        size = weight * rows
        people = size.sum() ** 2 / max(np.square(size).sum(), 1e-12)
        fewer = 1 + min(people, size.sum() / max(usual, 1e-12))
        together = (
            OUTLIER_LOGIT + (COMMON_CAUSE_BETA - 1) * np.log1p(-min(size.sum() / total, 1 - 1e-9))
            if alike
            else -np.inf
        )
        return float(np.logaddexp.reduce([people * OUTLIER_LOGIT, fewer * OUTLIER_LOGIT, together]))

    if not against @ rows > 0:
        return 0.0
    return float(special.expit(wrong(1 - against) - wrong(against)))


def too_few_independent_peers(voices: Floats) -> Bools:
    """True if so few independent opponents contradict a contributor that they may be wrong; see `mirrored`.

    Examples
    --------
    >>> too_few_independent_peers(np.array([1.5, 2.0, 3.0]))
    array([ True,  True, False])
    """
    return np.asarray(special.expit((voices - 1) * OUTLIER_LOGIT) > FALSE_DISCOVERY_RATE)


def errors_are_concentrated(counts: Floats, against: Floats) -> bool:
    """True if two contributors who contradict the others give the same wrong label in most cases.

    The threshold is half-way between uniform errors and identical errors. `counts`: expected label counts
    [contributor, label, true class].
    """
    classes = counts.shape[1]
    table = np.einsum("k,kyz->yz", against, counts) * (1 - np.eye(classes))
    given = table.sum(axis=0)
    alike = np.square(table).sum(axis=0) / np.maximum(given, 1e-12)
    mostly = (1 + 1 / max(classes - 1, 1)) / 2
    return bool(alike.sum() >= mostly * given.sum() - 1e-9 and given.sum() > 0)


def disputed_share(mirror: float, against: Floats, rows: Floats) -> float | None:
    """Share of the rows by those who contradict the others, where these may be right; else None."""
    return None if mirror <= FALSE_DISCOVERY_RATE else float(against @ rows / rows.sum())
