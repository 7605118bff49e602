"""Updates of clients, checked once, and distances between them.

An update is the change of a model, not the model: differences of nearly equal models are lost to rounding.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from anml.core.checks import Array, Floats, as_integer
from anml.core.errors import InputError

# Columns of one block: the values of all clients in it fit into the cache.
BLOCK = 8_192
Updates = npt.NDArray[Any]


class Aggregated(NamedTuple):
    """One update out of many, the score of each client, and its share in the update.

    Scores can be compared within one call. Shares sum to one; for rules that choose by coordinate
    they are shares of coordinates.
    """

    update: Array
    scores: Floats
    weights: Floats


def as_updates(updates: Any) -> Updates:
    """Return (clients, parameters) of finite numbers; an error names the client with an invalid update."""
    rows = updates if isinstance(updates, np.ndarray) else _stacked(updates)
    if rows.dtype.kind not in "fiu":
        raise InputError(f"updates must be numbers, got {rows.dtype}")
    if rows.ndim != 2:
        raise InputError(f"updates must be one row of numbers per client, got an array of shape {rows.shape}")
    if len(rows) < 2:
        raise InputError(f"aggregation needs the updates of at least 2 clients, got {len(rows)}")
    if rows.shape[1] == 0:
        raise InputError("updates are empty: there is no parameter")
    rows = rows if rows.dtype in (np.float32, np.float64) else rows.astype(np.float64)
    for client in non_finite_clients(rows):
        count = int((~np.isfinite(rows[client])).sum())
        raise InputError(f"the update of client {client} has {count} missing or infinite values")
    return rows


def _stacked(updates: Sequence[Any]) -> Updates:
    parts = [np.asarray(update).reshape(-1) for update in updates]
    sizes = [len(part) for part in parts]
    for client, size in enumerate(sizes):
        if size != sizes[0]:
            raise InputError(
                f"updates differ in shape: client {client} has {size} values, client 0 has {sizes[0]}"
            )
    return np.stack(parts) if parts else np.empty((0, 0))


def non_finite_clients(updates: Updates) -> list[int]:
    """Return the clients whose update is not finite."""
    # The sum of finite values is finite unless it overflows, so only the other rows are checked.
    with np.errstate(over="ignore", invalid="ignore"):
        sums = updates.sum(axis=1, dtype=np.float64)
    return [int(c) for c in np.flatnonzero(~np.isfinite(sums)) if not np.isfinite(updates[c]).all()]


def check_malicious(malicious: Any, clients: int, limit: int, rule: str, condition: str) -> int:
    """Return f, the number of malicious clients, if it is at most the limit of a rule."""
    f = as_integer("the number of malicious clients", malicious, 0)
    if f > limit:
        raise InputError(f"{rule} needs {condition}, got f = {f} for n = {clients}")
    return f


def column_blocks(updates: Updates, size: int = BLOCK) -> Iterator[slice]:
    """Yield the columns in blocks."""
    for start in range(0, updates.shape[1], size):
        yield slice(start, start + size)


def squared_distances(updates: Updates) -> Floats:
    """Return the squared distances of all pairs of updates, with zeros on the diagonal.

    The mean is subtracted first, which loses the least to rounding.
    """
    products = np.zeros((len(updates), len(updates)))
    for block in column_blocks(updates):
        centred = updates[:, block] - updates[:, block].mean(axis=0)
        products += centred @ centred.T
    norms = np.diag(products)
    distances = np.maximum(norms[:, None] + norms[None] - 2 * products, 0.0)
    np.fill_diagonal(distances, 0.0)
    return np.asarray(distances)


def norms(updates: Updates) -> Floats:
    """Return the length of each update."""
    total = np.zeros(len(updates))
    for block in column_blocks(updates):
        part = updates[:, block]
        total += np.einsum("ij,ij->i", part, part)
    return np.sqrt(total)


def combine(updates: Updates, weights: Floats) -> Array:
    """Return the weighted sum of the updates."""
    # In the precision of the updates, and without a copy of them.
    return np.asarray(weights.astype(updates.dtype) @ updates)


def project(updates: Updates, size: int, rng: np.random.Generator) -> Updates:
    """Project updates to `size` numbers that keep distances up to about sqrt(2 / size).

    Every parameter is added with a random sign to one of `size` sums. An adversary that does not know the
    signs cannot hide in the components that the projection loses.
    """
    if updates.shape[1] <= size:
        return updates
    sums = np.zeros((len(updates), size), dtype=updates.dtype)
    order = rng.permutation(size)
    for start in range(0, updates.shape[1], size):
        part = updates[:, start : start + size]
        signs = rng.choice(np.array([-1, 1], dtype=updates.dtype), part.shape[1])
        sums[:, order[: part.shape[1]]] += part * signs
        order = np.roll(order, 1)
    return sums
