"""The model of contributors: Dawid and Skene's, with everybody's confusion matrix drawn from a population.

    z ~ p(z | x) ** (1 / temperature)       the truth of an item, by predictions that never saw its labels,
        * rho_k(z) / rho(z)                 and by which classes the contributor's items are of (specialists)
    y | z = c ~ theta_k[c]                  the label: a confusion matrix of the contributor's own
    theta_k[c] ~ Dirichlet(alike * m_k[c])  drawn from the population's m, tilted to how often k is right
    right_k ~ Beta(skill * e_k, ...)        drawn about what is expected of anybody on k's rows

A few contributors are not of this population: they answer without looking (labels follow a distribution
of their own, whatever the truth) or have a matrix that is like nobody's. n labels of one item count as
n / (1 + (n - 1) together), where errors on an item go together; copies of a label are one voice. A row is
left out of every count that judges it, and what is learned of a contributor from its own labels is paid for
(`occam`). Hypotheses differ in how labels of the population go wrong.

`e_step` gives the posterior of the truth of some rows with their statistics, which add up over slices of a
table, and `m_step` makes the next parameters of the sums. `anml.annotators.fit` runs them.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import special

from anml.annotators.emissions import joint_log_probabilities, spammer_likelihood
from anml.annotators.evidence import (
    atypical_logits,
    laplace_penalty,
    log_hyperprior,
    marginal_log_likelihood,
    self_fit_penalties,
)
from anml.annotators.params import (
    ACCURACY_LOGIT_PRIOR,
    ATYPICAL_PRIOR_LOGIT,
    BURN_IN,
    MAX_LOGIT,
    MIN_TEMPERATURE,
    POOLED_CONCENTRATION,
    TUNING_ROWS,
    EMStats,
    Params,
    TypePosteriors,
    log_normalise,
)
from anml.annotators.rows import LabelData, newton
from anml.core.checks import Floats

# Errors on an item that go together by less than this hardly matter.
ITEM_CORRELATION_OFFSET = 0.05


def e_step(params: Params, rows: LabelData, before: TypePosteriors | None) -> tuple[TypePosteriors, EMStats]:
    """Posterior of the truth of some rows, and their sums; `before` is the posterior of the last pass."""
    seen, first, second = joint_log_probabilities(params, rows, before)
    log_first, if_ordinary = log_normalise(first)
    log_second, if_other = log_normalise(second)
    if rows.shared and params.together > 0:
        # The label itself is one of the votes of its item.
        less = (1 - rows.vote(params.together))[:, None]
        log_first = log_normalise(first - less * (first - seen))[0]
        log_second = log_normalise(second - less * (second - seen))[0]
    found = TypePosteriors(np.exp(log_first), np.exp(log_second), seen)
    each = np.column_stack([if_ordinary, np.log(spammer_likelihood(params, rows)), if_other])
    return found, _statistics(params, rows, before, found, each)


def _statistics(
    params: Params, rows: LabelData, before: TypePosteriors | None, found: TypePosteriors, each: Floats
) -> EMStats:
    right, at = special.expit(params.right(rows)), np.arange(rows.n)
    believed = found.ordinary * params.types[rows.who, :1]
    left = -believed * right
    left[at, rows.y] += believed[at, rows.y]
    information = believed * right * (1 - right)
    counts = [rows.by_both @ part for part in (found.ordinary, found.other)]
    likelihood = np.asarray(rows.by @ each)
    return EMStats(
        counts=np.stack(counts).reshape(2, -1, params.classes, params.classes),
        expected=rows.by @ (found.ordinary * right).sum(axis=1),
        likelihood=likelihood,
        seen=np.exp(found.seen).sum(axis=0),
        slope=rows.features.T @ left.sum(axis=1),
        curve=(rows.features * information.sum(axis=1)[:, None]).T @ rows.features,
        by_class=np.stack([left.sum(axis=0), information.sum(axis=0)]),
        tried=_candidate_likelihoods(params, rows, before, likelihood),
        moved=np.asarray(_posterior_change(params, rows, before, found)),
    )


def _posterior_change(
    params: Params, rows: LabelData, before: TypePosteriors | None, found: TypePosteriors
) -> float:
    """Sum of absolute changes of the class posterior; infinite before contributor types are estimated."""
    if before is None or params.former is None or params.steps <= BURN_IN + 4:
        return np.inf
    last = class_posterior(replace(params, types=params.former), rows, before)
    return float(np.abs(class_posterior(params, rows, found) - last).sum())


def _candidate_likelihoods(
    params: Params, rows: LabelData, before: TypePosteriors | None, now: Floats
) -> Floats:
    """Log-likelihood of each contributor's labels by all others, under each setting tried (options, K, 3)."""
    options = candidate_hyperparameters(params)
    if not options:
        return np.zeros((0, *now.shape))
    some, then, found = rows, before, [now]
    which = rows.thinned(TUNING_ROWS)
    if which is not None:
        some, then, found = rows.some(which), before and TypePosteriors(*(part[which] for part in before)), []
    for option in options[len(found) :]:
        _, first, second = joint_log_probabilities(option, some, then)
        each = [log_normalise(first)[1], np.log(spammer_likelihood(option, some)), log_normalise(second)[1]]
        found.append(np.asarray(some.by @ np.column_stack(each)))
    return np.stack(found)


