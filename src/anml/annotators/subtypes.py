"""Subtypes of items within a class, their number chosen by a variational bound.

Items of one class differ in what contributors confuse them with: two who slip on the same kind of items are
fewer votes. Every contributor has a distribution of labels for each class and subtype, with a Dirichlet
prior (Li, Rubinstein and Cohn 2019). The number of subtypes and the prior are chosen together, since either
choice depends on the other, by the evidence lower bound with all Dirichlet terms, over several starts.
"""

from itertools import product
from typing import NamedTuple

import numpy as np
from scipy import sparse, special

from anml.annotators.rows import LabelData
from anml.core.checks import Floats

# Rows that the prior of a distribution of labels counts as, and the share of right ones among them.
COUNTS, ACCURACIES = (2.5, 5.0, 10.0), (0.5, 0.65, 0.8)
# Concentration of the prior of subtypes, subtypes at most, starts, passes at most.
CONCENTRATION, MAX_SUBTYPES, PASSES, TOLERANCE = 0.1, 3, 100, 1e-3
# Labels that settle the number of subtypes; cells of contributors beyond which there is one of each class.
SOME_ROWS, MAX_CELLS = 50_000, 5_000_000
# Priors that are tried with subtypes, and random starts beside a split of the classes.
LIKELY_PRIORS, STARTS = 4, 1


class SubtypeFit(NamedTuple):
    """A variational fit: posterior of items, expected log-probabilities of labels, and the bound.

    `posterior`: [item, class, subtype]. `logs`: [contributor, label, class, subtype].
    """

    posterior: Floats
    logs: Floats
    bound: float

    @property
    def subtypes(self) -> int:
        """Number of subtypes of each class."""
        return int(self.posterior.shape[2])


def choose_subtypes(rows: LabelData, seed: int = 0) -> SubtypeFit:
    """The best fit over numbers of subtypes and priors."""
    sample = rows.thinned(SOME_ROWS)
    rows = rows if sample is None else rows.some(sample)
    assert rows.item is not None
    items, limit = int(rows.item.max()) + 1, MAX_SUBTYPES
    if rows.count * rows.classes**2 * limit > MAX_CELLS:
        limit = 1
    table, votes = _count_labels(rows, items)
    back = sparse.csr_array(table.T)
    priors, best = list(product(COUNTS, ACCURACIES)), None
    starts = [(votes / np.maximum(votes.sum(axis=1, keepdims=True), 1e-9))[:, :, None]]
    rng = np.random.default_rng(seed)
    for subtypes in range(1, limit + 1):
        fits = [
            variational_fit(table, back, rows.count, start, count, accuracy)
            for count, accuracy in priors
            for start in starts
        ]
        order = sorted(range(len(fits)), key=lambda place: -fits[place].bound)
        if subtypes == 1:
            # Priors that are far behind without subtypes are far behind with them.
            priors = [priors[place] for place in order[:LIKELY_PRIORS]]
        best_fit = fits[order[0]]
        if best is not None and best_fit.bound <= best.bound:
            break
        best = best_fit
        starts = [
            _split(rows, best.posterior),
            *(
                rng.dirichlet(np.ones(subtypes + 1), votes.shape) * starts[0].sum(axis=2, keepdims=True)
                for _ in range(STARTS)
            ),
        ]
    assert best is not None
    return best


def _count_labels(rows: LabelData, items: int) -> tuple[sparse.csr_array, Floats]:
    """Labels of (contributor and class, item), and votes of (item, class)."""
    table = sparse.csr_array(
        (rows.vote_weight, (rows.who * rows.classes + rows.y, rows.item)),
        shape=(rows.count * rows.classes, items),
    )
    votes = [np.asarray(table[k :: rows.classes].sum(axis=0)).ravel() for k in range(rows.classes)]
    return table, np.stack(votes, axis=1)


def _split(rows: LabelData, posterior: Floats) -> Floats:
    """Split the largest subtype of every class by the leading direction of errors that contributors share."""
    assert rows.item is not None
    class_p = posterior.sum(axis=2)
    right = class_p[rows.item, rows.y]
    rate = np.bincount(rows.who, right, rows.count) / np.maximum(
        np.bincount(rows.who, minlength=rows.count), 1
    )
    left = sparse.csr_array(
        ((right - rate[rows.who]) * rows.vote_weight, (rows.item, rows.who)), (len(posterior), rows.count)
    )
    direction = np.sqrt(np.bincount(rows.who, minlength=rows.count).astype(np.float64))
    for _ in range(30):
        direction = left.T @ (left @ direction)
        direction /= np.linalg.norm(direction) + 1e-300
    score = left @ direction
    first = np.where(score > np.median(score), 0.9, 0.1)
    largest = posterior.sum(axis=0).argmax(axis=1)
    out = np.concatenate([posterior, np.zeros((*class_p.shape, 1))], axis=2)
    for k, g in enumerate(largest):
        out[:, k, -1] = posterior[:, k, g] * (1 - first)
        out[:, k, g] = posterior[:, k, g] * first
    return out


def variational_fit(
    table: sparse.csr_array, back: sparse.csr_array, count: int, q: Floats, size: float, accuracy: float
) -> SubtypeFit:
    """Mean-field fit to a table of labels (contributors * classes, items) from a posterior of items.

    `back` is the table transposed. The prior of labels counts as `size` rows, of which `accuracy` are right.
    """
    items, classes, subtypes = q.shape
    states = classes * subtypes
    right = np.eye(classes)
    prior = size * (accuracy * right + (1 - accuracy) / max(classes - 1, 1) * (1 - right))
    prior = np.broadcast_to(prior.T[None, :, :, None], (count, classes, classes, subtypes))
    for _ in range(PASSES):
        kinds, class_counts = CONCENTRATION / subtypes + q.sum(axis=0), 1 + q.sum(axis=(0, 2))
        counts = (table @ q.reshape(items, states)).reshape(prior.shape) + prior
        logs = special.digamma(counts) - special.digamma(counts.sum(axis=1, keepdims=True))
        each = special.digamma(kinds) - special.digamma(kinds.sum(axis=1, keepdims=True))
        base = special.digamma(class_counts) - special.digamma(class_counts.sum())
        flat = back @ logs.reshape(-1, states) + (each + base[:, None]).ravel()
        top = flat.max(axis=1, keepdims=True)
        total = np.exp(flat - top).sum(axis=1, keepdims=True)
        before, q = q, (np.exp(flat - top) / total).reshape(items, classes, subtypes)
        if np.abs(q.sum(axis=2) - before.sum(axis=2)).max() < TOLERANCE:
            break
    bound = float((np.log(total) + top).sum()) - _divergence(class_counts, np.ones(classes), 0)
    bound -= _divergence(kinds, np.full(kinds.shape, CONCENTRATION / subtypes), 1) + _divergence(
        counts, prior, 1
    )
    return SubtypeFit(q, logs, bound)


def _divergence(a: Floats, b: Floats, axis: int) -> float:
    """Sum of the divergences of Dirichlet distributions from their priors."""
    total = (
        special.gammaln(a.sum(axis))
        - special.gammaln(a).sum(axis)
        - special.gammaln(b.sum(axis))
        + special.gammaln(b).sum(axis)
    )
    moved = ((a - b) * (special.digamma(a) - special.digamma(a.sum(axis, keepdims=True)))).sum(axis)
    return float(np.sum(total + moved))
