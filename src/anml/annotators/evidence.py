"""Evidence for settings and hypotheses: what is learned of somebody from their own labels is paid for."""

import numpy as np
from scipy import special

from anml.annotators.params import (
    ACCURACY_CONCENTRATION,
    ACCURACY_LOGIT_PRIOR,
    CELL_PSEUDO_COUNT,
    CONFUSION_CONCENTRATION,
    HYPOTHESES,
    LOG_CONCENTRATION_SD,
    EMStats,
    Params,
)
from anml.core.checks import Floats


def log_evidence(params: Params, sums: EMStats) -> float:
    """Evidence for a hypothesis: likelihood with types summed out, coefficients by Laplace's method."""
    learned = self_fit_penalties(params, sums.counts, sums.expected) if params.counts is not None else 0.0
    total = (
        marginal_log_likelihood(params, sums.likelihood + learned)
        + HYPOTHESES[params.hypothesis]
        + log_hyperprior(params)
    )
    if params.judging:
        expected = special.expit(atypical_logits(params))
        curve = (params.means * (expected * (1 - expected))[:, None]).T @ params.means
        total += laplace_penalty(params.strange_worth, curve)
    if not params.noise_free:
        (mean, variance), information = ACCURACY_LOGIT_PRIOR, sums.by_class[1]
        total -= 0.5 * (params.base - mean) ** 2 / variance + 0.5 * np.log1p(variance * information.sum())
        total += laplace_penalty(params.worth, sums.curve) if params.credited else 0.0
        if params.hypothesis == "classes":
            total -= 0.5 * float((params.by_class**2 + np.log1p(information)).sum())
    return total


def log_bf_atypical(params: Params) -> float:
    """Log Bayes factor of some contributors not being of the population."""
    if params.likelihood is None or not params.judging:
        return 0.0
    return marginal_log_likelihood(params, params.likelihood) - float(params.likelihood[:, 0].sum())


def self_fit_penalties(params: Params, counts: Floats, expected: Floats) -> Floats:
    """Correct the log evidence of each type for parameters fitted to the contributor's labels (K, 3)."""
    out = np.zeros((len(params.size), 3))
    out[:, 1] = dirichlet_marginal_correction(params.given, CELL_PSEUDO_COUNT * params.share + 1e-9)
    by_truth = np.swapaxes(counts, -1, -2)
    out[:, 2] = dirichlet_marginal_correction(
        by_truth[1], 2 * CELL_PSEUDO_COUNT * np.swapaxes(params.pooled(), -1, -2)
    ).sum(axis=1)
    if not params.noise_free:
        mean = np.clip(expected / np.maximum(params.size, 1), 1e-4, 1 - 1e-4)
        rights = np.einsum("kcc->k", counts[0])
        split = np.column_stack([rights, np.maximum(params.size - rights, 0)])
        out[:, 0] = dirichlet_marginal_correction(split, params.skill * np.column_stack([mean, 1 - mean]))
        rate = (rights + params.skill * mean) / (params.size + params.skill)
        tilt = special.logit(np.clip(rate, 1e-4, 1 - 1e-4)) - special.logit(mean)
        right = special.expit(params.usually_right() + tilt[:, None])
        drawn = (1 - right)[:, :, None] * params.wrong_to()[None]
        at = np.arange(params.classes)
        drawn[:, at, at] = right
        out[:, 0] += dirichlet_marginal_correction(by_truth[0], params.alike * drawn + 1e-9).sum(axis=1)
    return out


def dirichlet_marginal_correction(counts: Floats, prior: Floats) -> Floats:
    """Log marginal likelihood minus leave-one-out log-likelihood of counts under a Dirichlet prior.

    The leave-one-out likelihood alone overstates the evidence, since each label is predicted from the other
    labels of its contributor. Counts and prior pseudo-counts have shape (..., outcomes).

    Examples
    --------
    >>> dirichlet_marginal_correction(np.array([4.0, 0.0]), np.array([1.0, 1.0])).round(2)
    np.float64(-0.72)
    """
    total, strength = counts.sum(axis=-1), prior.sum(axis=-1)
    marginal = special.gammaln(strength) - special.gammaln(total + strength)
    marginal = marginal + (special.gammaln(counts + prior) - special.gammaln(prior)).sum(axis=-1)
    left = np.log(np.maximum(counts - 1, 0) + prior) - np.log(np.maximum(total - 1, 0) + strength)[..., None]
    return np.asarray(np.minimum(marginal - (counts * left).sum(axis=-1), 0.0))


def marginal_log_likelihood(params: Params, likelihood: Floats) -> float:
    """Log-likelihood of all labels, types of contributors summed out."""
    if not params.judging:
        return float(likelihood[:, 0].sum())
    usual = atypical_logits(params)
    either = usual - np.log(2)
    prior = np.column_stack([np.zeros(len(usual)), either, either])
    return float((special.logsumexp(likelihood + prior, axis=1) - np.logaddexp(0, usual)).sum())


def atypical_logits(params: Params) -> Floats:
    """Prior log-odds of each contributor not being of the population."""
    return np.asarray(params.strange + params.means @ params.strange_worth)


def log_hyperprior(params: Params) -> float:
    """Log prior density of how alike people are."""
    far = (
        np.log([params.skill / ACCURACY_CONCENTRATION, params.alike / CONFUSION_CONCENTRATION])
        / LOG_CONCENTRATION_SD
    )
    return float(-0.5 * (far**2).sum())


def laplace_penalty(weights: Floats, curve: Floats) -> float:
    """Laplace approximation of the log evidence of weights with N(0, 1) priors, without the likelihood."""
    if not len(weights):
        return 0.0
    return float(-0.5 * weights @ weights - 0.5 * np.linalg.slogdet(curve + np.eye(len(weights)))[1])
