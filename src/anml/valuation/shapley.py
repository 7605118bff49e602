"""Data Shapley by truncated Monte Carlo: Ghorbani and Zou, ICML 2019; exact over all coalitions where few."""

from typing import Any

import numpy as np

from anml.core.checks import Floats
from anml.valuation.games import (
    Utility,
    Values,
    check_budget,
    exactly,
    of_samples,
    players,
    semivalue,
    shapley_weights,
    table_of,
    walked,
    worth_of_ends,
)

# Permutations that are walked along together.
TOGETHER = 64


def shapley(
    utility: Utility, count: int, *, budget: int | None = None, tolerance: float = 0.0,
    rng: np.random.Generator | None = None,
) -> Values:  # fmt: skip
    """Shapley value of each player: its mean marginal worth over all orders of joining.

    Exact where the budget allows all 2^n coalitions (or none is given), else over random orders, each with
    its reverse, which cancels much of the chance. With a `tolerance`, an order ends where the worth of all
    is reached within it, and who joins later adds nothing (truncation). Values sum to the worth of all
    minus that of nobody. Its weakness: copies of a player get more together than the player alone.
    """
    n = players(count)
    if budget is None or budget >= 2**n:
        return exactly(exact_shapley(table_of(utility, n)), 2**n)
    check_budget(budget, n, 2 * n + 2)
    rng = np.random.default_rng(0) if rng is None else rng
    ends = worth_of_ends(utility, n)
    sums, squares, pairs, spent = np.zeros(n), np.zeros(n), 0, 2
    # The ends of an order are known, so it takes n - 1 coalitions.
    cost = 2 * max(n - 1, 1)
    while spent + cost <= budget:
        some = min(TOGETHER, (budget - spent) // cost)
        orders = np.array([rng.permutation(n) for _ in range(some)])
        both_ways = np.concatenate([orders, orders[:, ::-1]])
        gains, used = walked(utility, both_ways, ends, lambda left: (left > tolerance) | (tolerance <= 0))
        both = (gains[:some] + gains[some:]) / 2
        sums, squares = sums + both.sum(axis=0), squares + np.square(both).sum(axis=0)
        pairs, spent = pairs + some, spent + used
        if not used:
            break
    return of_samples(sums, squares, pairs, spent)


def exact_shapley(table: Any) -> Floats:
    """Shapley values from the worth of every coalition (see `anml.valuation.games.all_coalitions`)."""
    worth = np.asarray(table, dtype=np.float64)
    return semivalue(worth, shapley_weights(len(worth).bit_length() - 1))
