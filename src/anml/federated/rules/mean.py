"""The mean of all updates, as in FedAvg: McMahan et al., AISTATS 2017. It has no defence."""

from typing import Any

import numpy as np

from anml.core.checks import as_vector
from anml.core.errors import InputError
from anml.federated.updates import Aggregated, as_updates, combine


def mean(updates: Any, rows: Any = None) -> Aggregated:
    """Average the updates, by how many rows each client has where that is known."""
    given = as_updates(updates)
    counts = np.ones(len(given)) if rows is None else as_vector("rows", rows, len(given))
    if (counts < 0).any() or counts.sum() <= 0:
        raise InputError("rows must not be negative, and at least one client must have some")
    weights = counts / counts.sum()
    return Aggregated(combine(given, weights), np.ones(len(given)), weights)
