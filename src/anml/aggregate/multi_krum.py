"""Multi-Krum: Blanchard, El Mhamdi, Guerraoui and Stainer, NeurIPS 2017."""

from typing import Any

import numpy as np

from anml.aggregate.krum import krum_scores
from anml.aggregate.updates import Aggregated, as_updates, combine, equal_shares, squared_distances
from anml.core.errors import InputError


def multi_krum(
    updates: Any, malicious: int, keep: int | None = None, neighbours: int | None = None
) -> Aggregated:
    """Average the updates with the best Krum scores: n - f of them unless `keep` says otherwise.

    Its weakness: it must be told how many clients are malicious, and a wrong number either lets a liar in or
    throws honest work away.
    """
    given = as_updates(updates)
    scores = krum_scores(squared_distances(given), malicious, neighbours)
    count = len(given) - malicious if keep is None else keep
    if not 1 <= count <= len(given):
        raise InputError(f"keep must lie between 1 and the {len(given)} clients, got {count}")
    chosen = np.sort(np.argsort(scores, kind="stable")[:count])
    weights = equal_shares(chosen, len(given))
    return Aggregated(combine(given, weights), -scores, weights)
