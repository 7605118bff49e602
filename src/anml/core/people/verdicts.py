"""Five words for what a contributor's labels are worth, decided on its posterior.

An accusation (no better than guessing, contradicts the others) needs ten rows, a probability of 95% by
itself, and a false discovery rate of 1% over all that are made. Everybody else is compared with what
others get right on comparable rows. Where those who contradict the others may be the ones who are right,
nobody is accused.
"""

from typing import NamedTuple

import numpy as np
from scipy import special

from anml.core.checks import Bools, Floats, Ints
from anml.core.people.consensus import CLEAR
from anml.core.people.params import STRANGE
from anml.core.people.words import CONTRADICTS, GUESSING, LESS, RELIABLE, UNSURE

# Expected share of false accusations among all that are made.
FALSE_DISCOVERIES = 0.01
# Share of others' kappa on comparable rows that parts reliable from less reliable.
WELL_BELOW = 2 / 3
# Probability at which somebody is called reliable, as an item is called clear; and, at least, less reliable
# or accused.
PROBABLY, SURELY = CLEAR, 0.95
# Log-odds beforehand of somebody being of one of two kinds that are not of the population.
NOBODY = STRANGE - np.log(2)
# Share of the rows that errors with one cause have: Beta(1, this), a ninth on average.
FEW = 8
# Nobody is accused on fewer rows.
ENOUGH_ROWS = 10
# Why somebody is not accused, whatever the rest says.
FEW_VOICES, TWO_ACCOUNTS = 1, 2


class Chances(NamedTuple):
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
    """What is said of every contributor, and how many of the accusations are expected to be false."""

    words: list[str]
    false_accusations: float


def decide(
    chances: Chances, blind: Bools, covered: Bools, mirrored: float = 0.0, spared: Ints | None = None
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
    >>> chances = Chances(guessing, np.array([0, 1, 0, 0]), less, rows)
    >>> nobody, all_ = np.zeros(4, dtype=bool), np.ones(4, dtype=bool)
    >>> decide(chances, nobody, all_).words
    ['reliable', 'contradicts the others', 'less reliable', 'cannot tell']
    """
    surely = chances.guessing * (1 - mirrored)
    why = np.zeros(len(surely)) if spared is None else spared
    # Where others do no better on comparable rows, there is nothing to accuse anybody of.
    worse = (chances.rows >= ENOUGH_ROWS) & covered & (why == 0) & (chances.less >= SURELY)
    accused = discovered(surely * worse)
    against = (chances.against > 0.5) & ~blind
    words = np.full(len(surely), UNSURE, dtype=object)
    words[(chances.less <= 1 - PROBABLY) & (chances.guessing <= 1 - PROBABLY)] = RELIABLE
    words[chances.less >= SURELY] = LESS
    words[~covered | ((why == TWO_ACCOUNTS) & (surely < SURELY))] = UNSURE
    if mirrored > FALSE_DISCOVERIES:
        words[:] = UNSURE
    words[accused & against], words[accused & ~against] = CONTRADICTS, GUESSING
    return Verdicts([str(word) for word in words], float((1 - surely)[accused].sum()))


def discovered(p: Floats) -> Bools:
    """The largest set whose expected share of errors is small, each of it sure by itself.

    Examples
    --------
    >>> discovered(np.array([0.999, 0.5, 0.97, 0.999]))
    array([ True, False, False,  True])
    """
    order = np.argsort(-p, kind="stable")
    share = np.cumsum(1 - p[order]) / np.arange(1, len(p) + 1)
    found = np.zeros(len(p), dtype=bool)
    found[order[: int((share <= FALSE_DISCOVERIES).sum())]] = True
    return found & (p >= SURELY)


def mirrored(against: Floats, rows: Floats, alike: bool = False) -> float:
    """Probability that those who contradict the others are right, and the others wrong.

    Everybody on a side is wrong, each with the prior odds of somebody like nobody; a side has its effective
    number of people, by rows. Or one person has several names, which is as unusual, and the side has as many
    people as give so many rows elsewhere: names cost nothing, rows do. Or, where those who contradict are
    `alike` in it, all of a side have one cause, such as a guideline or an order; that is as unusual too, and
    such an error usually has few of the rows.

    Examples
    --------
    >>> rows = np.full(4, 100.0)
    >>> round(mirrored(np.array([1.0, 0, 0, 0]), rows), 3), mirrored(np.array([1.0, 1, 0, 0]), rows)
    (0.005, 0.5)
    >>> eight = np.repeat([1.0, 0.0], [8, 12])
    >>> [round(mirrored(eight, np.ones(20), alike), 3) for alike in (False, True)]
    [0.0, 0.055]
    """
    total, usual = max(rows.sum(), 1e-12), np.square(rows).sum() / max(rows.sum(), 1e-12)

    def wrong(weight: Floats) -> float:
        size = weight * rows
        people = size.sum() ** 2 / max(np.square(size).sum(), 1e-12)
        fewer = 1 + min(people, size.sum() / max(usual, 1e-12))
        together = NOBODY + (FEW - 1) * np.log1p(-min(size.sum() / total, 1 - 1e-9)) if alike else -np.inf
        return float(np.logaddexp.reduce([people * NOBODY, fewer * NOBODY, together]))

    if not against @ rows > 0:
        return 0.0
    return float(special.expit(wrong(1 - against) - wrong(against)))


def rests_on_few(voices: Floats) -> Bools:
    """Whether so few speak against a contributor that they may be the ones who are wrong; see `mirrored`.

    Examples
    --------
    >>> rests_on_few(np.array([1.5, 2.0, 3.0]))
    array([ True,  True, False])
    """
    return np.asarray(special.expit((voices - 1) * NOBODY) > FALSE_DISCOVERIES)


def in_the_same_way(counts: Floats, against: Floats) -> bool:
    """Whether those who contradict the others do it alike: two of them then mostly give the same label.

    Mostly is half-way from any other label alike to always. `counts`: labels by truth of every contributor
    [contributor, label, truth].
    """
    classes = counts.shape[1]
    table = np.einsum("k,kyz->yz", against, counts) * (1 - np.eye(classes))
    given = table.sum(axis=0)
    alike = np.square(table).sum(axis=0) / np.maximum(given, 1e-12)
    mostly = (1 + 1 / max(classes - 1, 1)) / 2
    return bool(alike.sum() >= mostly * given.sum() - 1e-9 and given.sum() > 0)


def share_in_doubt(mirror: float, against: Floats, rows: Floats) -> float | None:
    """Share of the rows by those who contradict the others, where these may be right; else None."""
    return None if mirror <= FALSE_DISCOVERIES else float(against @ rows / rows.sum())
