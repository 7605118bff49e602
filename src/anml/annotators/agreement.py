"""Chance-corrected agreement with a reference: kappa, its posterior, and the labels that a decision needs."""

import numpy as np

from anml.core.checks import Floats, Ints

DRAWS = 4_000
Z_95 = 1.959964
# A number of labels above this is not stated.
MAX_LABELS = 10_000


def kappa_draws(table: Floats, disagreement: Floats, rng: np.random.Generator, draws: int = DRAWS) -> Floats:
    r"""Draw kappa from its posterior.

    `table` counts pairs of labels, with p_kl as their probabilities and a Dirichlet prior of weight 1 spread
    as independent labels are; kappa = 1 - sum(d_kl p_kl) / sum(d_kl p_k. p_.l) with the `disagreement` d_kl
    (Cohen 1968).
    """
    rows, columns = (table.sum(axis=axis) + 1 / len(table) for axis in (1, 0))
    prior = np.outer(rows, columns) / (rows.sum() * columns.sum())
    p = rng.standard_gamma(table + prior, size=(draws, *table.shape))
    p /= p.sum(axis=(1, 2), keepdims=True)
    expected = np.einsum("nk,kl,nl->n", p.sum(axis=2), disagreement, p.sum(axis=1))
    return np.asarray(1 - (p * disagreement).sum(axis=(1, 2)) / expected)


def pair_counts(labels: Ints, reference: Floats) -> Floats:
    """Count pairs of labels and reference labels; rows of `reference` are shares of the classes."""
    table = np.zeros((reference.shape[1], reference.shape[1]))
    np.add.at(table, labels, reference)
    return table


def pair_counts_within(counts: Floats) -> Floats:
    """Count pairs of labels of the same item; rows of `counts` are items with two labels or more."""
    n = counts.sum(axis=1)
    weighted = counts / (n * (n - 1))[:, None]
    return np.asarray(counts.T @ weighted - np.diag(weighted.sum(axis=0)))


def labels_to_decide(draws: Floats, n: int, limit: float) -> int:
    """Return how many more items decide whether kappa is above a limit with 95%; 0 if that is decided."""
    low, high = np.quantile(draws, (0.025, 0.975))
    if low >= limit or high < limit:
        return 0
    # The standard deviation falls with the square root of the number of items.
    gap, spread = abs(float(draws.mean()) - limit), float(draws.std()) * np.sqrt(n)
    if gap * np.sqrt(MAX_LABELS) <= Z_95 * spread:
        return MAX_LABELS
    return max(int(np.ceil((Z_95 * spread / gap) ** 2)) - n, 1)


def effective_number(errors: Floats) -> float:
    """Return the number of judges with independent errors that inform as much as these.

    `errors` has a row for each item and a column for each judge, NaN without a label. The number is
    J^2 / sum(rho_ij) over the correlations rho_ij, of which negative ones count as 0.
    """
    known = ~np.isnan(errors)
    centred = np.where(known, errors - np.nanmean(errors, axis=0), 0.0)
    variance = (centred**2).T @ known.astype(float)
    scale = np.sqrt(variance * variance.T)
    rho = np.divide(centred.T @ centred, scale, out=np.zeros_like(scale), where=scale > 0)
    np.fill_diagonal(rho, 1.0)
    return float(len(rho) ** 2 / np.maximum(rho, 0).sum())
