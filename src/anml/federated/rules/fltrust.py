"""FLTrust: Cao, Fang, Liu and Gong, NDSS 2021."""

from typing import Any

import numpy as np

from anml.core.errors import InputError
from anml.federated.updates import Aggregated, as_updates, combine, norms


def fltrust(updates: Any, server: Any) -> Aggregated:
    """Trust each client as far as its update points where the server's own does, all at the server's length.

    `server` is the update that the server trained on its own small clean set. A client's score is the cosine
    of the two, and 0 where it is negative. Its weakness: with a server set that is no better than the
    clients' data it trusts those who are wrong in the same way.
    """
    given = as_updates(updates)
    own = np.asarray(server, dtype=given.dtype).reshape(-1)
    if len(own) != given.shape[1]:
        raise InputError(f"the server's update has {len(own)} values, those of clients {given.shape[1]}")
    if not np.isfinite(own).all():
        raise InputError("the server's update has missing or infinite values")
    length = float(np.linalg.norm(own.astype(np.float64)))
    if length == 0:
        raise InputError("the server's update is zero, so no client's can be compared with it")
    lengths = norms(given)
    moved = np.maximum(lengths, 1e-300)
    cosine = np.where(lengths > 0, (given @ own).astype(np.float64) / (moved * length), 0.0)
    trust = np.clip(cosine, 0.0, 1.0)
    total = trust.sum()
    if total <= 0:
        # Nobody points where the server does: nothing is learned from anybody.
        return Aggregated(np.zeros_like(own), trust, np.zeros(len(given)))
    weights = trust / total
    return Aggregated(combine(given, weights * length / moved), trust, weights)
