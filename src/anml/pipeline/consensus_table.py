"""Consensus label of each item, and the suggested label of rows that are probably wrong."""

import numpy as np
import polars as pl

from anml.annotators.consensus import (
    consensus_posterior,
    exclude_rejected,
    pool_values_by_item,
    rescale_to_p_correct,
)
from anml.annotators.result import LabelEstimates
from anml.assessment.assess import Assessment
from anml.core.checks import Floats, Ints
from anml.io.prepare import Prepared


def item_frame(prepared: Prepared, found: Assessment, shared: bool = False) -> pl.DataFrame | None:
    """One row per item, the least clear first; None where each has one label, unless `shared`."""
    codes, names = _items(prepared, shared)
    if codes is None:
        return None
    labels = np.bincount(codes)
    if prepared.task != "classification":
        truth = found.belief.truth
        value, deviation = pool_values_by_item(truth[:, 0], truth[:, 1], codes)
        made = {"item": names, "n_labels": labels, "consensus_label": value, "std": deviation}
        return pl.DataFrame(made).sort("std", "item", descending=[True, False])
    posterior = _exclude_rejected(_posterior(found.belief, prepared, codes), prepared, codes)
    best = posterior.argmax(axis=1)
    label = [prepared.classes[code] for code in best]
    made = {"consensus_label": label, "p_consensus": posterior.max(axis=1)}
    made["annotator_agreement"] = np.bincount(codes, prepared.y == best[codes]) / labels
    return pl.DataFrame({"item": names, "n_labels": labels, **made}).sort("p_consensus", "item")


def suggestions(prepared: Prepared, found: Assessment) -> dict[str, pl.Series]:
    """The likeliest label of each row and its probability; null for numbers and open disputes."""
    if prepared.task != "classification":
        return {}
    belief, n = found.belief, len(prepared.y)
    codes, _ = _items(prepared)
    if belief.evenly and codes is None:
        nothing = pl.Series([None] * n)
        return {"suggested_label": nothing.cast(pl.String), "p_suggested_label": nothing.cast(pl.Float64)}
    if belief.by_others:
        # A choice that was made without looking may be right all the same.
        truth = belief.truth
    elif not belief.evenly or codes is None:
        truth = rescale_to_p_correct(belief.truth, prepared.y, belief.p_correct)
    else:
        truth = _posterior(belief, prepared, codes)[codes]
    things = np.arange(n) if codes is None else codes
    truth = _exclude_rejected(truth, prepared, things, things)
    best = pl.Series([prepared.classes[code] for code in truth.argmax(axis=1)], dtype=pl.String)
    return {"suggested_label": best, "p_suggested_label": pl.Series(truth.max(axis=1))}


def _items(prepared: Prepared, shared: bool = False) -> tuple[Ints | None, list[str]]:
    """Return item codes and names; None if every item has one label, unless `shared`."""
    if prepared.item is None:
        return None, []
    names, codes = np.unique(prepared.item, return_inverse=True)
    return (codes, names.tolist()) if shared or len(names) < len(codes) else (None, [])


def _posterior(belief: LabelEstimates, prepared: Prepared, codes: Ints) -> Floats:
    y = prepared.y.astype(np.int64)
    return consensus_posterior(belief.truth, belief.p_correct, y, codes, evenly=belief.evenly)


def _exclude_rejected(posterior: Floats, prepared: Prepared, codes: Ints, of: Ints | None = None) -> Floats:
    """Posteriors without labels known to be wrong; `codes` are items of labels, `of` of posteriors."""
    if prepared.known is None:
        return posterior
    return exclude_rejected(posterior, prepared.y.astype(np.int64), codes, prepared.known.wrong, of)
