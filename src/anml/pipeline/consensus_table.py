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


def item_frame(prepared: Prepared, assessed: Assessment, shared: bool = False) -> pl.DataFrame | None:
    """One row per item, lowest p_consensus first; None if each item has one label, unless `shared`."""
    codes, names = _items(prepared, shared)
    if codes is None:
        return None
    labels = np.bincount(codes)
    if prepared.task != "classification":
        truth = assessed.belief.truth
        value, deviation = pool_values_by_item(truth[:, 0], truth[:, 1], codes)
        columns = {"item": names, "n_labels": labels, "consensus_label": value, "std": deviation}
        return pl.DataFrame(columns).sort("std", "item", descending=[True, False])
    posterior = _exclude_rejected(_posterior(assessed.belief, prepared, codes), prepared, codes)
    best = posterior.argmax(axis=1)
    label = [prepared.classes[code] for code in best]
    columns = {"consensus_label": label, "p_consensus": posterior.max(axis=1)}
    columns["annotator_agreement"] = np.bincount(codes, prepared.y == best[codes]) / labels
    return pl.DataFrame({"item": names, "n_labels": labels, **columns}).sort("p_consensus", "item")


def suggestions(prepared: Prepared, assessed: Assessment) -> dict[str, pl.Series]:
    """The most probable label of each row and its probability; null for numbers and disputes."""
    if prepared.task != "classification":
        return {}
    estimates, n = assessed.belief, len(prepared.y)
    codes, _ = _items(prepared)
    if estimates.evenly and codes is None:
        nothing = pl.Series([None] * n)
        return {"suggested_label": nothing.cast(pl.String), "p_suggested_label": nothing.cast(pl.Float64)}
    if estimates.by_others:
        # A random choice can be correct.
        truth = estimates.truth
    elif not estimates.evenly or codes is None:
        truth = rescale_to_p_correct(estimates.truth, prepared.y, estimates.p_correct)
    else:
        truth = _posterior(estimates, prepared, codes)[codes]
    items = np.arange(n) if codes is None else codes
    truth = _exclude_rejected(truth, prepared, items, items)
    best = pl.Series([prepared.classes[code] for code in truth.argmax(axis=1)], dtype=pl.String)
    return {"suggested_label": best, "p_suggested_label": pl.Series(truth.max(axis=1))}


def _items(prepared: Prepared, shared: bool = False) -> tuple[Ints | None, list[str]]:
    """Return item codes and names; None if every item has one label, unless `shared`."""
    if prepared.item is None:
        return None, []
    names, codes = np.unique(prepared.item, return_inverse=True)
    return (codes, names.tolist()) if shared or len(names) < len(codes) else (None, [])


def _posterior(estimates: LabelEstimates, prepared: Prepared, codes: Ints) -> Floats:
    y = prepared.y.astype(np.int64)
    return consensus_posterior(estimates.truth, estimates.p_correct, y, codes, evenly=estimates.evenly)


def _exclude_rejected(
    posterior: Floats, prepared: Prepared, codes: Ints, items: Ints | None = None
) -> Floats:
    """Exclude labels known to be wrong; `codes` are the items of labels, `items` of posteriors."""
    if prepared.known is None:
        return posterior
    return exclude_rejected(posterior, prepared.y.astype(np.int64), codes, prepared.known.wrong, items)
