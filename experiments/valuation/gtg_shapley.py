"""GTG-Shapley: Liu, Chen, Yu, Liu and Cui, ACM TIST 2022."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from anml.attribution.games import (
    Utility,
    Values,
    evaluate,
    of_samples,
    utility_of_extremes,
)
from anml.core.checks import Array, Floats, as_vector
from anml.federated.updates import as_updates
from experiments.valuation.data_shapley import permutation_marginals

# Of the paper: a round that moves the worth less is passed over; an order ends so near to the worth of all.
ROUND_TOLERANCE, PERMUTATION_TOLERANCE = 0.01, 0.001
# ... and sampling ends when the values of the last orders differ by less than this share of themselves.
CHANGE, LAST, MIN_PERMUTATIONS = 0.05, 10, 30


def gtg_shapley(
    updates: Any, worth: Callable[[Array], Any], rows: Any = None, *, limit: int = 100,
    rng: np.random.Generator | None = None,
) -> Values:  # fmt: skip
    """Shapley value of each client in one round, from its update alone: no model is trained again.

    `worth` takes updates (B, parameters), those of coalitions put together by `rows`, and returns one
    number for the model after each; an update of zeros is the model before. Each client leads an order in
    turn. A round's values sum to what the round gained, or are all 0 where that was too little. Its
    weakness: it needs a server set that is clean, and shares Shapley's weakness against copies.
    """
    given = as_updates(updates)
    n = len(given)
    weights = np.ones(n) if rows is None else as_vector("rows", rows, n)
    rng = np.random.default_rng(0) if rng is None else rng

    def utility(coalitions: Any) -> Floats:
        shares = coalitions * weights
        total = shares.sum(axis=1, keepdims=True)
        mixed = np.divide(shares, total, out=np.zeros_like(shares), where=total > 0)
        return np.asarray(worth(mixed.astype(given.dtype) @ given), dtype=np.float64)

    ends = utility_of_extremes(utility, n)
    if abs(ends[1] - ends[0]) <= ROUND_TOLERANCE:
        return Values(np.zeros(n), np.zeros(n), np.zeros(n), 2)
    gains: list[Floats] = []
    known: dict[bytes, float] = {}
    remembering = partial(_known, utility, known)
    means: list[Floats] = []
    while len(gains) < limit and not _converged(means):
        # All clients lead once before the next turn, and their orders are walked along together.
        orders = np.array([np.r_[lead, rng.permutation(np.delete(np.arange(n), lead))] for lead in range(n)])
        for each in permutation_marginals(
            remembering, orders, ends, lambda left: left >= PERMUTATION_TOLERANCE
        )[0]:
            gains.append(each)
            means.append(np.mean(gains, axis=0))
    return of_samples(gains, 2 + len(known))


def _known(utility: Utility, known: dict[bytes, float], coalitions: Any) -> Floats:
    names = [np.packbits(members).tobytes() for members in coalitions]
    new = [place for place, name in enumerate(names) if name not in known]
    first = list({names[place]: place for place in new}.values())
    if first:
        result = evaluate(utility, coalitions[first])
        known.update({names[place]: float(value) for place, value in zip(first, result, strict=True)})
    return np.array([known[name] for name in names])


def _converged(means: list[Floats]) -> bool:
    if len(means) < MIN_PERMUTATIONS + LAST:
        return False
    now = means[-1]
    scale = np.maximum(np.abs(now), 1e-12)
    change = [float(np.mean(np.abs(now - before) / scale)) for before in means[-LAST - 1 : -1]]
    return float(np.mean(change)) < CHANGE