def candidate_hyperparameters(params: Params) -> list[Params]:
    """The settings and some next to them, of which the next pass has the best: one at every other pass."""
    factor = 1.3 if params.steps < 15 else 1.12
    varied: list[list[dict[str, Any]]] = []
    if params.predicted:
        colder, hotter = params.temperature / factor, params.temperature * factor
        varied.append(
            [{"temperature": t} for t in (max(colder, MIN_TEMPERATURE), min(hotter, params.hottest))]
        )
    if params.shared and params.steps >= BURN_IN:
        near = [
            (params.together + ITEM_CORRELATION_OFFSET) * f - ITEM_CORRELATION_OFFSET
            for f in (factor**-2, factor**2)
        ]
        varied.append([{"together": max(t, 0.0)} for t in near if t < 1])
    if len(params.size) > 1 and not params.noise_free:
        for name in ("skill", "alike"):
            options = (getattr(params, name) * 0.5, getattr(params, name) * 2)
            varied.append([{name: value} for value in options if 1 <= value <= 1000])
    if params.predicted and params.judging:
        varied.append([{"own_prior": prior} for prior in (5.0, 30.0, None) if prior != params.own_prior])
    if params.credited and params.worth.any() and params.steps >= 2 * BURN_IN:
        # Not before their worth is found: what is off stays off.
        varied.append([{"credited": False, "worth": np.zeros(len(params.worth))}])
    if params.steps % 2 or not varied or params.counts is None:
        return []
    return [params, *(replace(params, **one) for one in varied[params.steps // 2 % len(varied)])]


def m_step(params: Params, sums: EMStats) -> Params:
    """The next parameters, from the sums of all rows."""
    after, options = params, candidate_hyperparameters(params)
    if options:
        fits = [
            _candidate_log_evidence(option, each, sums)
            for option, each in zip(options, sums.tried, strict=True)
        ]
        after = options[int(np.argmax(fits))]
    usual = sums.seen / sums.seen.sum() + 1e-6
    after = replace(
        after, counts=sums.counts, expected=sums.expected, steps=params.steps + 1, usual=usual / usual.sum(),
        former=params.types,
    )  # fmt: skip
    after = replace(after, likelihood=sums.likelihood + self_fit_penalties(after, sums.counts, sums.expected))
    if params.judging and params.steps >= BURN_IN:
        after = _update_types(after, params.former)
    return after if params.noise_free else _update_accuracy(after, sums)


def _candidate_log_evidence(option: Params, likelihood: Floats, sums: EMStats) -> float:
    """Log-evidence of a setting, types summed out, up to what all that are tried have in common."""
    cost = laplace_penalty(option.worth, sums.curve) if option.credited else 0.0
    learned = self_fit_penalties(option, sums.counts, sums.expected)
    return marginal_log_likelihood(option, likelihood + learned) + log_hyperprior(option) + cost


def _update_types(params: Params, earlier: Floats | None) -> Params:
    """The posterior of types, and how usual it is not to be of the population, given credentials.

    Two whose words contradict each other are judged at once, each by what the other was taken for: whoever
    swings back to what was believed `earlier` is moved less and less.
    """
    usual = atypical_logits(params)
    assert params.likelihood is not None
    # Answering without looking is as usual as being like nobody.
    either = usual - np.log(2)
    prior = np.column_stack([np.zeros(len(usual)), either, either])
    types = special.softmax(params.likelihood + prior, axis=1)
    if earlier is not None:
        back, on = (np.abs(types - part).sum(axis=1, keepdims=True) for part in (earlier, params.types))
        types = np.where(back < on, params.types + BURN_IN / params.steps * (types - params.types), types)
    expected = special.expit(usual)
    left, information = 1 - types[:, 0] - expected, expected * (1 - expected)
    step = (left.sum() - (params.strange - ATYPICAL_PRIOR_LOGIT)) / (information.sum() + 1)
    strange, worth = float(np.clip(params.strange + np.clip(step, -1, 1), -6.0, 0.0)), params.strange_worth
    if len(worth):
        hessian = (params.means * information[:, None]).T @ params.means + np.eye(len(worth))
        worth = worth + newton(params.means.T @ left - worth, hessian)
    return replace(params, types=types, strange=strange, strange_worth=worth)


def _update_accuracy(params: Params, sums: EMStats) -> Params:
    """One Newton step for how often labels of the population are right, under its prior."""
    (mean, variance), (left, information) = ACCURACY_LOGIT_PRIOR, sums.by_class
    step = (left.sum() - (params.base - mean) / variance) / (information.sum() + 1 / variance)
    # That most labels are wrong cannot be told from predictors that are wrong themselves.
    base, by_class = float(np.clip(params.base + np.clip(step, -1, 1), 0.0, MAX_LOGIT)), params.by_class
    if params.hypothesis == "classes":
        by_class = np.maximum(by_class + np.clip((left - by_class) / (information + 1), -1, 1), -base)
    worth = params.worth
    if len(worth) and params.credited:
        worth = worth + newton(sums.slope - worth, sums.curve + np.eye(len(worth)))
    return replace(params, base=base, by_class=by_class, worth=worth)


def log_bf_contributor_heterogeneity(params: Params, rows: LabelData, found: TypePosteriors) -> float:
    """Log Bayes factor of wrong labels gathering in some contributors, against all being alike."""
    if params.likelihood is None or len(params.size) < 2:
        return 0.0
    everybody = np.tile([1.0, 0.0, 0.0], (len(params.size), 1))
    alike = replace(params, skill=POOLED_CONCENTRATION, alike=POOLED_CONCENTRATION, types=everybody)
    same = e_step(alike, rows, found)[1].likelihood[:, 0].sum()
    return marginal_log_likelihood(params, params.likelihood) - float(same)


def class_posterior(params: Params, rows: LabelData, found: TypePosteriors) -> Floats:
    """Probability of every class, the label itself counted as far as its contributor is believed."""
    if not params.judging:
        return found.ordinary
    types = params.types[rows.who]
    seen = np.exp(found.seen)
    return np.asarray(types[:, :1] * found.ordinary + types[:, 1:2] * seen + types[:, 2:] * found.other)
