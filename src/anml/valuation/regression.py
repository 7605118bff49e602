"""Shapley values by weighted least squares over paired coalitions: Covert and Lee, AISTATS 2021."""

from typing import Any

import numpy as np
from scipy import special, stats

from anml.core.checks import Bools, Floats
from anml.valuation import games
from anml.valuation.games import Utility, Values
from anml.valuation.semivalues import exact_shapley

# Values are worked out once without each of so many parts of the coalitions; their spread is the interval.
FOLDS = 20


def shapley_by_regression(
    utility: Utility, count: int, *, budget: int | None = None, rng: np.random.Generator | None = None
) -> Values:
    """Shapley values: exact where the budget allows all 2^n coalitions, else by least squares on some.

    Values sum to the worth of all minus that of nobody, as they must.
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
        from itertools import combinations

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
