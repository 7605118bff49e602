"""Variational Bayes for Dawid-Skene models: IBCC and EBCC.

Symbols: item i has a class z_i = k with probability tau_k and, within the class, a subtype g_i = m with
probability pi_km. Contributor j gives the label l to an item of class k and subtype m with probability
v_jkml. Priors: tau ~ Dirichlet(alpha), pi_k ~ Dirichlet(a_pi / M, ...), and v_jkm ~ Dirichlet with DIAGONAL
for l = k and OFF_DIAGONAL for every other label.

IBCC is the model with one subtype, in which labels are independent given the class. With several subtypes
(EBCC) contributors who err on the same items are correlated given the class.

References
----------
H.-C. Kim, Z. Ghahramani. Bayesian Classifier Combination. AISTATS 2012 (IBCC).
Y. Li, B. I. P. Rubinstein, T. Cohn. Exploiting Worker Correlation for Label Aggregation in Crowdsourcing.
ICML 2019 (EBCC, and the variational updates). Hyperparameters are those of the authors' programs
(github.com/yuan-li/truth-inference-at-scale).
"""

from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import digamma, gammaln

from anml.core.checks import Floats
from experiments.crowds_table.read import Crowd

DIAGONAL, OFF_DIAGONAL = 4.0, 1.0
CLASS_PRIOR = 1.0
SUBTYPE_PRIOR = 0.1
SUBTYPES, STARTS = 10, 40
MAX_ITERATIONS, TOLERANCE = 500, 1e-3


class Fit(NamedTuple):
    """Class posterior of every item, and the lower bound of the log evidence."""

    posterior: Floats
    bound: float


def fit_ibcc(crowd: Crowd) -> Floats:
    """Return the class posterior of every item by IBCC, started at the shares of votes."""
    shares = _vote_shares(crowd)
    return fit_variational(crowd, shares[:, None, :], np.full(len(shares), CLASS_PRIOR)).posterior


def fit_ebcc(crowd: Crowd, subtypes: int = SUBTYPES, starts: int = STARTS, seed: int = 0) -> Floats:
    """Return the class posterior of every item by EBCC: of random starts, the one with the highest bound.

    The prior of the classes is the sum of the shares of votes, as in the authors' runs.
    """
    shares, rng = _vote_shares(crowd), np.random.default_rng(seed)
    fits = []
    for _ in range(starts):
        parts = np.moveaxis(rng.dirichlet(np.ones(subtypes), shares.shape), 2, 1)
        fits.append(fit_variational(crowd, parts * shares[:, None, :], shares.sum(axis=1)))
    return max(fits, key=lambda fit: fit.bound).posterior


def fit_variational(crowd: Crowd, start: Floats, alpha: Floats, iterations: int = MAX_ITERATIONS) -> Fit:
    """Iterate from responsibilities (classes, subtypes, items) until the class posterior is stable."""
    k, m, n = start.shape
    # One line for each contributor and label, one column for each item.
    given = sparse.csr_matrix(
        (np.ones(len(crowd.item)), (crowd.contributor * k + crowd.label, crowd.item)),
        shape=(crowd.n_contributors * k, n),
    )
    by_item = given.T.tocsr()
    # Axes: contributor, label, class, subtype.
    beta = (OFF_DIAGONAL + (DIAGONAL - OFF_DIAGONAL) * np.eye(k))[None, :, :, None]
    subtype_prior = np.full((k, m), SUBTYPE_PRIOR / m)
    q = start
    for _ in range(iterations):
        nu, eta = alpha + q.sum(axis=(1, 2)), subtype_prior + q.sum(axis=2)
        mu = (given @ q.reshape(k * m, n).T).reshape(-1, k, k, m) + beta
        log_v = _expected_log(mu, axis=1).reshape(-1, k * m)
        log_prior = _expected_log(nu, axis=0)[:, None] + _expected_log(eta, axis=1)
        log_q = np.ascontiguousarray((by_item @ log_v).T) + log_prior.reshape(k * m, 1)
        highest = log_q.max(axis=0)
        likely = np.exp(log_q - highest)
        total = likely.sum(axis=0)
        before, q = q, (likely / total).reshape(k, m, n)
        if np.allclose(before.sum(axis=1), q.sum(axis=1), atol=TOLERANCE):
            break
    divergence = _kl(nu, alpha, axis=0) + _kl(eta, subtype_prior, axis=1) + _kl(mu, beta, axis=1)
    return Fit(q.sum(axis=1).T, float((np.log(total) + highest).sum()) - divergence)


def _vote_shares(crowd: Crowd) -> Floats:
    """Return the shares of votes (classes, items)."""
    votes = crowd.votes.T
    return np.asarray(votes / votes.sum(axis=0))


def _expected_log(counts: Floats, axis: int) -> Floats:
    """Return the expected logarithm of probabilities with a Dirichlet distribution."""
    return np.asarray(digamma(counts) - digamma(counts.sum(axis=axis, keepdims=True)))


def _kl(counts: Floats, prior: Floats, axis: int) -> float:
    """Return the divergence of Dirichlet distributions from their priors, summed."""
    prior = np.broadcast_to(prior, counts.shape)
    normaliser = gammaln(counts.sum(axis=axis)) - gammaln(counts).sum(axis=axis)
    of_prior = gammaln(prior.sum(axis=axis)) - gammaln(prior).sum(axis=axis)
    moved = ((counts - prior) * _expected_log(counts, axis)).sum(axis=axis)
    return float((normaliser - of_prior + moved).sum())
