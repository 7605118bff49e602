"""Semivalues of players, exact where coalitions are few, else sampled; each with its reference."""

from typing import Any

import numpy as np
from scipy import special

from anml.core.checks import Floats, in_range
from anml.core.stats import mean_interval
from anml.valuation import games
from anml.valuation.games import Utility, Values

# Permutations that are walked along together.
ORDERS = 64


def shapley(
    utility: Utility, count: int, *, budget: int | None = None, tolerance: float = 0.0,
    rng: np.random.Generator | None = None,
) -> Values:  # fmt: skip
    """Data Shapley (Ghorbani and Zou, ICML 2019), truncated: mean marginal worth over all orders of joining.

    Exact where the budget allows all 2^n coalitions (or none is given), else over random orders, each with
    its reverse, which cancels much of the chance. With a `tolerance`, an order ends where the worth of all
    is reached within it, and who joins later adds nothing (truncation). Values sum to the worth of all
    minus that of nobody. Its weakness: copies of a player get more together than the player alone.
    """
    n = games.players(count)
    if budget is None or budget >= 2**n:
        return games.exactly(exact_shapley(games.table_of(utility, n)), 2**n)
    games.check_budget(budget, n, 2 * n + 2)
    rng = np.random.default_rng(0) if rng is None else rng
    ends = games.worth_of_ends(utility, n)
    sums, squares, pairs, spent = np.zeros(n), np.zeros(n), 0, 2
    # The ends of an order are known, so it takes n - 1 coalitions.
    cost = 2 * max(n - 1, 1)
    while spent + cost <= budget:
        some = min(ORDERS, (budget - spent) // cost)
        orders = np.array([rng.permutation(n) for _ in range(some)])
        both_ways = np.concatenate([orders, orders[:, ::-1]])
        gains, used = games.walked(
            utility, both_ways, ends, lambda left: (left > tolerance) | (tolerance <= 0)
        )
        both = (gains[:some] + gains[some:]) / 2
        sums, squares = sums + both.sum(axis=0), squares + np.square(both).sum(axis=0)
        pairs, spent = pairs + some, spent + used
        if not used:
            break
    return games.of_samples(sums, squares, pairs, spent)


def exact_shapley(table: Any) -> Floats:
    """Shapley values from the worth of every coalition (see `anml.valuation.games.all_coalitions`)."""
    return games.semivalue(table, games.shapley_weights)


def banzhaf(
    utility: Utility, count: int, *, budget: int | None = None, rng: np.random.Generator | None = None
) -> Values:
    """Data Banzhaf (Wang and Jia, AISTATS 2023): mean marginal worth over all coalitions, each as likely.

    Exact where the budget allows all 2^n coalitions, else every random coalition serves every player: what
    coalitions with it are worth on average, minus those without. Laws that make it fit for pay: a player who
    splits in two has the same value in total (Lehrer's 2-efficiency), and so have a player and a copy of it
    together; a split into more does not raise the total where each further row adds less than the one before,
    at a rate that slackens, as learning curves do. Values do not sum to the worth of all.
    """
    n = games.players(count)
    if budget is None or budget >= 2**n:
        return games.exactly(exact_banzhaf(games.table_of(utility, n)), 2**n)
    games.check_budget(budget, n, 16)
    rng = np.random.default_rng(0) if rng is None else rng
    # A coalition and the rest in turn: everybody is in as many as not.
    half = rng.uniform(size=(budget // 2, n)) < 0.5
    inside = np.stack([half, ~half], axis=1).reshape(-1, n)
    worth = games.evaluated(utility, inside)
    # Both of a pair differ in every player, so their difference is a sample of every player's value.
    signs = np.where(half, 1.0, -1.0)
    samples = signs * (worth[::2] - worth[1::2])[:, None]
    found = np.array([mean_interval(column) for column in samples.T])
    return Values(found[:, 0], found[:, 1], found[:, 2], len(inside))


def exact_banzhaf(table: Any) -> Floats:
    """Banzhaf values from the worth of every coalition."""
    return games.semivalue(table, lambda n: np.full(n, 0.5 ** (n - 1)))


def beta_shapley(
    utility: Utility, count: int, *, alpha: float = 4.0, beta: float = 1.0, budget: int | None = None,
    rng: np.random.Generator | None = None,
) -> Values:  # fmt: skip
    """Beta Shapley (Kwon and Zou, AISTATS 2022): small coalitions, which one player changes most, weigh more.

    Beta(1, 1) is the Shapley value. Values do not sum to the worth of all. Exact where the budget allows all
    2^n coalitions, else sampled: every player's marginal worth is averaged over coalitions of each size.
    """
    n = games.players(count)
    in_range("alpha", alpha, 0, np.inf, open_low=True, open_high=True)
    in_range("beta", beta, 0, np.inf, open_low=True, open_high=True)
    if budget is None or budget >= 2**n:
        return games.exactly(exact_beta_shapley(games.table_of(utility, n), alpha, beta), 2**n)
    games.check_budget(budget, n, 4 * n)
    rng = np.random.default_rng(0) if rng is None else rng
    share = size_weights(n, alpha, beta)
    sums, squares, counts, spent = np.zeros(n), np.zeros(n), 0, 0
    while spent + 2 * n <= budget:
        some = max(1, min(games.TOGETHER, budget - spent) // (2 * n))
        # For each player in turn a coalition of the others, of a size drawn by its weight.
        sizes = rng.choice(n, (some, n), p=share)
        order = rng.uniform(size=(some, n, n))
        order[:, np.arange(n), np.arange(n)] = np.inf
        without = np.argsort(np.argsort(order, axis=2), axis=2) < sizes[:, :, None]
        joined = without | np.eye(n, dtype=bool)
        worth = games.evaluate(utility, np.concatenate([joined, without]).reshape(-1, n)).reshape(2, some, n)
        gain = worth[0] - worth[1]
        sums, squares = sums + gain.sum(axis=0), squares + np.square(gain).sum(axis=0)
        counts, spent = counts + some, spent + 2 * some * n
    return games.of_samples(sums, squares, counts, spent)


def exact_beta_shapley(table: Any, alpha: float = 4.0, beta: float = 1.0) -> Floats:
    """Beta Shapley values from the worth of every coalition."""
    return games.semivalue(table, lambda n: size_weights(n, alpha, beta) / special.comb(n - 1, np.arange(n)))


def size_weights(count: int, alpha: float, beta: float) -> Floats:
    """How much coalitions of k others weigh together, k from 0 to n - 1; they sum to one.

    With k others a coalition weighs B(k + beta, n - 1 - k + alpha) / B(alpha, beta).
    """
    k = np.arange(count)
    log = special.betaln(k + beta, count - 1 - k + alpha) - special.betaln(alpha, beta)
    log += special.gammaln(count) - special.gammaln(k + 1) - special.gammaln(count - k)
    raw = np.exp(log)
    return np.asarray(raw / raw.sum())
