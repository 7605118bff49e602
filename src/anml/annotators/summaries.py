"""Sufficient statistics of contributors, averaged over hypotheses; they are additive over slices."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from anml.annotators import skill as worth
from anml.annotators.collective import CollectiveErrorStats, collective_error_stats
from anml.annotators.fit import RowFit
from anml.annotators.model import class_posterior, e_step
from anml.annotators.params import CELL_PSEUDO_COUNT, Params
from anml.annotators.result import average_over_hypotheses
from anml.annotators.rows import LabelData
from anml.annotators.skill import AccuracyStats
from anml.core.checks import Bools, Floats, Ints


class SufficientStats(NamedTuple):
    """Sufficient statistics from which contributors are estimated; they are additive over slices.

    `people`: statistics of contributor accuracy.
    `crowd`: statistics of collective errors.
    `right`: expected correct labels and number of rows, without and with true labels.
    `contradicted`: number of labels that differ from the most probable class without the label.
    `voices`: rows of each contributor, where labels of a copy group count once.
    `excused`: expected correct labels among the contradicted single labels of each contributor.
    """

    people: AccuracyStats
    crowd: CollectiveErrorStats
    right: Floats
    contradicted: int
    voices: Floats
    excused: Floats


def sufficient_stats(rows: LabelData, fits: Sequence[RowFit], weights: Floats) -> SufficientStats:
    """Compute the statistics of the rows of a slice, averaged over hypotheses."""
    said = average_over_hypotheses(weights, [fit.truth for fit in fits])
    seen, to = _leave_label_out(fits, weights)
    ordinary = average_over_hypotheses(weights, [fit.params.types[:, 0] for fit in fits])[rows.who] + 1e-9
    right, known = said[np.arange(rows.n), rows.y], gold_rows(rows)
    several = rows.votes > 1 if rows.shared else np.zeros(rows.n, dtype=bool)
    single = np.array([ordinary.sum(), ordinary @ several, (ordinary * several) @ (1 - right)])
    contradicted = seen.argmax(axis=1) != rows.y
    excused = np.where(several | known, 0.0, contradicted - (1 - right))
    return SufficientStats(
        worth.accuracy_stats(seen, said, rows.y, rows.who, rows.count, to, known),
        collective_error_stats(single, said, *gold_items(rows, fits, weights)),
        np.array([right[~known].sum(), (~known).sum(), right[known].sum(), known.sum()]),
        int(contradicted.sum()),
        np.bincount(rows.who, rows.vote_weight if rows.shared else None, rows.count).astype(np.float64),
        np.bincount(rows.who, excused, rows.count).astype(np.float64),
    )


def label_likelihoods(rows: LabelData, fits: Sequence[RowFit], weights: Floats) -> tuple[Floats, Floats]:
    """Likelihoods of each label if it is correct and if it is wrong."""
    seen, to = _leave_label_out(fits, weights)
    return seen[np.arange(rows.n), rows.y], np.asarray((seen * to[:, rows.y].T).sum(axis=1))


def _leave_label_out(fits: Sequence[RowFit], weights: Floats) -> tuple[Floats, Floats]:
    """Probability of every class of each row by all but its label, and where wrong labels go."""
    seen = average_over_hypotheses(weights, [np.exp(fit.found.seen) for fit in fits])
    return seen, average_over_hypotheses(weights, [error_distribution_of(fit.params) for fit in fits])


def error_distribution_of(params: Params) -> Floats:
    """Error distribution of all contributors [true class, label]."""
    if params.counts is None:
        return params.wrong_to()
    either = 1 - params.types[:, 2]
    both = zip((either, 1 - either), params.counts, strict=True)
    first, second = (np.einsum("k,kyz->zy", share, counts) for share, counts in both)
    table = first + second
    off = (table + CELL_PSEUDO_COUNT / max(params.classes - 1, 1)) * (1 - np.eye(params.classes))
    return np.asarray(off / np.maximum(off.sum(axis=1, keepdims=True), 1e-12))


def gold_rows(rows: LabelData) -> Bools:
    """LabelData of which something is known beyond labels."""
    known = np.zeros(rows.n, dtype=bool) if rows.wrong is None else rows.wrong.copy()
    return known if rows.truth is None else known | (rows.truth >= 0)


def gold_items(rows: LabelData, fits: Sequence[RowFit], weights: Floats) -> tuple[Floats, Ints]:
    """Class posteriors of the items with a true label, computed without it, and the true labels."""
    if rows.truth is None or not (rows.truth >= 0).any():
        return np.zeros((0, rows.classes)), np.zeros(0, dtype=np.int64)
    known = np.flatnonzero(rows.truth >= 0)
    if rows.item is not None:
        known = known[np.unique(rows.item[known], return_index=True)[1]]
    # From fits without true labels, which would otherwise confirm themselves.
    each = []
    for fit in fits:
        assert fit.untold is not None
        found = e_step(fit.untold, rows, fit.found)[0]
        each.append(class_posterior(fit.untold, rows, e_step(fit.untold, rows, found)[0]))
    return average_over_hypotheses(weights, each)[known], np.asarray(rows.truth[known])
