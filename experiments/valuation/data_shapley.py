"""Data Shapley over orders of joining, and semivalues of many players from shared coalitions."""

from collections.abc import Callable

import numpy as np

from anml.attribution.games import (
    Utility,
    Values,
    check_budget,
    evaluate,
    evaluate_in_batches,
    exact_values,
    of_samples,
    players,
    table_of,
    utility_of_extremes,
)
from anml.attribution.semivalues import Seed, exact_shapley
from anml.core.checks import Bools, Floats, Ints

# Permutations that are walked along together.
ORDERS = 64


def shapley(
    utility: Utility, n: int, *, n_evaluations: int | None = None, tolerance: float = 0.0,
    random_state: Seed = 0,
) -> Values:  # fmt: skip
    """Data Shapley (Ghorbani and Zou, ICML 2019), truncated: mean marginal utility over all orders.

    Values are exact if `n_evaluations` allows all 2^n coalitions or is None. Otherwise random orders are
    used, each with its reverse, which reduces the variance. With a `tolerance`, an order ends when its
    utility is within `tolerance` of that of all players; later players add nothing (truncation). Values sum
    to the utility of all players minus that of the empty coalition. Copies of a player receive more together
    than the player without copies.
    """
    n, budget = players(n), n_evaluations
    if budget is None or budget >= 2**n:
        return exact_values(exact_shapley(table_of(utility, n)), 2**n)
    check_budget(budget, n, 2 * n + 2)
    rng = np.random.default_rng(random_state)
    ends = utility_of_extremes(utility, n)
    samples, spent = np.empty((0, n)), 2
    # The ends of an order are known, so it takes n - 1 coalitions.
    cost = 2 * max(n - 1, 1)
    while spent + cost <= budget:
        n_orders = min(ORDERS, (budget - spent) // cost)
        orders = np.array([rng.permutation(n) for _ in range(n_orders)])
        both_ways = np.concatenate([orders, orders[:, ::-1]])
        gains, used = permutation_marginals(
            utility, both_ways, ends, lambda left: (left > tolerance) | (tolerance <= 0)
        )
        samples = np.concatenate([samples, (gains[:n_orders] + gains[n_orders:]) / 2])
        spent += used
        if not used:
            break
    return of_samples(samples, spent)


def permutation_marginals(
    worth_of: Utility, orders: Ints, ends: Floats, going_on: Callable[[Floats], Bools]
) -> tuple[Floats, int]:
    """Marginal worth of each player in each order, and the coalitions that took.

    All orders take a step at a time, as one batch, while what is left to gain is enough to go on for.
    """
    subset, n = orders.shape
    gains, spent = np.zeros((subset, n)), 0
    inside, going = np.zeros((subset, n), dtype=bool), np.ones(subset, dtype=bool)
    worth = np.full(subset, ends[0])
    for step in range(n):
        going &= going_on(np.abs(ends[1] - worth))
        walking = np.flatnonzero(going)
        if not len(walking):
            break
        joins = orders[walking, step]
        inside[walking, joins] = True
        # The worth of all is known: who joins last gets what is left.
        last = step == n - 1
        after = np.full(len(walking), ends[1]) if last else evaluate(worth_of, inside[walking])
        spent += 0 if last else len(walking)
        gains[walking, joins] = after - worth[walking]
        worth[walking] = after
    return gains, spent


def semivalues_by_reuse(
    utility: Utility, count: int, shares: Floats, *, budget: int, rng: np.random.Generator
) -> Floats:
    """Semivalues of many players from few coalitions, each of which serves every player.

    `shares` says how much coalitions of k others weigh together, k from 0 to n - 1, summing to one: all alike
    is Shapley, the binomial Banzhaf. A coalition of k counts for who is in it as one of k - 1 others, and
    against who is not as one of k; it comes with its complement, and worths are taken about their mean, which
    changes nothing on average.
    """
    n = players(count)
    sizes = np.arange(1, n)
    draw = shares[sizes - 1] + shares[sizes]
    draw = (draw + draw[::-1]) / (draw + draw[::-1]).sum()
    chosen = rng.choice(sizes, budget // 2, p=draw)
    half = np.argsort(np.argsort(rng.uniform(size=(len(chosen), n)), axis=1), axis=1) < chosen[:, None]
    inside = np.concatenate([half, ~half])
    k = inside.sum(axis=1)
    worth, ends = evaluate_in_batches(utility, inside), utility_of_extremes(utility, n)
    middle, often = worth.mean(), draw[k - 1]
    with_it = (worth - middle) * shares[k - 1] * n / (k * often)
    without = (worth - middle) * shares[k] * n / ((n - k) * often)
    result = np.where(inside, with_it[:, None], -without[:, None]).mean(axis=0)
    return np.asarray(result + shares[-1] * (ends[1] - middle) - shares[0] * (ends[0] - middle))
