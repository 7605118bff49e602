"""The variational bound against exact sums, and updates written as loops."""

import itertools

import numpy as np
import pytest
from crowd_cases import crowd_of
from scipy.special import digamma, gammaln

from experiments.crowds_table import variational


def small(seed):
    rng = np.random.default_rng(seed)
    return crowd_of(rng.integers(0, 2, (5, 3)), np.zeros(5, dtype=int))


def log_beta(counts):
    """Logarithm of the normaliser of a Dirichlet distribution, by the last axis."""
    return gammaln(counts).sum(axis=-1) - gammaln(counts.sum(axis=-1))


def log_evidence(crowd):
    """The log evidence of one subtype, summed over the classes of all items."""
    k, prior = 2, variational.OFF_DIAGONAL + (variational.DIAGONAL - variational.OFF_DIAGONAL) * np.eye(2)
    terms = []
    for classes in itertools.product(range(k), repeat=crowd.n_items):
        z = np.array(classes)
        counts = np.zeros((crowd.n_contributors, k, k))
        np.add.at(counts, (crowd.contributor, z[crowd.item], crowd.label), 1)
        of_labels = (log_beta(counts + prior) - log_beta(prior)).sum()
        ones = np.ones(k)
        terms.append(of_labels + log_beta(np.bincount(z, minlength=k) + ones) - log_beta(ones))
    return np.logaddexp.reduce(terms)


@pytest.mark.parametrize("seed", range(4))
def test_the_bound_rises_and_stays_below_the_log_evidence(seed):
    crowd = small(seed)
    shares = (crowd.votes / crowd.votes.sum(axis=1, keepdims=True)).T[:, None, :]
    bounds = [
        variational.fit_variational(crowd, shares, np.ones(2), iterations=count).bound
        for count in (1, 2, 3, 10, 50)
    ]
    assert bounds == sorted(bounds)
    assert bounds[-1] <= log_evidence(crowd)
    assert bounds[-1] > log_evidence(crowd) - 3


def test_ibcc_is_a_fixed_point_of_the_updates_written_as_loops(one_coin):
    result = variational.fit_ibcc(one_coin)
    people = range(one_coin.n_contributors)
    counts = {(j, k, y): 4.0 if k == y else 1.0 for j in people for k in range(2) for y in range(2)}
    rows = list(zip(one_coin.item, one_coin.contributor, one_coin.label, strict=True))
    for i, j, y in rows:
        for k in range(2):
            counts[j, k, y] += result[i, k]
    log_z = np.tile(digamma(1 + result.sum(axis=0)), (one_coin.n_items, 1))
    for i, j, y in rows:
        for k in range(2):
            log_z[i, k] += digamma(counts[j, k, y]) - digamma(counts[j, k, 0] + counts[j, k, 1])
    z = np.exp(log_z)
    np.testing.assert_allclose(z / z.sum(axis=1, keepdims=True), result, atol=2 * variational.TOLERANCE)
