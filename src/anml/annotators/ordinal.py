"""Grades by people who may shift, or use little of the scale: a likelihood that knows the order.

Somebody grades an item of grade z as middle + slope (z - middle) + shift + noise, rounded to the scale; or
does not look, and grades by a habit. That gives everybody an expected confusion matrix; their own counts free
them of it, as far as held-out grades say. Plain classes expect the same matrix of everybody.
"""

from typing import NamedTuple

import numpy as np
from scipy import sparse, special

from anml.annotators.copies import copy_groups_in_memory
from anml.annotators.rows import copy_aware_votes
from anml.core.checks import Bools, Floats, Ints

SHIFTS, NOISES, SLOPES = np.arange(-2, 2.1, 0.5), (0.3, 0.5, 0.8, 1.3, 2.0), (0.5, 0.75, 1.0)
# Share of grades that are slips, and of people who do not look before anything is seen.
SLIP_RATE, SPAMMER_PRIOR = 0.02, 0.05
# How many grades' worth of the expected matrix everybody's own counts are weighed against.
PRIOR_STRENGTHS = (60.0, 15.0, 4.0)
MAX_ITERATIONS, TOLERANCE, HELD_OUT = 30, 1e-4, 10


class OrdinalFit(NamedTuple):
    """Posterior of each item's grade (items, grades), and held-out log-loss by order and by plain classes.

    `ordered` says whether the order was used: where it predicts better than plain classes, beyond noise.
    """

    posterior: Floats
    ordered: bool
    loss: float
    plain: float


class _Rows(NamedTuple):
    item: Ints
    who: Ints
    y: Ints
    voice: Ints
    right: Ints
    grades: int
    people: int

    def some(self, used: Bools) -> "_Rows":
        mine = {name: getattr(self, name)[used] for name in ("item", "who", "y", "voice")}
        return self._replace(**mine)


def fit_grades(
    item: Ints, who: Ints, y: Ints, grades: int, right: Ints, rng: np.random.Generator
) -> OrdinalFit:
    """Fit grades 0, 1, ... that people gave items; `right` is the known grade of each item, or -1.

    What people who copy each other say of an item counts once, and is held out together.
    """
    voice = copy_aware_votes(item, who, copy_groups_in_memory(item, who, y))
    rows = _Rows(item, who, y, voice, right, grades, int(who.max()) + 1)
    out = (rng.integers(0, HELD_OUT, int(voice.max()) + 1) == 0)[voice]
    losses = {
        way: {worth: _held_out(rows, out, way, worth) for worth in PRIOR_STRENGTHS} for way in (True, False)
    }
    best = {way: min((loss.mean(), worth) for worth, loss in each.items()) for way, each in losses.items()}
    gain = losses[False][best[False][1]] - losses[True][best[True][1]]
    ordered = bool(gain.mean() > gain.std() / np.sqrt(max(len(gain), 1)))
    posterior, _ = _fit(rows, ordered, best[ordered][1])
    return OrdinalFit(posterior, ordered, float(best[True][0]), float(best[False][0]))


def _held_out(rows: _Rows, out: Bools, ordered: bool, worth: float) -> Floats:
    """Loss of each grade that the fit did not see."""
    posterior, matrices = _fit(rows.some(~out), ordered, worth)
    p = (posterior[rows.item[out]] * matrices[rows.who[out], :, rows.y[out]]).sum(axis=1)
    return np.asarray(-np.log(np.maximum(p, 1e-9)))


def _fit(rows: _Rows, ordered: bool, worth: float) -> tuple[Floats, Floats]:
    """Posteriors of the items, and everybody's matrix (people, grade, given)."""
    items, size = len(rows.right), rows.grades
    of_item = _sums(rows.item, items, 1 / np.bincount(rows.voice)[rows.voice])
    of_cell = _sums(rows.who * size + rows.y, rows.people * size)
    votes = of_item @ np.eye(size)[rows.y]
    posterior = _clamp_gold(special.softmax(votes, axis=1), rows)
    expected = _ordinal_confusions if ordered else _pooled_confusion
    for _ in range(MAX_ITERATIONS):
        own = posterior[rows.item]
        counts = (of_cell @ own).reshape(rows.people, size, size).transpose(0, 2, 1)
        usual = expected(counts)
        # A grade is left out of the counts that judge it.
        seen = np.maximum(counts[rows.who, :, rows.y] - own, 0) + worth * usual[rows.who, :, rows.y]
        seen = seen / (np.maximum(counts.sum(axis=2)[rows.who] - own, 0) + worth)
        prior = np.log(0.9 * posterior.mean(axis=0) + 0.1 / size)
        new = _clamp_gold(special.softmax(prior + of_item @ np.log(np.maximum(seen, 1e-12)), axis=1), rows)
        moved, posterior = float(np.abs(new - posterior).mean()), new
        if moved < TOLERANCE:
            break
    return posterior, (counts + worth * usual) / (counts.sum(axis=2, keepdims=True) + worth)


def _sums(codes: Ints, count: int, weight: Floats | None = None) -> sparse.csr_array:
    weight = np.ones(len(codes)) if weight is None else weight
    return sparse.csr_array((weight, (codes, np.arange(len(codes)))), (count, len(codes)))


def _clamp_gold(posterior: Floats, rows: _Rows) -> Floats:
    return np.asarray(np.where(rows.right[:, None] >= 0, np.eye(rows.grades)[rows.right], posterior))


def _pooled_confusion(counts: Floats) -> Floats:
    """The matrix of all people together, for everybody."""
    total = counts.sum(axis=0) + np.eye(counts.shape[1]) + 0.1
    return np.broadcast_to(total / total.sum(axis=1, keepdims=True), counts.shape)


def _ordinal_confusions(counts: Floats) -> Floats:
    """Everybody's expected matrix: a mean over shifts, noises and slopes, or a habit whatever the grade."""
    size = counts.shape[1]
    ways = _confusion_grid(size)
    given = counts.sum(axis=1)
    habit = (given + 2 * given.sum(axis=0) / given.sum()) / (given.sum(axis=1, keepdims=True) + 2)
    seen = counts.reshape(len(counts), -1) @ np.log(ways).reshape(len(ways), -1).T
    blind = (given * np.log(habit)).sum(axis=1) - 0.5 * (size - 1) * np.log1p(given.sum(axis=1))
    share = np.log(np.r_[np.full(len(ways), (1 - SPAMMER_PRIOR) / len(ways)), SPAMMER_PRIOR])
    for _ in range(2):
        way = special.softmax(np.c_[seen, blind] + share, axis=1)
        share = np.log((way.sum(axis=0) + np.exp(share)) / (len(counts) + 1))
    return np.asarray(np.tensordot(way[:, :-1], ways, 1) + way[:, -1:, None] * habit[:, None, :])


def _confusion_grid(size: int) -> Floats:
    """Matrices (ways, grade, given) of all shifts, noises and slopes."""
    shift, noise, slope = (part.ravel()[:, None] for part in np.meshgrid(SHIFTS, NOISES, SLOPES))
    middle, grade = (size - 1) / 2, np.arange(size)
    felt = middle + slope * (grade - middle) + shift
    edges = np.r_[-np.inf, np.arange(size - 1) + 0.5, np.inf]
    below = special.ndtr((edges - felt[:, :, None]) / noise[:, :, None])
    return np.asarray((1 - SLIP_RATE) * np.diff(below, axis=2) + SLIP_RATE / size)
