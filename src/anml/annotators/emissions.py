"""Emission model: probability of each label given every true class, by type of contributor."""

from typing import Any

import numpy as np
from scipy import special

from anml.annotators.params import CELL_PSEUDO_COUNT, Params, TypePosteriors, default_confusion, log_normalise
from anml.annotators.rows import LabelData
from anml.core.checks import Floats


def emissions(params: Params, rows: LabelData, before: TypePosteriors | None) -> tuple[Floats, Floats]:
    """Probability of each label given every class, by an ordinary contributor and by one like nobody."""
    y, who = rows.y, rows.who
    if before is None or params.counts is None:
        return _population_emission(params, special.expit(params.right(rows)), y), np.asarray(
            default_confusion(params.classes)[y]
        )
    other = _leave_one_out_rate(
        params.counts[1], before.other, y, who, 2 * CELL_PSEUDO_COUNT, params.pooled()[who, y]
    )
    if params.noise_free:
        return _population_emission(params, special.expit(params.right(rows)), y), other
    right = special.expit(
        params.usually_right()[who] + _leave_one_out_accuracy_logit(params, rows, before.ordinary)[:, None]
    )
    ordinary = _leave_one_out_rate(
        params.counts[0], before.ordinary, y, who, params.alike, _population_emission(params, right, y)
    )
    if len(params.worth):
        ordinary = _apply_credentials(params, rows, before.ordinary, ordinary, right)
    return ordinary, other


def _population_emission(params: Params, right: Floats, y: Any) -> Floats:
    """Probability of each label given every class, where labels of a class are right so often (n or 1, C)."""
    at, to = np.arange(len(y)), params.wrong_to()[:, y].T
    right = np.broadcast_to(right, to.shape)
    emitted = (1 - right) * to
    emitted[at, y] = right[at, y]
    return np.asarray(emitted)


def _leave_one_out_accuracy_logit(params: Params, rows: LabelData, own: Floats) -> Floats:
    """By how much the contributor of each row is right more often than expected elsewhere, in log-odds."""
    assert params.counts is not None
    assert params.expected is not None
    mean = np.clip(params.expected / np.maximum(params.size, 1), 1e-4, 1 - 1e-4)[rows.who]
    rights = np.einsum("kcc->k", params.counts[0])[rows.who] - own[np.arange(rows.n), rows.y]
    rate = (np.maximum(rights, 0) + params.skill * mean) / (params.size[rows.who] - 1 + params.skill)
    return np.asarray(special.logit(np.clip(rate, 1e-4, 1 - 1e-4)) - special.logit(mean))


def _apply_credentials(
    params: Params, rows: LabelData, own: Floats, ordinary: Floats, right: Floats
) -> Floats:
    """The same, moved by what credentials of the row say beyond those of its contributor's other rows."""
    assert params.counts is not None
    at, gap = (np.arange(rows.n), rows.y), rows.features @ params.worth - params.usual_worth()[rows.who]
    rights = np.einsum("kcc->kc", params.counts[0])[rows.who]
    total = np.maximum(params.counts[0].sum(axis=1)[rows.who] - own, 0)
    usual = np.clip((rights + params.alike * right) / (total + params.alike), 1e-6, 1 - 1e-6)
    moved = ordinary * (1 - special.expit(special.logit(usual) + gap[:, None])) / (1 - usual)
    mine = np.clip(ordinary[at], 1e-9, 1 - 1e-9)
    moved[at] = special.expit(special.logit(mine) + gap)
    return np.asarray(np.minimum(moved, 1.0))


def _leave_one_out_rate(
    counts: Floats, own: Floats, y: Any, who: Any, strength: float, mean: Floats
) -> Floats:
    """Probability of each label by a contributor's other rows, drawn to a mean."""
    of = np.maximum(counts[who, y] - own, 0)
    total = np.maximum(counts.sum(axis=1)[who] - own, 0)
    return np.asarray((of + strength * mean) / (total + strength))


def log_prior_without_label(params: Params, rows: LabelData, ordinary: Floats, other: Floats) -> Floats:
    """Log-probability of each class by predictions, the other labels of the item, and known truth."""
    seen = log_normalise(rows.log_p / params.temperature)[0]
    if rows.shared:
        types = params.types[rows.who]
        voice = (
            types[:, :1] * ordinary
            + types[:, 2:] * other
            + (types[:, 1] * spammer_likelihood(params, rows))[:, None]
        )
        voice = np.log(voice + 1e-300) * rows.vote_weight[:, None]
        others = (rows.by_item @ voice)[rows.item] - (rows.by_voice @ voice)[rows.voice]
        seen = log_normalise(seen + rows.vote(params.together)[:, None] * others)[0]
    return rows.with_truth(seen) if params.told else seen


def spammer_likelihood(params: Params, rows: LabelData) -> Floats:
    """Probability of each label by a contributor who does not look, by its other labels."""
    own = params.given[rows.who, rows.y] - 1 + CELL_PSEUDO_COUNT * params.share[rows.y]
    return np.asarray(own / (params.size[rows.who] - 1 + CELL_PSEUDO_COUNT))


def _contributor_class_prior(params: Params, rows: LabelData, counts: Floats, belief: Floats) -> Floats:
    """Logs of how much more usual each class is with the contributor than with all, by its other rows."""
    prior = params.own_prior
    assert prior is not None
    of = np.maximum(counts.sum(axis=1)[rows.who] - belief, 0) + prior * params.usual
    return np.asarray(np.log(of / (params.size[rows.who] - 1 + prior)[:, None]) - np.log(params.usual))


def joint_log_probabilities(
    params: Params, rows: LabelData, before: TypePosteriors | None
) -> tuple[Floats, Floats, Floats]:
    """Log-probability of every class by all but the label, and with it for either type that looks."""
    ordinary, other = emissions(params, rows, before)
    seen = log_prior_without_label(params, rows, ordinary, other)
    first, second = seen, seen
    if params.own_prior is not None and before is not None and params.counts is not None:
        first = seen + _contributor_class_prior(params, rows, params.counts[0], before.ordinary)
        second = seen + _contributor_class_prior(params, rows, params.counts[1], before.other)
    return seen, first + np.log(ordinary + 1e-300), second + np.log(other + 1e-300)
