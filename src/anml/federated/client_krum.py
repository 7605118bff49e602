"""Krum and Multi-Krum: Blanchard, El Mhamdi, Guerraoui and Stainer, NeurIPS 2017."""

from typing import Any

import numpy as np

from anml.core.checks import Floats
from anml.core.errors import InputError
from anml.federated.updates import Aggregated, as_updates, check_malicious, combine, squared_distances


def krum(updates: Any, malicious: int, neighbours: int | None = None) -> Aggregated:
    """Take the one update whose n - f - 2 nearest others are nearest; of equal ones the first.

    Weakness: an adversary that stays close to the others may win, and the work of all other clients is lost.
    """
    given = as_updates(updates)
    scores = krum_scores_from_distances(squared_distances(given), malicious, neighbours)
    # Scores that differ by rounding are equal.
    winner = int(np.flatnonzero(scores <= scores.min() * (1 + 1e-9))[0])
    return Aggregated(given[winner].copy(), -scores, np.eye(len(given))[winner])


def krum_scores_from_distances(distances: Floats, malicious: int, neighbours: int | None = None) -> Floats:
    """Return the sum of squared distances to the nearest others, n - f - 2 of them by default."""
    n = len(distances)
    f = check_malicious(malicious, n, (n - 3) // 2, "Krum", "2 f + 2 < n")
    count = n - f - 2 if neighbours is None else min(max(neighbours, 1), n - 1)
    # The distance to itself, 0, is excluded.
    others = np.sort(distances + np.diag(np.full(n, np.inf)), axis=1)
    return np.asarray(others[:, :count].sum(axis=1))


def multi_krum(
    updates: Any, malicious: int, keep: int | None = None, neighbours: int | None = None
) -> Aggregated:
    """Average the updates with the best Krum scores: `keep` of them, n - f by default.

    Weakness: it needs the number of malicious clients. A wrong number either includes an adversary or drops
    honest work.
    """
    given = as_updates(updates)
    scores = krum_scores_from_distances(squared_distances(given), malicious, neighbours)
    count = len(given) - malicious if keep is None else keep
    if not 1 <= count <= len(given):
        raise InputError(f"keep must lie between 1 and the {len(given)} clients, got {count}")
    weights = np.zeros(len(given))
    weights[np.argsort(scores, kind="stable")[:count]] = 1 / count
    return Aggregated(combine(given, weights), -scores, weights)
