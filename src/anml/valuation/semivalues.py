"""Semivalues of players, exact where coalitions are few, else sampled; each with its reference."""

from itertools import combinations
from typing import Any

import numpy as np
from scipy import special, stats

from anml.core.checks import Bools, Floats, in_range
from anml.valuation import games
from anml.valuation.games import Utility, Values

# Permutations that are walked along together.
ORDERS = 64
# Values by regression are worked out once without each of so many parts of the coalitions: their interval.
FOLDS = 20


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
    samples, spent = np.empty((0, n)), 2
    # The ends of an order are known, so it takes n - 1 coalitions.
    cost = 2 * max(n - 1, 1)
    while spent + cost <= budget:
        some = min(ORDERS, (budget - spent) // cost)
        orders = np.array([rng.permutation(n) for _ in range(some)])
        both_ways = np.concatenate([orders, orders[:, ::-1]])
        gains, used = games.walked(
            utility, both_ways, ends, lambda left: (left > tolerance) | (tolerance <= 0)
        )
        samples = np.concatenate([samples, (gains[:some] + gains[some:]) / 2])
        spent += used
        if not used:
            break
    return games.of_samples(samples, spent)


def exact_shapley(table: Any) -> Floats:
    """Shapley values from the worth of every coalition (see `anml.valuation.games.all_coalitions`)."""
    return games.semivalue(table, lambda n: 1 / (n * special.comb(n - 1, np.arange(n))))


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
    return games.of_samples(signs * (worth[::2] - worth[1::2])[:, None], len(inside))


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
    samples, spent = np.empty((0, n)), 0
    while spent + 2 * n <= budget:
        some = max(1, min(games.TOGETHER, budget - spent) // (2 * n))
        # For each player in turn a coalition of the others, of a size drawn by its weight.
        sizes = rng.choice(n, (some, n), p=share)
        order = rng.uniform(size=(some, n, n))
        order[:, np.arange(n), np.arange(n)] = np.inf
        without = np.argsort(np.argsort(order, axis=2), axis=2) < sizes[:, :, None]
        joined = without | np.eye(n, dtype=bool)
        worth = games.evaluate(utility, np.concatenate([joined, without]).reshape(-1, n)).reshape(2, some, n)
        samples = np.concatenate([samples, worth[0] - worth[1]])
        spent += 2 * some * n
    return games.of_samples(samples, spent)


def exact_beta_shapley(table: Any, alpha: float = 4.0, beta: float = 1.0) -> Floats:
    """Beta Shapley values from the worth of every coalition."""
    return games.semivalue(table, lambda n: size_weights(n, alpha, beta) / special.comb(n - 1, np.arange(n)))


def size_weights(count: int, alpha: float, beta: float) -> Floats:
    """How much coalitions of k others weigh together, k from 0 to n - 1; they sum to one.

    With k others a coalition weighs B(k + beta, n - 1 - k + alpha) / B(alpha, beta): the beta-binomial.
    """
    return np.asarray(stats.betabinom.pmf(np.arange(count), count - 1, beta, alpha))


def shapley_by_regression(
    utility: Utility, count: int, *, budget: int | None = None, rng: np.random.Generator | None = None
) -> Values:
    """Shapley values by weighted least squares over paired coalitions (Covert and Lee, AISTATS 2021).

    Exact where the budget allows all 2^n coalitions. Values sum to the worth of all minus that of nobody.
    """
    n = games.players(count)
    if budget is None or budget >= 2**n:
        return games.exactly(exact_shapley(games.table_of(utility, n)), 2**n)
    games.check_budget(budget, n, 4 * n + 2)
    rng = np.random.default_rng(0) if rng is None else rng
    ends = games.worth_of_ends(utility, n)
    some, weights, whole = drawn(n, (budget - 2) // 2, rng)
    both = np.stack([some, ~some], axis=1).reshape(-1, n)
    worth = games.evaluated(utility, both)
    gain = (worth[::2] - worth[1::2]) / 2
    value = _solved(some, gain, weights, ends)
    # Sizes that were taken whole are no matter of chance, and stay in every part.
    fold = np.where(whole, -1, np.cumsum(~whole) % FOLDS)
    others = []
    for one in range(FOLDS):
        stays = fold != one
        more = np.where(whole, 1.0, FOLDS / (FOLDS - 1))[stays]
        others.append(_solved(some[stays], gain[stays], weights[stays] * more, ends))
    spread = np.sqrt((FOLDS - 1) / FOLDS * np.square(others - np.mean(others, axis=0)).sum(axis=0))
    half = stats.t.ppf(0.975, FOLDS - 1) * spread
    return Values(value, value - half, value + half, len(both) + 2)


def drawn(n: int, pairs: int, rng: np.random.Generator) -> tuple[Bools, Floats, Bools]:
    """Coalitions of at most half of the players, each standing for itself and the rest, and their weights.

    Also whether all of a coalition's size were taken. Sizes whose coalitions fit into their share of the
    pairs are taken whole, the others by chance without replacement; a size's weight is spread over those
    taken.
    """
    sizes = np.arange(1, n // 2 + 1)
    # Weight of all coalitions of a size and of their rests together, in Shapley's kernel.
    share = (n - 1) / (sizes * (n - sizes)) * np.where(2 * sizes == n, 1, 2)
    number = special.comb(n, sizes) / np.where(2 * sizes == n, 2, 1)
    left, room = share.copy(), pairs
    taken = np.zeros(len(sizes), dtype=np.int64)
    for place in range(len(sizes)):
        wanted = room * left[place] / left[place:].sum()
        # Small sizes have few coalitions and much weight: what they do not need goes to the next.
        taken[place] = int(min(number[place], max(round(wanted), 1), room))
        room -= int(taken[place])
    rows, weights, whole = [], [], []
    for size, some, all_, weight in zip(sizes, taken, number, share, strict=True):
        if some:
            rows.append(_of_size(n, int(size), int(some), int(all_), rng))
            weights.append(np.full(len(rows[-1]), weight / len(rows[-1])))
            whole.append(np.full(len(rows[-1]), some >= all_))
    order = rng.permutation(sum(len(part) for part in rows))
    return np.concatenate(rows)[order], np.concatenate(weights)[order], np.concatenate(whole)[order]


def _of_size(n: int, size: int, some: int, number: int, rng: np.random.Generator) -> Bools:
    if some >= number:
        chosen: list[Any] = list(combinations(range(n), size))
        if 2 * size == n:
            chosen = [members for members in chosen if members[0] == 0]
        found = np.zeros((len(chosen), n), dtype=bool)
        found[np.arange(len(chosen))[:, None], np.array(chosen)] = True
        return found
    seen: dict[bytes, Bools] = {}
    while len(seen) < some:
        members = np.zeros(n, dtype=bool)
        members[rng.permutation(n)[:size]] = True
        if 2 * size == n and not members[0]:
            members = ~members
        seen.setdefault(members.tobytes(), members)
    return np.array(list(seen.values()))


def _solved(some: Bools, gain: Floats, weights: Floats, ends: Floats) -> Floats:
    """Least squares with the sum fixed: z' phi, from half of all, against half of S minus the rest."""
    n = some.shape[1]
    total = float(ends[1] - ends[0])
    design = some.astype(np.float64) - 0.5
    square = (design * weights[:, None]).T @ design + 1e-12 * np.eye(n)
    right = design.T @ (weights * gain)
    solved = np.linalg.solve(square, np.column_stack([right, np.ones(n)]))
    return np.asarray(solved[:, 0] + solved[:, 1] * (total - solved[:, 0].sum()) / solved[:, 1].sum())
