"""Estimates of class labels by the annotator model of one population.

Predictors learn from the posterior and predict again, until it changes by less than a tolerance. Items with
several labels need no predictors.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy import special

from anml.annotators.periods import detect_change_points
from anml.annotators.population import ODDS, PopulationParams, RowPosteriors, e_step, row_odds
from anml.annotators.population_fit import LABEL_STARTS, STARTS, EMStart, InMemoryLabels, fit
from anml.annotators.population_judge import Judged, by_class, evidence, judge, label_estimates
from anml.annotators.reference import NearestRows
from anml.annotators.result import LabelEstimates
from anml.annotators.rows import LabelData, SideInformation, make_label_data
from anml.assessment.overlap import N_NEIGHBOURS, find_neighbours
from anml.core.checks import Floats, Ints
from anml.predictors.duplicates import near_duplicate_groups
from anml.predictors.held_out import CrossFitRows, assign_folds, held_out_predictions
from anml.predictors.pool import pool_predictions

# Name of the prior of the classes among the predictors.
CLASS_PRIOR = "class prior"
# Figures of a contributor whose accuracy changed that are those of its last period.
OF_LAST_PERIOD = ("reliability", "reliability_low", "reliability_high", "expected", "settled_by")
# The mean change of beliefs at which the rounds end, and rounds at most: more for items with several labels.
TOLERANCE, ROUNDS, ITEM_ROUNDS = 0.004, 3, 6
# Share of a contributor's neighbours that others have, of what is expected, below which its own rows predict.
REACH = 0.9
# Share of the pool below which a predictor does not learn again; accuracy at most to start a round from.
MIN_SHARE, MAX_START = 0.01, 0.97


class PopulationFit(NamedTuple):
    """A fit to some rows: their beliefs, and the share of each predictor."""

    rows: LabelData
    params: PopulationParams
    beliefs: RowPosteriors
    shares: dict[str, float]


@dataclass(frozen=True, eq=False)
class _Features:
    """Rows with features: held-out predictions of them, and the rows near each.

    `inner` holds out rows, not contributors; `reach` is how far others reach each row's contributor (n,).
    """

    sample: CrossFitRows
    near: NearestRows
    inner: CrossFitRows | None = None
    reach: Floats | None = None

    def predictions(
        self, belief: Floats | None, weight: Floats | None, names: set[str] | None, given: Floats | None
    ) -> tuple[Floats, dict[str, float]]:
        """Pooled log-probabilities (n, classes), and the share of each predictor."""
        y = self.sample.y
        each = held_out_predictions(self.sample, belief, names)
        if given is not None:
            each["given"] = np.log(given + 1e-6)
        pooled = pool_predictions(list(each.values()), y, weight)
        log_p = pooled.log_p
        if self.inner is not None and self.reach is not None:
            # Where others do not reach, a contributor's own other rows are all that tells what is usual.
            own = held_out_predictions(self.inner, belief, names)
            inside = pool_predictions(list(own.values()), y, weight).log_p
            log_p = np.logaddexp(
                np.log(self.reach + 1e-12)[:, None] + log_p, np.log1p(1e-12 - self.reach)[:, None] + inside
            )
        return log_p, {name: float(share) for name, share in zip(each, pooled.share, strict=True)}


def estimate_by_population(
    x: Floats, y: Ints, classes: int, side: SideInformation, given: Floats | None = None, *,
    rates: bool = False, trees: int = 20, seed: int = 0,
) -> LabelEstimates:  # fmt: skip
    """Fit the annotator model, and judge labels and contributors by it.

    `given` are held-out predictions; with `rates` they are rates of classes that no model predicted.
    """
    shared = side.items is not None and np.bincount(side.items).max() > 1
    side = side._replace(items=side.items if shared else None)
    features = _features(x, y, classes, side, trees, seed) if x.shape[1] else None
    fitted = _fit_rounds(y, classes, side, features, given, rates)
    near = None if features is None else features.near
    people = side.codes is not None
    judged = judge(fitted.params, evidence(fitted.params, fitted.rows, fitted.beliefs, near), people)
    estimates = label_estimates(fitted.params, fitted.rows, fitted.beliefs, judged, fitted.shares)
    return (
        estimates if side.when is None or not people else _by_period(y, side, fitted, judged, near, estimates)
    )


def _features(x: Floats, y: Ints, classes: int, side: SideInformation, trees: int, seed: int) -> _Features:
    groups = side.items
    if groups is None:
        groups = near_duplicate_groups(x, np.random.default_rng(seed))
    near = NearestRows(*find_neighbours(x, groups))
    near = near._replace(counts=near.counts & (np.cumsum(near.counts, axis=1) <= N_NEIGHBOURS))
    fold = assign_folds(x, y, side.codes, side.items, seed)
    sample = CrossFitRows(x, y, classes, fold, groups, trees, seed)
    if side.codes is None or side.items is not None or not side.codes.max():
        return _Features(sample, near)
    reach = _reach(side.codes, near)[side.codes]
    if reach.min() >= REACH:
        return _Features(sample, near)
    return _Features(sample, near, replace(sample, fold=assign_folds(x, y, None, None, seed)), reach)


def _reach(codes: Ints, near: NearestRows) -> Floats:
    """Share of others among the neighbours of each contributor's rows, of what is expected (K,)."""
    mine, count = codes[near.sampled], int(codes.max()) + 1
    others = (near.counts & (codes[near.near] != mine[:, None])).sum(axis=1)
    total = np.bincount(mine, near.counts.sum(axis=1), count)
    result = np.bincount(mine, others, count) / np.maximum(total, 1)
    share = np.bincount(codes, minlength=count) / len(codes)
    return np.where(total > 0, np.clip(result / np.maximum(1 - share, 1e-9), 0, 1), 1.0)


