"""Bulyan: El Mhamdi, Guerraoui and Rouault, ICML 2018."""

from typing import Any

import numpy as np

from anml.core.checks import Array, Floats, Ints
from anml.federated.krum import krum_scores_from_distances
from anml.federated.updates import (
    Aggregated,
    Updates,
    as_updates,
    check_malicious,
    column_blocks,
    squared_distances,
)


def bulyan(updates: Any, malicious: int) -> Aggregated:
    """Let Krum choose n - 2 f clients one after the other, then average what lies nearest their median.

    Of every parameter the n - 4 f values nearest the median of the chosen are averaged. A client's score is
    how early it was chosen. Its weakness: it needs n >= 4 f + 3 clients, so it stands fewer liars than
    others.
    """
    given = as_updates(updates)
    n = len(given)
    f = check_malicious(malicious, n, (n - 3) // 4, "Bulyan", "n >= 4 f + 3")
    chosen = _krum_selection(squared_distances(given), f)
    scores = np.zeros(n)
    scores[chosen] = 1 - np.arange(len(chosen)) / n
    update = _near_median(given, np.sort(chosen), len(chosen) - 2 * f)
    return Aggregated(update, scores, (scores > 0) / len(chosen))


def _krum_selection(apart: Floats, f: int) -> Ints:
    """Winners of Krum, each taken out before the next is sought, until n - 2 f are chosen."""
    n = len(apart)
    left = np.arange(n)
    winners: list[int] = []
    while len(winners) < n - 2 * f:
        # With few left there are fewer neighbours to ask, but always one.
        count = max(len(left) - f - 2, 1)
        rest = apart[np.ix_(left, left)]
        scores = krum_scores_from_distances(rest, 0, count) if len(left) > 2 else rest.sum(axis=1)
        # Two that are each other's only neighbour have equal scores: then whoever is nearer to all.
        level = np.flatnonzero(scores <= scores.min() * (1 + 1e-9))
        place = int(level[apart[np.ix_(left[level], np.arange(n))].sum(axis=1).argmin()])
        winners.append(int(left[place]))
        left = np.delete(left, place)
    return np.array(winners)


def _near_median(updates: Updates, chosen: Ints, keep: int) -> Array:
    """Mean of the chosen values nearest their median, parameter by parameter.

    Nearest values are neighbours once they are sorted, so only where they begin has to be found.
    """
    count = len(chosen)
    result = np.empty(updates.shape[1], dtype=updates.dtype)
    for block in column_blocks(updates):
        ordered = np.sort(np.ascontiguousarray(updates[:, block][chosen].T), axis=1)
        middle = ordered[:, (count - 1) // 2] / 2 + ordered[:, count // 2] / 2
        first, last = ordered[:, : count - keep + 1], ordered[:, keep - 1 :]
        # Of windows of `keep` neighbours the nearest is where the far end changes from left to right of the
        # median, or the one before it.
        twice = 2 * middle
        start = np.minimum(np.count_nonzero(first + last < twice[:, None], axis=1), count - keep)
        before = np.maximum(start - 1, 0)
        row = np.arange(len(start))
        right, left = last[row, start] - middle, middle - first[row, before]
        start = np.where(left <= np.maximum(right, middle - first[row, start]), before, start)
        window = start[:, None] + np.arange(keep)
        result[block] = np.take_along_axis(ordered, window, axis=1).mean(axis=1)
    return result
