"""Combiners of signals into one weight per sample: uniform, multiplicative, softmax blend, p_correct.

A combiner takes checked signals and a recipe. It returns weights that sum to one, before freshness, and
the gate with its reason. The two-stage gates are in `gates.py`; `weigh.py` lists all combiners.
"""

import numpy as np

from anml.annotators.consensus import CLEAR_PROBABILITY
from anml.core.checks import Bools, Floats
from anml.core.errors import InputError
from anml.core.types import Gate, Recipe, Signals

# Reason of the gate where the data cannot show which of two sides is correct.
DISPUTE_REASON = "the labels split into two sides, and the data cannot show which side is correct"
# Reason of the gate where weights are derived from p_correct.
P_CORRECT_REASON = "each label is weighted by the probability that it is correct"


def uniform(signals: Signals, recipe: Recipe) -> tuple[Floats, Gate]:
    """Give all samples equal weight."""
    return equal_weights(len(signals)), Gate("uniform", "all rows have equal weight")


def multiplicative(signals: Signals, recipe: Recipe) -> tuple[Floats, Gate]:
    """Multiply: w = q v r; with q alone this is Krum."""
    product = signals.q * signals.s
    if product.sum() <= 0:
        return equal_weights(len(signals)), Gate(
            "uniform", "every product of the signals is zero, so rows cannot be ranked"
        )
    name = "q_only" if not signals.given & {"v", "r"} else "multiplicative"
    return normalised(product), Gate(name, "product of the signals")


def softmax_blend(signals: Signals, recipe: Recipe) -> tuple[Floats, Gate]:
    """Blend: w = alpha softmax(q / tau_s) + (1 - alpha) softmax(s / tau_s)."""
    weights = recipe.alpha * softmax(signals.q, recipe.tau_s)
    weights += (1 - recipe.alpha) * softmax(signals.s, recipe.tau_s)
    return normalised(weights), Gate("blend", f"softmax blend, alpha = {recipe.alpha:g}")


def evidence(signals: Signals, recipe: Recipe) -> tuple[Floats, Gate]:
    """Weight each label by p_correct (see `training_weight`)."""
    if signals.p_correct is None:
        raise InputError(
            "the recipe evidence needs p_correct of every label; use anml.audit or an Anml estimator, which "
            "estimate it, or a recipe that uses only q, v, r and t"
        )
    s_min = float(signals.s.min()) if signals.given & {"v", "r"} else None
    label_error_rate = 1 - float(signals.p_correct.mean())
    figures = (correlation(signals.p_correct, signals.s), s_min, label_error_rate)
    n = len(signals)
    if signals.p_correct.sum() <= 0:
        return equal_weights(n), Gate(
            "uniform", "p_correct of every label is 0, so rows cannot be ranked", *figures
        )
    if signals.equal_votes:
        return equal_weights(n), Gate("disputed", DISPUTE_REASON, *figures)
    best = float(signals.p_correct.max())
    weights = normalised(training_weight(signals.p_correct, best, signals.no_overlap))
    if signals.disputed is not None:
        return weights, Gate("disputed", DISPUTE_REASON, *figures)
    return weights, Gate("p_correct", P_CORRECT_REASON, *figures)


def training_weight(p_correct: Floats, best: float, no_overlap: Bools | None = None) -> Floats:
    """Training weight of each label: 1 if p_correct ≥ 0.9, 0 if p_correct ≤ 0.5, linear between.

    If even the highest p_correct, `best`, is at most 0.5, the weight is p_correct. Rows without overlap
    (`apart`) have weight 1 or 0, since their p_correct is low for lack of corroboration.

    Examples
    --------
    >>> training_weight(np.array([0.2, 0.5, 0.7, 0.9, 1.0]), 1.0).round(2)
    array([0. , 0. , 0.5, 1. , 1. ])
    """
    if best <= 0.5:
        return p_correct
    share = np.clip((p_correct - 0.5) / (CLEAR_PROBABILITY - 0.5), 0.0, 1.0)
    return share if no_overlap is None else np.where(no_overlap & (share > 0), 1.0, share)


def softmax(x: Floats, temperature: float = 1.0) -> Floats:
    """Exponentials of x / temperature, scaled to sum to one."""
    raised = np.exp((x - x.max()) / temperature)
    return normalised(raised)


def correlation(q: Floats, s: Floats) -> float | None:
    """Pearson correlation of q and s; None if either is constant."""
    if np.ptp(q) < 1e-12 or np.ptp(s) < 1e-12:
        return None
    dq, ds = q - q.mean(), s - s.mean()
    return float(np.clip(dq @ ds / np.sqrt((dq @ dq) * (ds @ ds)), -1.0, 1.0))


def normalised(weights: Floats) -> Floats:
    """Scale weights to sum to one."""
    return np.asarray(weights / weights.sum())


def equal_weights(n: int) -> Floats:
    """Equal weights of n samples."""
    return np.full(n, 1.0 / n)
