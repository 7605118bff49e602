"""Updates weighted by q v r T through any recipe, as the paper weights samples."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from anml.core.checks import Array, Bools, Floats, as_unit_interval, as_vector
from anml.core.types import Gate, Recipe, Signals
from anml.federated.agreement import (
    MAX_NORM_RATIO,
    agreement,
    capped_row_counts,
    clip_factors,
    median_norm,
    sketch_and_clip,
)
from anml.federated.client_krum import krum_scores_from_distances
from anml.federated.honesty import p_honest
from anml.federated.updates import as_updates, combine, norms, squared_distances
from anml.signals.quality import scale_scores
from anml.weighting.weigh import compute_sample_weights, recipe_of

# Function from the agreement of updates, credentials, and earlier rounds to P(honest) and nats.
Judge = Callable[[Floats, Floats | None, Floats], tuple[Floats, Floats]]
# Largest share of excluded clients that may be exempt, and the smallest cosine of an exempt one.
MAX_EXEMPT_SHARE, MIN_COSINE = 0.15, 0.1


class WeightedUpdate(NamedTuple):
    """One update, the weight of each client, and the evidence.

    The score is the weight before selection, `q` quality by Krum on updates. `by_updates` is P(honest) by
    updates without credentials, and `nats` is that evidence, from which reputation is learned. `reach` is the
    largest factor by which the update may be extrapolated (Jhunjhunwala et al., 2023): the mean of updates
    with many directions is short, and a longer step replaces several small ones.
    """

    update: Array
    scores: Floats
    weights: Floats
    q: Floats
    by_updates: Floats
    nats: Floats
    gate: Gate
    reach: float


def weighted(
    updates: Any, v: Any = None, r: Any = None, t: Any = None,
    recipe: str | Recipe | dict[str, Any] = "guarded", before: Any = 0.0,
    rng: np.random.Generator | None = None, rows: Any = None, judge: Judge = p_honest,
) -> WeightedUpdate:  # fmt: skip
    """Weight clients by a recipe: q is Krum on updates, projected and limited to the median length.

    The share of kept clients is that of the recipe, else one minus the estimated share that deviates. The
    recipe `evidence` keeps clients with a high P(honest) by `judge`. Kept clients are weighted by `rows`, at
    most ten times the median; their updates are limited to three times the median length.
    """
    given = as_updates(updates)
    short, whole = sketch_and_clip(given, np.random.default_rng(0) if rng is None else rng)
    n = len(given)
    q = scale_scores(
        krum_scores_from_distances(squared_distances(whole), (n - 3) // 2) if n > 2 else np.zeros(n)
    )
    agrees = agreement(short, whole)
    by_updates, nats = judge(agrees, None, np.zeros(n))
    chosen = recipe_of(recipe)
    p = None
    if chosen.combine == "evidence":
        credentials = [as_unit_interval(name, x, n) for name, x in (("v", v), ("r", r)) if x is not None]
        earlier = as_vector("before", before, n)
        p, _ = judge(agrees, np.column_stack(credentials) if credentials else None, earlier)
    signals = Signals.of(q, v, r, t, label_error_rate=float(np.mean(by_updates < 0.5)), p_correct=p)
    result = compute_sample_weights(signals, chosen)
    if p is not None:
        result = replace(result, kept=result.kept | _exempt_aligned(~result.kept, agrees[:, 0]))
    # Kept clients are weighted by their rows, and by their weights if the recipe selects by weight.
    share = np.where(
        result.kept, result.w if chosen.select == "weight" else signals.t, 0.0
    ) * capped_row_counts(n, rows)
    share = share / share.sum()
    length = norms(given)
    typical = median_norm(length, share)
    update = combine(given, share * clip_factors(length, MAX_NORM_RATIO * typical))
    # The median length, since one long update could raise the mean of squares.
    reach = typical**2 / max(2 * float(update.astype(np.float64) @ update), 1e-300)
    return WeightedUpdate(update, result.w, share, q, by_updates, nats, result.gate, max(1.0, reach))


def _exempt_aligned(doubted: Bools, cosine: Floats) -> Bools:
    """Return the excluded clients with a positive cosine, if only a few clients are excluded.

    A client that holds rare classes looks like this. Including one or two adversaries does little harm;
    excluding such a client would lose its classes.
    """
    is_small = doubted.sum() <= max(1.0, MAX_EXEMPT_SHARE * len(doubted))
    return doubted & (cosine >= MIN_COSINE) if is_small else np.zeros(len(doubted), dtype=bool)
