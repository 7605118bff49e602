"""Shares that copies do not raise: Agarwal, Dahleh and Sarkar, EC 2019."""

from itertools import permutations
from typing import Any

import numpy as np

from anml.core.checks import Floats, as_vector, in_range
from anml.core.errors import InputError


def robust_shares(values: Any, similarity: Any, strength: float | None = None) -> Floats:
    """Values lowered for those whose data is like others': v_m exp(-lambda sum of similarities).

    `similarity` (n, n) lies in [0, 1]. With lambda = ln 2 (the default) a copy and its original get no more
    together than the original did alone. Its weakness: honest contributors whose data is alike lose too.
    """
    value = as_vector("value", values)
    like = np.asarray(similarity, dtype=np.float64)
    if like.shape != (len(value),) * 2 or not ((like >= 0) & (like <= 1)).all():
        raise InputError(f"similarity must be ({len(value)}, {len(value)}) of numbers in [0, 1]")
    fade = float(np.log(2)) if strength is None else in_range("strength", strength, 0, np.inf)
    others = like.sum(axis=1) - np.diag(like)
    return np.asarray(value * np.exp(-fade * others))


def shared_rows(x: Any, y: Any, contributor: Any, near: float = 0.1) -> Floats:
    """Share of each contributor's rows that another has as well, or nearly, (contributors, contributors).

    Near is closer than a share of the usual distance between rows of one contributor, so that a copy
    with a little noise on it is still a copy; `contributor` are codes from 0.
    """
    from scipy.spatial import cKDTree

    rows, who = np.asarray(x, dtype=np.float64), np.asarray(contributor)
    wide = np.column_stack([rows, 1e6 * np.asarray(y, dtype=np.float64)])
    count = int(who.max()) + 1
    mine = [wide[who == code] for code in range(count)]
    trees = [cKDTree(part) for part in mine]
    # Within one contributor, so that copies of others do not make copies look usual.
    usual = np.concatenate([tree.query(own, k=2)[0][:, 1] for tree, own in zip(trees, mine, strict=True)])
    usual = usual[np.isfinite(usual) & (usual > 0)]
    reach = near * float(np.median(usual)) if len(usual) else 0.0
    like = np.eye(count)
    for a, b in permutations(range(count), 2):
        if len(mine[a]) and len(mine[b]):
            like[a, b] = float((trees[b].query(mine[a])[0] <= max(reach, 1e-9)).mean())
    return like
