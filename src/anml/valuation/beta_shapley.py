"""Beta Shapley: Kwon and Zou, AISTATS 2022."""

from typing import Any

import numpy as np
from scipy import special

from anml.core.checks import Floats, in_range
from anml.valuation.games import (
    TOGETHER,
    Utility,
    Values,
    check_budget,
    evaluate,
    exactly,
    of_samples,
    players,
    semivalue,
    table_of,
)


def beta_shapley(
    utility: Utility, count: int, *, alpha: float = 4.0, beta: float = 1.0, budget: int | None = None,
    rng: np.random.Generator | None = None,
) -> Values:  # fmt: skip
    """Value that weighs small coalitions more (alpha > beta), in which one player makes a difference to see.

    Beta(1, 1) is the Shapley value. Values do not sum to the worth of all. Exact where the budget allows all
    2^n coalitions, else sampled: every player's marginal worth is averaged over coalitions of each size.
    """
    n = players(count)
    in_range("alpha", alpha, 0, np.inf, open_low=True, open_high=True)
    in_range("beta", beta, 0, np.inf, open_low=True, open_high=True)
    if budget is None or budget >= 2**n:
        return exactly(exact_beta_shapley(table_of(utility, n), alpha, beta), 2**n)
    check_budget(budget, n, 4 * n)
    rng = np.random.default_rng(0) if rng is None else rng
    share = size_weights(n, alpha, beta)
    sums, squares, counts, spent = np.zeros(n), np.zeros(n), 0, 0
    while spent + 2 * n <= budget:
        some = max(1, min(TOGETHER, budget - spent) // (2 * n))
        # For each player in turn a coalition of the others, of a size drawn by its weight.
        sizes = rng.choice(n, (some, n), p=share)
        order = rng.uniform(size=(some, n, n))
        order[:, np.arange(n), np.arange(n)] = np.inf
        without = np.argsort(np.argsort(order, axis=2), axis=2) < sizes[:, :, None]
        joined = without | np.eye(n, dtype=bool)
        worth = evaluate(utility, np.concatenate([joined, without]).reshape(-1, n)).reshape(2, some, n)
        gain = worth[0] - worth[1]
        sums, squares = sums + gain.sum(axis=0), squares + np.square(gain).sum(axis=0)
        counts, spent = counts + some, spent + 2 * some * n
    return of_samples(sums, squares, counts, spent)


def exact_beta_shapley(table: Any, alpha: float = 4.0, beta: float = 1.0) -> Floats:
    """Beta Shapley values from the worth of every coalition."""
    worth = np.asarray(table, dtype=np.float64)
    n = len(worth).bit_length() - 1
    k = np.arange(n)
    choices = special.comb(n - 1, k)
    return semivalue(worth, size_weights(n, alpha, beta) / choices)


def size_weights(count: int, alpha: float, beta: float) -> Floats:
    """How much coalitions of k others weigh together, k from 0 to n - 1; they sum to one.

    With k others a coalition weighs B(k + beta, n - 1 - k + alpha) / B(alpha, beta).
    """
    k = np.arange(count)
    log = special.betaln(k + beta, count - 1 - k + alpha) - special.betaln(alpha, beta)
    log += special.gammaln(count) - special.gammaln(k + 1) - special.gammaln(count - k)
    raw = np.exp(log)
    return np.asarray(raw / raw.sum())
