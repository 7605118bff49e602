"""Ours: updates weighted by q v r T through any recipe, as the paper weighs samples."""

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
from anml.federated.honesty import p_honest
from anml.federated.krum import krum_scores_from_distances
from anml.federated.updates import as_updates, combine, norms, squared_distances
from anml.signals.quality import scale_scores
from anml.weighting.weigh import compute_sample_weights, recipe_of

# From how they agree with the middle, credentials, and earlier rounds, to P(honest) and nats.
Judge = Callable[[Floats, Floats | None, Floats], tuple[Floats, Floats]]
# So many doubtful clients are few, and such a cosine with the middle still goes its way.
MAX_EXEMPT_SHARE, MIN_COSINE = 0.15, 0.1


class WeightedUpdate(NamedTuple):
    """One update, the weight of each client, and why.

    The score is the weight before selection, `q` quality by Krum on updates. `by_updates` is the probability
    that each is honest by its update alone, `nats` that evidence: what a reputation may be fed with. `reach`
    is how far the update may be extrapolated (Jhunjhunwala et al., 2023): where clients pull in many
    directions their mean is short, and many small steps are needed where a longer one would do.
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
    """Weigh clients by a recipe: q is Krum on updates, projected and none longer than the median.

    How many clients are kept comes from the data where the recipe does not fix it: one minus the share that
    deviates. With the recipe `evidence` clients that `judge` believes are kept: it takes how they agree with
    the middle, credentials and what earlier rounds said, and returns a probability and this round's evidence
    in nats. Those kept count by `rows`, up to ten times the median's, and no update more than three times
    the usual length. Its weakness is that of the recipe; see docs/concepts/signals-and-weights.md.
    """
    given = as_updates(updates)
    short, whole = sketch_and_clip(given, np.random.default_rng(0) if rng is None else rng)
    n = len(given)
    q = scale_scores(
        krum_scores_from_distances(squared_distances(whole), (n - 3) // 2) if n > 2 else np.zeros(n)
    )
    agrees = agreement(short, whole)
    alone, nats = judge(agrees, None, np.zeros(n))
    chosen = recipe_of(recipe)
    p = None
    if chosen.combine == "evidence":
        credentials = [as_unit_interval(name, x, n) for name, x in (("v", v), ("r", r)) if x is not None]
        earlier = as_vector("before", before, n)
        p, _ = judge(agrees, np.column_stack(credentials) if credentials else None, earlier)
    signals = Signals.of(q, v, r, t, label_error_rate=float(np.mean(alone < 0.5)), p_correct=p)
    found = compute_sample_weights(signals, chosen)
    if p is not None:
        found = replace(found, kept=found.kept | _exempt_aligned(~found.kept, agrees[:, 0]))
    # All that are kept count by their rows, and by their weights where the recipe selects by these.
    share = np.where(
        found.kept, found.w if chosen.select == "weight" else signals.t, 0.0
    ) * capped_row_counts(n, rows)
    share = share / share.sum()
    length = norms(given)
    usual = median_norm(length, share)
    update = combine(given, share * clip_factors(length, MAX_NORM_RATIO * usual))
    # By the usual length and not by the mean of squares, which one long update could raise.
    reach = usual**2 / max(2 * float(update.astype(np.float64) @ update), 1e-300)
    return WeightedUpdate(update, found.w, share, q, alone, nats, found.gate, max(1.0, reach))


def _exempt_aligned(doubted: Bools, cosine: Floats) -> Bools:
    """Of a few clients that stand apart, those that still pull the way of the middle.

    Whoever holds classes that hardly anybody has looks like that: left in, a liar or two does little harm;
    left out, nobody else teaches these classes.
    """
    few = doubted.sum() <= max(1.0, MAX_EXEMPT_SHARE * len(doubted))
    return doubted & (cosine >= MIN_COSINE) if few else np.zeros(len(doubted), dtype=bool)
