"""Combiners of signals into one weight per sample: uniform, multiplicative, softmax blend, p_correct.

A combiner takes checked signals and a recipe. It returns weights that sum to one, before freshness, and
the gate with its reason. To add one, write the function and add it to COMBINERS in `gates.py`.
"""

from collections.abc import Callable

import numpy as np

from anml.annotators.consensus import CLEAR_PROBABILITY
from anml.core.checks import Bools, Floats
from anml.core.errors import InputError
from anml.core.types import Gate, Recipe, Signals

# Reason of the gate where the data cannot show which of two sides is correct.
DISPUTE_REASON = "the labels split into two sides, and the data cannot show which side is correct"
# Reason of the gate where weights are derived from p_correct.
P_CORRECT_REASON = "each label is weighted by the probability that it is correct"

Combiner = Callable[[Signals, Recipe], tuple[Floats, Gate]]


def uniform(signals: Signals, recipe: Recipe) -> tuple[Floats, Gate]:
    """Give all samples equal weight."""
    return _equal(len(signals)), Gate("uniform", "all rows have equal weight")


def multiplicative(signals: Signals, recipe: Recipe) -> tuple[Floats, Gate]:
    """Multiply: w = q v r; with q alone this is Krum."""
    product = signals.q * signals.s
    if product.sum() <= 0:
        return _equal(len(signals)), Gate(
            "uniform", "every product of the signals is zero, so rows cannot be ranked"
        )
    name = "q_only" if not signals.given & {"v", "r"} else "multiplicative"
    return _normalised(product), Gate(name, "product of the signals")


def softmax_blend(signals: Signals, recipe: Recipe) -> tuple[Floats, Gate]:
    """Blend: w = alpha softmax(q / tau_s) + (1 - alpha) softmax(s / tau_s)."""
    weights = recipe.alpha * softmax(signals.q, recipe.tau_s)
    weights += (1 - recipe.alpha) * softmax(signals.s, recipe.tau_s)
    return _normalised(weights), Gate("blend", f"softmax blend, alpha = {recipe.alpha:g}")


def adaptive(signals: Signals, recipe: Recipe) -> tuple[Floats, Gate]:
    """Gate in two stages, exactly as the paper prints it.

    Stage 1 returns uniform weights when min(s) > tau_h, with or without evidence from the data: if
    every attacker fakes credentials there is no defence. `guarded` closes that hole.
    """
    s_min = float(signals.s.min())
    if s_min > recipe.tau_h:
        reason = f"Stage 1: every s is above tau_h = {recipe.tau_h:g}"
        return _equal(len(signals)), Gate("uniform", reason, correlation(signals.q, signals.s), s_min)
    return _second_stage(signals, recipe)


def guarded(signals: Signals, recipe: Recipe) -> tuple[Floats, Gate]:
    """Gate in two stages, with a Stage 1 that asks the data as well.

    All samples are used alike only when the estimated share of wrong labels is at most tau_n and no
    credential says otherwise. Credentials that were not given cannot vouch for anything.
    """
    credentials = bool(signals.given & {"v", "r"})
    clean = signals.label_error_rate is not None and signals.label_error_rate <= recipe.tau_n
    s_min = float(signals.s.min()) if credentials else None
    if clean and (s_min is None or s_min > recipe.tau_h):
        credential_text = f" and every s is above tau_h = {recipe.tau_h:g}" if credentials else ""
        reason = f"the estimated label error rate is at most tau_n = {recipe.tau_n:g}{credential_text}"
        return _equal(len(signals)), Gate(
            "uniform", reason, correlation(signals.q, signals.s), s_min, signals.label_error_rate
        )
    return _second_stage(signals, recipe)


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
        return _equal(n), Gate("uniform", "p_correct of every label is 0, so rows cannot be ranked", *figures)
    if signals.equal_votes:
        return _equal(n), Gate("disputed", DISPUTE_REASON, *figures)
    best = float(signals.p_correct.max())
    weights = _normalised(training_weight(signals.p_correct, best, signals.no_overlap))
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


COMBINERS: dict[str, Combiner] = {
    "uniform": uniform,
    "multiplicative": multiplicative,
    "softmax": softmax_blend,
    "adaptive": adaptive,
    "guarded": guarded,
    "evidence": evidence,
}


def softmax(x: Floats, temperature: float = 1.0) -> Floats:
    """Exponentials of x / temperature, scaled to sum to one."""
    raised = np.exp((x - x.max()) / temperature)
    return _normalised(raised)


def correlation(q: Floats, s: Floats) -> float | None:
    """Pearson correlation of q and s; None if either is constant."""
    if np.ptp(q) < 1e-12 or np.ptp(s) < 1e-12:
        return None
    dq, ds = q - q.mean(), s - s.mean()
    return float(np.clip(dq @ ds / np.sqrt((dq @ dq) * (ds @ ds)), -1.0, 1.0))


def _second_stage(signals: Signals, recipe: Recipe) -> tuple[Floats, Gate]:
    rho_c = correlation(signals.q, signals.s)
    s_min = float(signals.s.min()) if signals.given & {"v", "r"} else None
    if rho_c is not None and rho_c > recipe.tau_c:
        weights, _ = softmax_blend(signals, recipe)
        reason = f"Stage 2: rho_c = {rho_c:.3f} is above tau_c = {recipe.tau_c:g}, so credentials are used"
        return weights, Gate("blend", reason, rho_c, s_min, signals.label_error_rate)
    weights, _ = multiplicative(signals.only(("q",)), recipe)
    if rho_c is not None:
        reason = f"Stage 2: rho_c = {rho_c:.3f} is not above tau_c = {recipe.tau_c:g}, so only q is used"
    elif not signals.given & {"v", "r"}:
        reason = "no credentials were given, so only q is used"
    else:
        reason = "q or s is constant and rho_c is undefined, so only q is used"
    return weights, Gate("q_only", reason, rho_c, s_min, signals.label_error_rate)


def _normalised(weights: Floats) -> Floats:
    return np.asarray(weights / weights.sum())


def _equal(n: int) -> Floats:
    return np.full(n, 1.0 / n)
