"""Semivalues of players: exact if all coalitions can be evaluated, else sampled, each with its reference."""

from itertools import combinations
from typing import Any

import numpy as np
from scipy import special, stats

from anml.attribution import games
from anml.attribution.games import Utility, Values
from anml.core.checks import Bools, Floats, in_range

Seed = int | np.random.Generator
# Number of jackknife folds of coalitions for the interval of values by regression.
FOLDS = 20


def exact_shapley(table: Any) -> Floats:
    """Return Shapley values from the utility of every coalition, in the order of `games.all_coalitions`."""
    return games.semivalue(table, lambda n: 1 / (n * special.comb(n - 1, np.arange(n))))


def banzhaf(utility: Utility, n: int, *, n_evaluations: int | None = 2_000, random_state: Seed = 0) -> Values:
    """Data Banzhaf (Wang and Jia, AISTATS 2023): mean marginal utility over all coalitions, unweighted.

    Values are exact if `n_evaluations` allows all 2^n coalitions. Otherwise every random coalition is used
    for every player: the mean utility of coalitions with the player minus that of coalitions without.
    Properties relevant for payment: a player who splits into two keeps the same total value (Lehrer's
    2-efficiency), as does a player with one copy. A split into more does not raise the total if marginal
    utility decreases with rows, at a decreasing rate, as in learning curves. Values do not sum to the utility
    of all players.
    """
    n, budget = games.players(n), n_evaluations
    if budget is None or budget >= 2**n:
        return games.exact_values(exact_banzhaf(games.table_of(utility, n)), 2**n)
    games.check_budget(budget, n, 16)
    rng = np.random.default_rng(random_state)
    # Coalitions are paired with their complements, so every player is in exactly half of them.
    half = rng.uniform(size=(budget // 2, n)) < 0.5
    inside = np.stack([half, ~half], axis=1).reshape(-1, n)
    utilities = games.evaluate_in_batches(utility, inside)
    # A pair differs in every player, so its difference is a sample of the value of every player.
    signs = np.where(half, 1.0, -1.0)
    return games.of_samples(signs * (utilities[::2] - utilities[1::2])[:, None], len(inside))


def exact_banzhaf(table: Any) -> Floats:
    """Return Banzhaf values from the utility of every coalition."""
    return games.semivalue(table, lambda n: np.full(n, 0.5 ** (n - 1)))


def beta_shapley(
    utility: Utility, n: int, *, alpha: float = 4.0, beta: float = 1.0, n_evaluations: int | None = 2_000,
    random_state: Seed = 0,
) -> Values:  # fmt: skip
    """Beta Shapley (Kwon and Zou, AISTATS 2022): small coalitions have a larger weight than in Shapley.

    Beta(1, 1) is the Shapley value. Values do not sum to the utility of all players. Values are exact if
    `n_evaluations` allows all 2^n coalitions, else sampled: marginal utilities are averaged over coalitions
    of each size.
    """
    n, budget = games.players(n), n_evaluations
    in_range("alpha", alpha, 0, np.inf, open_low=True, open_high=True)
    in_range("beta", beta, 0, np.inf, open_low=True, open_high=True)
    if budget is None or budget >= 2**n:
        return games.exact_values(exact_beta_shapley(games.table_of(utility, n), alpha, beta), 2**n)
    games.check_budget(budget, n, 4 * n)
    rng = np.random.default_rng(random_state)
    size_probabilities = size_weights(n, alpha, beta)
    samples, spent = np.empty((0, n)), 0
    while spent + 2 * n <= budget:
        n_samples = max(1, min(games.BATCH_SIZE, budget - spent) // (2 * n))
        # For each player a coalition of other players, with a size drawn by its weight.
        sizes = rng.choice(n, (n_samples, n), p=size_probabilities)
        order = rng.uniform(size=(n_samples, n, n))
        order[:, np.arange(n), np.arange(n)] = np.inf
        without = np.argsort(np.argsort(order, axis=2), axis=2) < sizes[:, :, None]
        joined = without | np.eye(n, dtype=bool)
        utilities = games.evaluate(utility, np.concatenate([joined, without]).reshape(-1, n)).reshape(
            2, n_samples, n
        )
        samples = np.concatenate([samples, utilities[0] - utilities[1]])
        spent += 2 * n_samples * n
    return games.of_samples(samples, spent)


def exact_beta_shapley(table: Any, alpha: float = 4.0, beta: float = 1.0) -> Floats:
    """Return Beta Shapley values from the utility of every coalition."""
    return games.semivalue(table, lambda n: size_weights(n, alpha, beta) / special.comb(n - 1, np.arange(n)))


def size_weights(count: int, alpha: float, beta: float) -> Floats:
    """Return the total weight of coalitions of k other players, k from 0 to n - 1; the weights sum to one.

    The weight of one coalition of k others is B(k + beta, n - 1 - k + alpha) / B(alpha, beta): beta-binomial.
    """
    return np.asarray(stats.betabinom.pmf(np.arange(count), count - 1, beta, alpha))


def shapley(utility: Utility, n: int, *, n_evaluations: int | None = 2_000, random_state: Seed = 0) -> Values:
    """Shapley values by weighted least squares over paired coalitions (Covert and Lee, AISTATS 2021).

    Values are exact if `n_evaluations` allows all 2^n coalitions. They sum to the utility of all players
    minus that of the empty coalition.
    """
    n, budget = games.players(n), n_evaluations
    if budget is None or budget >= 2**n:
        return games.exact_values(exact_shapley(games.table_of(utility, n)), 2**n)
    games.check_budget(budget, n, 4 * n + 2)
    rng = np.random.default_rng(random_state)
    ends = games.utility_of_extremes(utility, n)
    coalitions, weights, whole = paired_coalitions(n, (budget - 2) // 2, rng)
    pairs = np.stack([coalitions, ~coalitions], axis=1).reshape(-1, n)
    utilities = games.evaluate_in_batches(utility, pairs)
    half_gain = (utilities[::2] - utilities[1::2]) / 2
    value = _solved(coalitions, half_gain, weights, ends)
    # Sizes whose coalitions are all included have no sampling error and stay in every jackknife fold.
    fold = np.where(whole, -1, np.cumsum(~whole) % FOLDS)
    jackknife = []
    for index in range(FOLDS):
        retained = fold != index
        scale = np.where(whole, 1.0, FOLDS / (FOLDS - 1))[retained]
        jackknife.append(_solved(coalitions[retained], half_gain[retained], weights[retained] * scale, ends))
    error = np.sqrt((FOLDS - 1) / FOLDS * np.square(jackknife - np.mean(jackknife, axis=0)).sum(axis=0))
    half_width = stats.t.ppf(0.975, FOLDS - 1) * error
    return Values(value, value - half_width, value + half_width, len(pairs) + 2)


def paired_coalitions(n: int, pairs: int, rng: np.random.Generator) -> tuple[Bools, Floats, Bools]:
    """Select coalitions of at most half of the players, each paired with its complement, with weights.

    Also return whether all coalitions of its size were taken. Sizes whose coalitions fit into their share of
    the pairs are enumerated, others are sampled without replacement; the weight of a size is divided among
    its coalitions.
    """
    sizes = np.arange(1, n // 2 + 1)
    # Total weight in the Shapley kernel of all coalitions of a size and their complements.
    size_weight = (n - 1) / (sizes * (n - sizes)) * np.where(2 * sizes == n, 1, 2)
    n_coalitions = special.comb(n, sizes) / np.where(2 * sizes == n, 2, 1)
    remaining_weight, remaining = size_weight.copy(), pairs
    taken = np.zeros(len(sizes), dtype=np.int64)
    for index in range(len(sizes)):
        target = remaining * remaining_weight[index] / remaining_weight[index:].sum()
        # Small sizes have few coalitions and a large weight; their unused budget goes to the next size.
        taken[index] = int(min(n_coalitions[index], max(round(target), 1), remaining))
        remaining -= int(taken[index])
    rows, weights, whole = [], [], []
    for size, n_taken, n_all, weight in zip(sizes, taken, n_coalitions, size_weight, strict=True):
        if n_taken:
            rows.append(_of_size(n, int(size), int(n_taken), int(n_all), rng))
            weights.append(np.full(len(rows[-1]), weight / len(rows[-1])))
            whole.append(np.full(len(rows[-1]), n_taken >= n_all))
    order = rng.permutation(sum(len(block) for block in rows))
    return np.concatenate(rows)[order], np.concatenate(weights)[order], np.concatenate(whole)[order]


def _of_size(n: int, size: int, n_taken: int, n_all: int, rng: np.random.Generator) -> Bools:
    if n_taken >= n_all:
        chosen: list[Any] = list(combinations(range(n), size))
        if 2 * size == n:
            chosen = [members for members in chosen if members[0] == 0]
        coalitions = np.zeros((len(chosen), n), dtype=bool)
        coalitions[np.arange(len(chosen))[:, None], np.array(chosen)] = True
        return coalitions
    drawn: dict[bytes, Bools] = {}
    while len(drawn) < n_taken:
        members = np.zeros(n, dtype=bool)
        members[rng.permutation(n)[:size]] = True
        if 2 * size == n and not members[0]:
            members = ~members
        drawn.setdefault(members.tobytes(), members)
    return np.array(list(drawn.values()))


def _solved(coalitions: Bools, gain: Floats, weights: Floats, ends: Floats) -> Floats:
    """Solve least squares with a fixed sum: centred z' phi against half the gain over the complement."""
    n = coalitions.shape[1]
    total = float(ends[1] - ends[0])
    design = coalitions.astype(np.float64) - 0.5
    gram = (design * weights[:, None]).T @ design + 1e-12 * np.eye(n)
    moments = design.T @ (weights * gain)
    solved = np.linalg.solve(gram, np.column_stack([moments, np.ones(n)]))
    return np.asarray(solved[:, 0] + solved[:, 1] * (total - solved[:, 0].sum()) / solved[:, 1].sum())
