"""What rows tell of people, by all hypotheses together: sums, which add up over slices."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from anml.core.checks import Bools, Floats, Ints
from anml.core.people import worth
from anml.core.people.belief import mixed
from anml.core.people.collective import Crowd, told_of_crowd
from anml.core.people.fit import Fit
from anml.core.people.model import e_step, posterior
from anml.core.people.params import PSEUDO, Params
from anml.core.people.rows import Rows
from anml.core.people.worth import Tally


class Told(NamedTuple):
    """What rows tell before people are judged: sums, which add up over slices.

    `people`: what they say of contributors.
    `crowd`: what they say of errors that all make together.
    `right`: rights expected among labels of which nothing is known, how many these are, and both of the
    others.
    `contradicted`: labels that are not what all else says is likeliest.
    `voices`: rows of each contributor, what several copy of each other counted once.
    `excused`: labels of each contributor, the only ones of their item, that all else contradicts and that are
    believed all the same.
    """

    people: Tally
    crowd: Crowd
    right: Floats
    contradicted: int
    voices: Floats
    excused: Floats


def tell(rows: Rows, fits: Sequence[Fit], weights: Floats) -> Told:
    """What the rows of a slice tell, by all hypotheses together."""
    said = mixed(weights, [fit.truth for fit in fits])
    seen, to = _seen(fits, weights)
    ordinary = mixed(weights, [fit.params.types[:, 0] for fit in fits])[rows.who] + 1e-9
    right, known = said[np.arange(rows.n), rows.y], known_rows(rows)
    several = rows.votes > 1 if rows.shared else np.zeros(rows.n, dtype=bool)
    single = np.array([ordinary.sum(), ordinary @ several, (ordinary * several) @ (1 - right)])
    contradicted = seen.argmax(axis=1) != rows.y
    excused = np.where(several | known, 0.0, contradicted - (1 - right))
    return Told(
        worth.tally_rows(seen, said, rows.y, rows.who, rows.count, to, known),
        told_of_crowd(single, said, *known_items(rows, fits, weights)),
        np.array([right[~known].sum(), (~known).sum(), right[known].sum(), known.sum()]),
        int(contradicted.sum()),
        np.bincount(rows.who, rows.vote_weight if rows.shared else None, rows.count).astype(np.float64),
        np.bincount(rows.who, excused, rows.count).astype(np.float64),
    )


def told_of_time(rows: Rows, fits: Sequence[Fit], weights: Floats) -> tuple[Floats, Floats]:
    """How likely each label is if it is right, and if it is wrong."""
    seen, to = _seen(fits, weights)
    return seen[np.arange(rows.n), rows.y], np.asarray((seen * to[:, rows.y].T).sum(axis=1))


def _seen(fits: Sequence[Fit], weights: Floats) -> tuple[Floats, Floats]:
    """Probability of every class of each row by all but its label, and where wrong labels go."""
    seen = mixed(weights, [np.exp(fit.found.seen) for fit in fits])
    return seen, mixed(weights, [wrong_to_of(fit.params) for fit in fits])


def wrong_to_of(params: Params) -> Floats:
    """Where wrong labels of anybody go [truth, label]."""
    if params.counts is None:
        return params.wrong_to()
    either = 1 - params.types[:, 2]
    both = zip((either, 1 - either), params.counts, strict=True)
    first, second = (np.einsum("k,kyz->zy", share, counts) for share, counts in both)
    table = first + second
    off = (table + PSEUDO / max(params.classes - 1, 1)) * (1 - np.eye(params.classes))
    return np.asarray(off / np.maximum(off.sum(axis=1, keepdims=True), 1e-12))


def known_rows(rows: Rows) -> Bools:
    """Rows of which something is known beyond labels."""
    known = np.zeros(rows.n, dtype=bool) if rows.wrong is None else rows.wrong.copy()
    return known if rows.truth is None else known | (rows.truth >= 0)


def known_items(rows: Rows, fits: Sequence[Fit], weights: Floats) -> tuple[Floats, Ints]:
    """What the crowd says of items whose truth is known, that truth left aside; and the truth."""
    if rows.truth is None or not (rows.truth >= 0).any():
        return np.zeros((0, rows.classes)), np.zeros(0, dtype=np.int64)
    known = np.flatnonzero(rows.truth >= 0)
    if rows.item is not None:
        known = known[np.unique(rows.item[known], return_index=True)[1]]
    # By fits that nothing was known to: what taught the population would confirm itself.
    each = []
    for fit in fits:
        assert fit.untold is not None
        found = e_step(fit.untold, rows, fit.found)[0]
        each.append(posterior(fit.untold, rows, e_step(fit.untold, rows, found)[0]))
    return mixed(weights, each)[known], np.asarray(rows.truth[known])
