"""Contributor-level attribution: evidence over all samples of a source, and along derivation chains."""

from collections.abc import Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Any, NamedTuple

import numpy as np

from anml.core.checks import Floats, Ints, as_unit
from anml.core.domain import SIGNALS, Signals, Weighting
from anml.core.errors import InputError
from anml.core.people.belief import Contributor
from anml.core.stats import beta_interval

# How many samples' worth of doubt the pool adds to each contributor when the contributors do not
# differ enough (or are too few) to estimate it.
DEFAULT_STRENGTH = 10.0
# ... and the most it ever adds: those not seen yet may differ, however alike the others are.
MOST_STRENGTH = 30.0


class Shrunk(NamedTuple):
    """Group means pulled towards the mean of all, the more the fewer samples they rest on."""

    mean: Floats
    low: Floats
    high: Floats
    strength: float


def shrunk_by_group(values: Floats, codes: Ints) -> Shrunk:
    """Estimate each group's mean of values in [0, 1] by partial pooling.

    The strength of the pool (how many samples its mean counts for) comes from the spread between
    groups beyond what chance within groups explains, by the method of moments. Ten rows do not convict.
    """
    groups = int(codes.max()) + 1
    counts = np.bincount(codes, minlength=groups).astype(np.float64)
    mean = np.bincount(codes, values, groups) / counts
    pool = values.mean()
    strength = _pool_strength(values, codes, counts, mean, pool)
    total = counts + strength
    shrunk = (counts * mean + strength * pool) / total
    low, high = beta_interval(shrunk * total, (1 - shrunk) * total)
    return Shrunk(shrunk, low, high, strength)


def _pool_strength(values: Floats, codes: Ints, counts: Floats, mean: Floats, pool: float) -> float:
    groups, n = len(counts), len(values)
    if groups < 2 or n <= groups:
        return DEFAULT_STRENGTH
    within = float(np.square(values - mean[codes]).sum() / (n - groups))
    between = float((counts * np.square(mean - pool)).sum() / (groups - 1))
    effective = (n - np.square(counts).sum() / n) / (groups - 1)
    variance = (between - within) / effective
    if variance <= 0:
        return MOST_STRENGTH
    # A beta distribution with this variance around the pool's mean; at least one sample of doubt.
    return float(np.clip(pool * (1 - pool) / variance - 1, 1.0, MOST_STRENGTH))


def attribute(
    signals: Signals, weighting: Weighting, codes: Ints, names: list[str], believed: Contributor | None = None
) -> dict[str, Any]:
    """Sum up samples by contributor: columns with one value each, in the order of `names`.

    `believed` is what one fit of the contributor model believes of them; the shrunk quality is its own, or
    that of q where there is none.
    """
    groups = len(names)
    rows = np.bincount(codes, minlength=groups)
    trained = np.bincount(codes, np.where(weighting.kept, weighting.w, 0.0), groups)
    if believed is None:
        quality, low, high, _ = shrunk_by_group(signals.q, codes)
    else:
        quality, low, high = believed.quality, believed.low, believed.high
    return {
        "contributor": names,
        "rows": rows,
        "kept": np.bincount(codes, weighting.kept, groups).astype(np.int64),
        **{name: np.bincount(codes, getattr(signals, name), groups) / rows for name in SIGNALS},
        "row_share": rows / rows.sum(),
        "weight_share": trained / trained.sum() if trained.sum() > 0 else np.full(groups, 1.0 / groups),
        "quality": quality,
        "quality_low": low,
        "quality_high": high,
    }


def chain_factor(s: Any, parents: Mapping[int, Sequence[int]] | Sequence[Sequence[int]]) -> Floats:
    """Multiply each contribution's s = v r along the chain it was derived from.

    `parents[i]` lists the contributions that i was derived from. With several parents the weakest
    chain counts: a result is no better founded than what it rests on.
    """
    own = as_unit("s", s)
    of = dict(parents) if isinstance(parents, Mapping) else dict(enumerate(parents))
    for child, above in of.items():
        strange = [parent for parent in above if not 0 <= parent < len(own)]
        if strange:
            raise InputError(
                f"contribution {child} is derived from {strange[0]}, not among 0..{len(own) - 1}"
            )
    factor = own.copy()
    try:
        for child in TopologicalSorter(of).static_order():
            factor[child] *= min((factor[parent] for parent in of.get(child, ())), default=1.0)
    except CycleError as error:
        above, child = error.args[1][:2]
        raise InputError(f"contribution {child} is derived from itself, through {above}") from None
    return factor
