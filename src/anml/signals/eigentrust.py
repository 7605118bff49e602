"""r from attestations among contributors: EigenTrust (Kamvar et al., 2003), with a pre-trusted set.

The set is required, since without it a ring of accounts that attest each other would win.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from anml.core.checks import in_range
from anml.core.errors import InputError

# Steps of the iteration at most, and the change at which it has settled.
MAX_ITERATIONS, TOLERANCE = 1000, 1e-12


def eigentrust(
    votes: Mapping[tuple[str, str], float], trusted: Iterable[str], restart: float = 0.15
) -> dict[str, float]:
    """Global trust, summing to one: t = (1 - a) C't + a p.

    `votes[(a, b)]` is the weight, not negative, of attestations of b by a; those of oneself are ignored. A
    contributor without attestations of others passes trust to the pre-trusted set.
    """
    in_range("restart", restart, 0, 1, open_low=True)
    known = sorted(set(trusted))
    if not known:
        raise InputError("EigenTrust needs at least one contributor in the pre-trusted set")
    names = sorted({name for pair in votes for name in pair} | set(known))
    index = {name: position for position, name in enumerate(names)}
    start = np.zeros(len(names))
    start[[index[name] for name in known]] = 1 / len(known)
    spread, silent = _normalised(votes, index)
    trust = start
    for _ in range(MAX_ITERATIONS):
        # Trust of contributors without attestations of others returns to the pre-trusted set.
        after = (1 - restart) * (spread.T @ trust + trust[silent].sum() * start) + restart * start
        if np.abs(after - trust).sum() < TOLERANCE:
            break
        trust = after
    return dict(zip(names, after.tolist(), strict=True))


def trust_event_counts(
    votes: Mapping[tuple[str, str], float], roots: Iterable[str], events: float, restart: float = 0.15
) -> dict[str, float]:
    """Convert the trust in each contributor to a number of positive events: `events` for the trust of a root.

    Trust is relative to the mean of the pre-trusted set, and values above that mean are clipped.
    """
    known = sorted(set(roots))
    if not votes or not known or not events:
        return {}
    trust = eigentrust(votes, known, restart)
    like = sum(trust[name] for name in known) / len(known)
    return {name: events * min(value / like, 1.0) for name, value in trust.items() if value > 0}


def reachable(votes: Mapping[tuple[str, str], float], roots: Iterable[str]) -> frozenset[str]:
    """Return contributors with positive trust: those that a path of attestations from the set reaches."""
    follows: dict[str, list[str]] = {}
    for (one, other), value in votes.items():
        if value > 0:
            follows.setdefault(one, []).append(other)
    reached, fresh = set(roots), list(roots)
    while fresh:
        fresh = [name for one in fresh for name in follows.get(one, []) if name not in reached]
        reached.update(fresh)
    return frozenset(reached)


def _normalised(
    votes: Mapping[tuple[str, str], float], index: Mapping[str, int]
) -> tuple[Any, np.ndarray[tuple[int], np.dtype[np.bool_]]]:
    pairs = [(a, b, value) for (a, b), value in sorted(votes.items()) if a != b and value != 0]
    negative = [value for _, _, value in pairs if value < 0]
    if negative:
        raise InputError(f"a vote is not negative, got {negative[0]:g}")
    rows = [index[a] for a, _, _ in pairs]
    columns = [index[b] for _, b, _ in pairs]
    from scipy import sparse  # slow to load, and most who read a ledger follow no graph

    raw = sparse.csr_array(([value for *_, value in pairs], (rows, columns)), shape=(len(index),) * 2)
    totals = np.asarray(raw.sum(axis=1)).ravel()
    silent = totals == 0
    scale = np.divide(1.0, totals, out=np.zeros_like(totals), where=~silent)
    return sparse.diags_array(scale) @ raw, silent
