"""Places that people mark in a document: which marks stay where they overlap, and how people err.

Everything here is arrays: candidates are places that anybody marked, by document.
"""

from typing import NamedTuple

import numpy as np
from scipy import special

from anml.core.checks import Bools, Floats, Ints

# A place stays where it is at least this likely to be one: near half of a good F1 is the best cut for F1.
MIN_PROBABILITY = 0.3
# Of what people are judged by apart, beside all of it: kappa below this is hardly better than a guess.
GUESSING_KAPPA = 0.15
# How far people find what is there beforehand, its variance, and the share from which on a type is known.
DETECTION_MEAN, DETECTION_VARIANCE, TYPE_KNOWN_THRESHOLD = 0.7, 0.1, 0.8
# Draws of each person's tables, and how many marks' worth of the usual each is pulled to.
DRAWS, SHRINKAGE_COUNT = 400, 4.0


def non_overlapping_subset(
    document: Ints, start: Ints, end: Ints, p: Floats, least: float = MIN_PROBABILITY
) -> Bools:
    """The likeliest set of spans of which no two overlap: each gains what it is likelier than `least`.

    Examples
    --------
    >>> one, start, end = np.zeros(3, dtype=int), np.array([0, 2, 5]), np.array([4, 6, 8])
    >>> non_overlapping_subset(one, start, end, np.array([0.9, 0.95, 0.9]))
    array([ True, False,  True])
    """
    kept = np.zeros(len(p), dtype=bool)
    likely = np.flatnonzero(p > least)
    order = likely[np.lexsort((start[likely], end[likely], document[likely]))]
    for spans in np.split(order, np.flatnonzero(np.diff(document[order])) + 1):
        ends = end[spans]
        before = np.searchsorted(ends, start[spans], side="right")
        best, taken = np.zeros(len(spans) + 1), np.zeros(len(spans), dtype=bool)
        for at, gain in enumerate(p[spans] - least):
            # A span that begins within one that ends with it overlaps all of those that end after its start.
            last = min(int(before[at]), at)
            taken[at] = best[last] + gain > best[at]
            best[at + 1] = max(best[last] + gain, best[at])
        at = len(spans)
        while at > 0:
            if taken[at - 1]:
                kept[spans[at - 1]] = True
                at = min(int(before[at - 1]), at - 1)
            else:
                at -= 1
    return kept


class Errors(NamedTuple):
    """Expected counts for each person: what there was to find, what was marked, and what went wrong.

    `missed` of the places there are; of the places marked `invented` (nothing is there), `shifted` (another
    place that overlaps it is right) and `mistyped` (right place, wrong type).
    """

    there: Floats
    marked: Floats
    missed: Floats
    invented: Floats
    shifted: Floats
    mistyped: Floats


def count_errors(who: Ints, people: int, truth: Floats, label: Ints, near: Bools, beside: Floats) -> Errors:
    """Count how people err: `truth` (rows, types + 1) with nothing first, `label` 0 where nothing was marked.

    `near` says of a row that its person marked another place that overlaps this one; `beside` is how likely
    such another place is the right one.
    """
    n = np.arange(len(who))
    is_one, marked = 1 - truth[:, 0], label > 0
    right = np.where(marked, truth[n, label], 0.0)
    shifted = np.where(marked, truth[:, 0] * beside, 0.0)

    def total(values: Floats) -> Floats:
        return np.bincount(who, values, people).astype(np.float64)

    return Errors(
        there=total(is_one),
        marked=total(marked.astype(np.float64)),
        missed=total(np.where(marked | near, 0.0, is_one)),
        invented=total(np.where(marked, truth[:, 0], 0.0) - shifted),
        shifted=total(shifted),
        mistyped=total(np.where(marked, is_one - right, 0.0)),
    )


def p_type_guessing(tables: Floats, rng: np.random.Generator) -> Floats:
    """Probability that each person's answers hardly follow the truth, by counts (people, truth, answer).

    Examples
    --------
    >>> counts = np.array([[[50, 2], [3, 40]], [[25, 25], [25, 25.0]]])
    >>> p_type_guessing(counts, np.random.default_rng(0)).round(1)
    array([0. , 0.9])
    """
    usual = tables.sum(axis=0) + 0.5
    drawn = rng.gamma(np.broadcast_to(tables + SHRINKAGE_COUNT * usual / usual.sum(), (DRAWS, *tables.shape)))
    drawn = drawn / drawn.sum(axis=(2, 3), keepdims=True)
    right = np.einsum("dkcc->dk", drawn)
    blind = (drawn.sum(axis=2) * drawn.sum(axis=3)).sum(axis=2)
    kappa = (right - blind) / np.maximum(1 - blind, 1e-6)
    return np.asarray((kappa < GUESSING_KAPPA).mean(axis=0))


def p_detection_guessing(
    who: Ints, people: int, truth: Floats, label: Ints, near: Bools, beside: Floats
) -> tuple[Floats, Floats]:
    """Probability that what each person marks hardly depends on what is there, and on how many rows.

    That dependence is Youden's: how much more often somebody marks where something is than where nothing is.
    It is the slope of marking on the probability that something is there, so that places of which nobody
    knows tell nothing, and those who have only such places are as everybody is. A mark with other boundaries
    is found, and says nothing of places beside it.
    """
    is_one, marked = 1 - truth[:, 0], ((label > 0) | near).astype(np.float64)
    weight = np.where(near | (beside > GUESSING_KAPPA), is_one, 1.0)

    def total(values: Floats) -> Floats:
        return np.bincount(who, weight * values, people).astype(np.float64)

    rows = total(np.ones(len(who)))
    along, given = (part - (total(part) / np.maximum(rows, 1e-9))[who] for part in (is_one, marked))
    together, varies = total(along * given), total(along**2) + 1e-9
    slope = together / varies
    noise = (total((given - slope[who] * along) ** 2) + 0.25) / np.maximum(rows, 1.0)
    usual = (together.sum() + DETECTION_MEAN) / (varies.sum() + 1)
    known = varies / noise
    mean = (slope * known + usual / DETECTION_VARIANCE) / (known + 1 / DETECTION_VARIANCE)
    return special.ndtr((GUESSING_KAPPA - mean) * np.sqrt(known + 1 / DETECTION_VARIANCE)), rows


def type_confusion(who: Ints, people: int, truth: Floats, label: Ints) -> Floats:
    """Tables (people, type, type given) of marks where something is and its type is known."""
    kinds = truth.shape[1] - 1
    types = np.zeros((people, kinds, kinds))
    known = (label > 0) & (truth[:, 1:].max(axis=1) > TYPE_KNOWN_THRESHOLD * (1 - truth[:, 0]))
    for kind in range(kinds):
        np.add.at(types[:, kind], (who[known], label[known] - 1), truth[known, kind + 1])
    return types
