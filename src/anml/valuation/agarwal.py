"""Shares that copies do not raise: Agarwal, Dahleh and Sarkar, EC 2019."""

from typing import Any

import numpy as np

from anml.core.checks import Floats, as_vector, in_range
from anml.core.errors import InputError


def robust_shares(values: Any, similarity: Any, strength: float | None = None) -> Floats:
    """Values lowered for those whose data is like others': v_m exp(-lambda sum of similarities).

    `similarity` (n, n) lies in [0, 1]. With lambda = ln 2 (the default) a copy and its original get no more
    together than the original did alone. Its weakness: honest contributors whose data is alike lose too.

    Examples
    --------
    >>> robust_shares([0.5, 0.5, 1.0], np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]))
    array([0.25, 0.25, 1.  ])
    """
    value = as_vector("value", values)
    like = np.asarray(similarity, dtype=np.float64)
    if like.shape != (len(value),) * 2 or not ((like >= 0) & (like <= 1)).all():
        raise InputError(f"similarity must be ({len(value)}, {len(value)}) of numbers in [0, 1]")
    fade = float(np.log(2)) if strength is None else in_range("strength", strength, 0, np.inf)
    others = like.sum(axis=1) - np.diag(like)
    return np.asarray(value * np.exp(-fade * others))