def _fit_rounds(
    y: Ints,
    classes: int,
    side: SideInformation,
    features: _Features | None,
    given: Floats | None,
    rates: bool,
) -> PopulationFit:
    log_p, shares = _class_prior(y, classes), {CLASS_PRIOR: 1.0}
    if given is not None:
        log_p, shares = np.log(given + 1e-6), {"given": 1.0}
    if features is None:
        rows = make_label_data(log_p, y, side)
        starts = LABEL_STARTS if given is None and rows.shared else STARTS
        return _fitted(rows, starts, shares, rates)
    fitted: PopulationFit | None = None
    weight = belief = names = None
    starts = STARTS
    for _ in range(ROUNDS if side.items is None else ITEM_ROUNDS):
        log_p, shares = features.predictions(belief, weight, names, given)
        fitted = _fitted(make_label_data(log_p, y, side), starts, shares, rates)
        posterior = by_class(fitted.params, fitted.beliefs.item)
        p = posterior[np.arange(len(y)), y]
        if p.min() >= 0.5 or (weight is not None and np.abs(p - weight).mean() < TOLERANCE):
            break
        weight, belief = p, _told(fitted, posterior)
        names = {name for name, share in shares.items() if share >= MIN_SHARE}
        params = fitted.params
        starts = (STARTS[0], EMStart(params.temperature, min(params.accuracy, MAX_START)))
    assert fitted is not None
    return fitted


def _class_prior(y: Ints, classes: int) -> Floats:
    prior = np.bincount(y, minlength=classes) + 1.0
    return np.tile(np.log(prior / prior.sum()), (len(y), 1))


def _fitted(
    rows: LabelData, starts: tuple[EMStart, ...], shares: dict[str, float], rates: bool = False
) -> PopulationFit:
    params = fit(InMemoryLabels(rows), starts, rates)
    return PopulationFit(rows, params, e_step(params, rows)[0], shares)


def _told(fitted: PopulationFit, posterior: Floats) -> Floats:
    """Soft labels that predictors learn, weighted by the information of the labels of their item.

    Without information in its labels the posterior of an item is its prediction, and predictors would learn
    that again. The weight is one minus the entropy of the classes by the labels, relative to its maximum.
    """
    rows = fitted.rows
    if not rows.shared or rows.item is None:
        return posterior
    label_logs = (rows.by_item @ (fitted.beliefs.emission * rows.votes_of_rows[:, None]))[rows.item]
    p = by_class(fitted.params, special.softmax(label_logs, axis=1))
    weight = 1 - special.entr(p).sum(axis=1) / np.log(p.shape[1])
    return np.asarray(posterior * np.maximum(weight, 1e-3)[:, None])


def _by_period(
    y: Ints, side: SideInformation, fitted: PopulationFit, judged: Judged, near: NearestRows | None,
    estimates: LabelEstimates,
) -> LabelEstimates:  # fmt: skip
    """Judge periods before and after a change of accuracy as two contributors; verdicts are of the later."""
    rows = fitted.rows
    bins, _ = row_odds(fitted.params, rows, fitted.beliefs.cavity)
    right = special.expit(ODDS[bins])
    assert side.when is not None
    changed = detect_change_points(right, 1 - right, rows.who, side.when, rows.count)
    if not changed.any:
        return estimates
    codes, owner = changed.codes(rows.who, side.when)
    parts = make_label_data(rows.log_p, y, side._replace(codes=codes))
    after = _fitted(parts, STARTS if not parts.shared else LABEL_STARTS, fitted.shares)
    again = judge(after.params, evidence(after.params, parts, after.beliefs, near))
    whole, part, late = judged.people, again.people, np.arange(rows.count, len(owner))
    assert whole is not None
    assert part is not None
    words = list(whole.verdict)
    for at in late:
        words[owner[at]] = part.verdict[at]
    figures = {name: getattr(whole, name).copy() for name in OF_LAST_PERIOD}
    for name, values in figures.items():
        values[owner[late]] = getattr(part, name)[late]
    people = replace(whole, verdict=words, changed=changed, **figures)
    by_part = label_estimates(after.params, parts, after.beliefs, again, fitted.shares)
    return replace(by_part, contributors=people, around=estimates.around)
