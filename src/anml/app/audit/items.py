"""What labels say together: one label for each item, and what to put in place of a label that looks wrong."""

import numpy as np
import polars as pl

from anml.assess.assess import Assessment
from anml.core.checks import Floats, Ints
from anml.core.people.belief import Belief
from anml.core.people.consensus import equal_voices, given_right, join_numbers, join_posteriors
from anml.intake.prepare import Prepared


def item_frame(prepared: Prepared, found: Assessment, shared: bool = False) -> pl.DataFrame | None:
    """One row per item, the least clear first; None where each has one label, unless `shared`."""
    codes, names = _items(prepared, shared)
    if codes is None:
        return None
    labels = np.bincount(codes)
    if prepared.task != "classification":
        truth = found.belief.truth
        value, deviation = join_numbers(truth[:, 0], truth[:, 1], codes)
        frame = pl.DataFrame({"item": names, "labels": labels, "consensus": value, "deviation": deviation})
        return frame.sort("deviation", "item", descending=[True, False])
    posterior = _not_rejected(_posterior(found.belief, prepared, codes), prepared, codes)
    best = posterior.argmax(axis=1)
    made = {"consensus": [prepared.classes[code] for code in best], "p": posterior.max(axis=1)}
    made["agree"] = np.bincount(codes, prepared.y == best[codes]) / labels
    return pl.DataFrame({"item": names, "labels": labels, **made}).sort("p", "item")


def suggestions(prepared: Prepared, found: Assessment) -> dict[str, pl.Series]:
    """The likeliest label of each row and its probability; null for numbers and open disputes."""
    if prepared.task != "classification":
        return {}
    belief, n = found.belief, len(prepared.y)
    codes, _ = _items(prepared)
    if belief.evenly and codes is None:
        nothing = pl.Series([None] * n)
        return {"suggested": nothing.cast(pl.String), "p_suggested": nothing.cast(pl.Float64)}
    if belief.by_others:
        # A choice that was made without looking may be right all the same.
        truth = belief.truth
    elif not belief.evenly or codes is None:
        truth = given_right(belief.truth, prepared.y, belief.p_correct)
    else:
        truth = _posterior(belief, prepared, codes)[codes]
    things = np.arange(n) if codes is None else codes
    truth = _not_rejected(truth, prepared, things, things)
    best = pl.Series([prepared.classes[code] for code in truth.argmax(axis=1)], dtype=pl.String)
    return {"suggested": best, "p_suggested": pl.Series(truth.max(axis=1))}


def _items(prepared: Prepared, shared: bool = False) -> tuple[Ints | None, list[str]]:
    """Which item each row is of, and their names; None where every item has one label, unless `shared`."""
    if prepared.item is None:
        return None, []
    names, codes = np.unique(prepared.item, return_inverse=True)
    return (codes, names.tolist()) if shared or len(names) < len(codes) else (None, [])


def _posterior(belief: Belief, prepared: Prepared, codes: Ints) -> Floats:
    # Where most rows contradict the others, labels count as votes.
    if not belief.evenly:
        return join_posteriors(belief.truth, codes)
    return equal_voices(prepared.y, codes, len(prepared.classes), float(belief.p_correct.mean()))


def _not_rejected(posterior: Floats, prepared: Prepared, codes: Ints, of: Ints | None = None) -> Floats:
    """Posteriors without labels known to be wrong; `codes` are items of labels, `of` of posteriors."""
    if prepared.known is None or not prepared.known.wrong.any():
        return posterior
    wrong = prepared.known.wrong
    banned = np.zeros((int(codes.max()) + 1, posterior.shape[1]), dtype=bool)
    banned[codes[wrong], prepared.y[wrong]] = True
    banned[banned.all(axis=1)] = False
    left = np.where(banned if of is None else banned[of], 0.0, posterior + 1e-12)
    return np.asarray(left / left.sum(axis=1, keepdims=True))
