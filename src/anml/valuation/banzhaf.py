"""Data Banzhaf by maximum sample reuse: Wang and Jia, AISTATS 2023."""

from typing import Any

import numpy as np

from anml.core.checks import Floats
from anml.core.stats import mean_interval
from anml.valuation.games import (
    Utility,
    Values,
    check_budget,
    evaluated,
    exactly,
    players,
    semivalue,
    table_of,
)


def banzhaf(
    utility: Utility, count: int, *, budget: int | None = None, rng: np.random.Generator | None = None
) -> Values:
    """Mean marginal worth over all coalitions of the others, each as likely.

    Exact where the budget allows all 2^n coalitions, else every random coalition serves every player: what
    coalitions with it are worth on average, minus those without. Laws that make it fit for pay: a player who
    splits in two has the same value in total (Lehrer's 2-efficiency), and so have a player and a copy of it
    together; a split into more does not raise the total where each further row adds less than the one before,
    at a rate that slackens, as learning curves do. Values do not sum to the worth of all.
    """
    n = players(count)
    if budget is None or budget >= 2**n:
        return exactly(exact_banzhaf(table_of(utility, n)), 2**n)
    check_budget(budget, n, 16)
    rng = np.random.default_rng(0) if rng is None else rng
    # A coalition and the rest in turn: everybody is in as many as not.
    half = rng.uniform(size=(budget // 2, n)) < 0.5
    inside = np.stack([half, ~half], axis=1).reshape(-1, n)
    worth = evaluated(utility, inside)
    # Both of a pair differ in every player, so their difference is a sample of every player's value.
    signs = np.where(half, 1.0, -1.0)
    samples = signs * (worth[::2] - worth[1::2])[:, None]
    found = np.array([mean_interval(column) for column in samples.T])
    return Values(found[:, 0], found[:, 1], found[:, 2], len(inside))


def exact_banzhaf(table: Any) -> Floats:
    """Banzhaf values from the worth of every coalition."""
    worth = np.asarray(table, dtype=np.float64)
    n = len(worth).bit_length() - 1
    return semivalue(worth, np.full(n, 0.5 ** (n - 1)))
