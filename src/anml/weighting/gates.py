"""Two-stage gates: `adaptive`, as in the paper, and `guarded`, which also uses the label error rate."""

from anml.core.checks import Floats
from anml.core.types import Gate, Recipe, Signals
from anml.weighting.combine import correlation, equal_weights, multiplicative, softmax_blend


def adaptive(signals: Signals, recipe: Recipe) -> tuple[Floats, Gate]:
    """Gate in two stages, as in the paper: Stage 1 returns equal weights if min(s) > tau_h.

    Weakness: forged credentials with min(s) > tau_h give equal weights. `guarded` also requires a low label
    error rate.
    """
    s_min = float(signals.s.min())
    if s_min > recipe.tau_h:
        reason = f"Stage 1: every s is above tau_h = {recipe.tau_h:g}"
        return equal_weights(len(signals)), Gate("uniform", reason, correlation(signals.q, signals.s), s_min)
    return _second_stage(signals, recipe)


def guarded(signals: Signals, recipe: Recipe) -> tuple[Floats, Gate]:
    """Gate in two stages, where Stage 1 also uses the label error rate.

    Stage 1 returns equal weights only if the label error rate is at most tau_n and each given credential is
    above tau_h.
    """
    credentials = bool(signals.given & {"v", "r"})
    clean = signals.label_error_rate is not None and signals.label_error_rate <= recipe.tau_n
    s_min = float(signals.s.min()) if credentials else None
    if clean and (s_min is None or s_min > recipe.tau_h):
        credential_text = f" and every s is above tau_h = {recipe.tau_h:g}" if credentials else ""
        reason = f"the estimated label error rate is at most tau_n = {recipe.tau_n:g}{credential_text}"
        return equal_weights(len(signals)), Gate(
            "uniform", reason, correlation(signals.q, signals.s), s_min, signals.label_error_rate
        )
    return _second_stage(signals, recipe)


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
