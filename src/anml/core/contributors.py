"""Contributor-level attribution: evidence over all samples of a source, and along derivation chains."""

from collections.abc import Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Any, NamedTuple, Protocol

import numpy as np

from anml.core.checks import Floats, Ints, as_unit_interval
from anml.core.errors import InputError
from anml.core.stats import beta_interval
from anml.core.types import SIGNALS, Signals, Weighting

# Prior strength, in samples, of the pool mean when the contributors do not differ enough (or are too few) to
# estimate it.
DEFAULT_STRENGTH = 10.0
# Largest prior strength: new contributors may differ, even if the present ones are equal.
MAX_STRENGTH = 30.0


class Accuracies(Protocol):
    """Accuracy of each contributor, with its interval."""

    @property
    def quality(self) -> Floats:
        """Accuracy."""

    @property
    def low(self) -> Floats:
        """Lower end of the interval."""

    @property
    def high(self) -> Floats:
        """Upper end of the interval."""


class ShrunkenMeans(NamedTuple):
    """Group means pulled towards the mean of all, the more the fewer samples they have."""

    mean: Floats
    low: Floats
    high: Floats
    strength: float


def shrink_group_means(values: Floats, codes: Ints) -> ShrunkenMeans:
    """Estimate each group's mean of values in [0, 1] by partial pooling.

    The strength of the pool (how many samples its mean counts for) comes from the spread between
    groups beyond what chance within groups explains, by the method of moments.
    """
    groups = int(codes.max()) + 1
    counts = np.bincount(codes, minlength=groups).astype(np.float64)
    mean = np.bincount(codes, values, groups) / counts
    pool = values.mean()
    strength = _pool_strength(values, codes, counts, mean, pool)
    total = counts + strength
    shrunk = (counts * mean + strength * pool) / total
    low, high = beta_interval(shrunk * total, (1 - shrunk) * total)
    return ShrunkenMeans(shrunk, low, high, strength)


def _pool_strength(values: Floats, codes: Ints, counts: Floats, mean: Floats, pool: float) -> float:
    groups, n = len(counts), len(values)
    if groups < 2 or n <= groups:
        return DEFAULT_STRENGTH
    within = float(np.square(values - mean[codes]).sum() / (n - groups))
    between = float((counts * np.square(mean - pool)).sum() / (groups - 1))
    effective = (n - np.square(counts).sum() / n) / (groups - 1)
    variance = (between - within) / effective
    if variance <= 0:
        return MAX_STRENGTH
    # A beta distribution with this variance around the pool's mean; at least one sample of doubt.
    return float(np.clip(pool * (1 - pool) / variance - 1, 1.0, MAX_STRENGTH))


def contributor_summary(
    signals: Signals,
    weighting: Weighting,
    codes: Ints,
    names: list[str],
    accuracies: Accuracies | None = None,
) -> dict[str, Any]:
    """Sum up samples by contributor: columns with one value each, in the order of `names`.

    The accuracy is that of `believed`, a fit of the contributor model; without a fit it is the shrunk mean
    of q.
    """
    groups = len(names)
    rows = np.bincount(codes, minlength=groups)
    trained = np.bincount(codes, np.where(weighting.kept, weighting.w, 0.0), groups)
    if accuracies is None:
        quality, low, high, _ = shrink_group_means(signals.q, codes)
    else:
        quality, low, high = accuracies.quality, accuracies.low, accuracies.high
    return {
        "contributor": names,
        "rows": rows,
        "kept": (kept := np.bincount(codes, weighting.kept, groups).astype(np.int64)),
        **{f"mean_{name}": np.bincount(codes, getattr(signals, name), groups) / rows for name in SIGNALS},
        "kept_share": kept / rows,
        "row_share": rows / rows.sum(),
        "weight_share": trained / trained.sum() if trained.sum() > 0 else np.full(groups, 1.0 / groups),
        "accuracy": quality,
        "accuracy_low": low,
        "accuracy_high": high,
    }


def derivation_factor(s: Any, parents: Mapping[int, Sequence[int]] | Sequence[Sequence[int]]) -> Floats:
    """Multiply each contribution's s = v r along the chain it was derived from.

    `parents[i]` lists the contributions that i was derived from. With several parents the weakest
    chain counts: a result is at most as reliable as its sources.
    """
    own = as_unit_interval("s", s)
    parents_of = dict(parents) if isinstance(parents, Mapping) else dict(enumerate(parents))
    for child, above in parents_of.items():
        strange = [parent for parent in above if not 0 <= parent < len(own)]
        if strange:
            raise InputError(
                f"contribution {child} is derived from {strange[0]}, not among 0..{len(own) - 1}"
            )
    factor = own.copy()
    try:
        for child in TopologicalSorter(parents_of).static_order():
            factor[child] *= min((factor[parent] for parent in parents_of.get(child, ())), default=1.0)
    except CycleError as error:
        above, child = error.args[1][:2]
        raise InputError(f"contribution {child} is derived from itself, through {above}") from None
    return factor
