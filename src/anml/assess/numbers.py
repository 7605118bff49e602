"""The same rounds for numeric labels: predictions and their natural spread, then the contributor model."""

import numpy as np
from scipy import special

from anml.core.checks import Floats, Ints
from anml.core.evidence.belief import Belief, Contributor, log_odds, quality_of, reason_for_doubt
from anml.core.evidence.numeric import NumericFit, fit_numbers
from anml.core.evidence.side import Side
from anml.core.profile import Training
from anml.core.progress import Progress
from anml.core.stats import Estimate
from anml.core.verdicts import BLIND, CONTRADICTS, UNSURE, accuse
from anml.gradients.crossfit import CrossFit, as_numpy, as_tensors, cross_fit
from anml.predictors.duplicates import near_copies
from anml.predictors.numeric import predict_numbers

# How often predictors learn, and the mean change of beliefs at which they have learned enough.
ROUNDS, SETTLED = 3, 0.004


def believe_numbers(
    x: Floats, values: Floats, side: Side, given: Floats | None, training: Training, seed: int,
    progress: Progress | None,
) -> tuple[Belief, CrossFit | None]:  # fmt: skip
    """Belief in numeric labels, and the networks of the first round (None where there are no features)."""
    groups = side.items
    first = last = None
    p: Floats | None = None
    if x.shape[1] and groups is None:
        groups = near_copies(x, np.random.default_rng(seed))
    for turn in range(ROUNDS if x.shape[1] else 1):
        network = given
        if x.shape[1]:
            own, last = _network(x, values, groups, p, training, seed, last, turn, progress)
            first = first or last
            network = own if given is None else 0.5 * (own + given)
        mean, spread = _predicted(x, values, groups, p, seed, network)
        fit = fit_numbers(values, mean, spread, side)
        change = np.inf if p is None else float(np.abs(fit.p_correct - p).mean())
        p = fit.p_correct
        if change < SETTLED or (turn == 0 and p.min() >= 0.5):
            break
    return _belief(fit, values, mean, spread, side), first


def _network(
    x: Floats, values: Floats, groups: Ints | None, weight: Floats | None, training: Training, seed: int,
    last: CrossFit | None, turn: int, progress: Progress | None,
) -> tuple[Floats, CrossFit]:  # fmt: skip
    inputs, targets, unscale = as_tensors(x, values, "regression")
    said = None if progress is None else lambda _, done, of: progress(f"round {turn + 1}", done, of)
    fit = cross_fit(
        inputs, targets, "regression", 1, groups, training, seed, weight=weight,
        start=None if last is None else last.folds, progress=said,
    )  # fmt: skip
    return unscale(as_numpy(fit.held_out[:, 0])), fit


def _predicted(
    x: Floats, values: Floats, groups: Ints | None, weight: Floats | None, seed: int, network: Floats | None
) -> tuple[Floats, Floats]:
    if x.shape[1]:
        return predict_numbers(x, values, groups, weight, seed, network)
    mean = np.full(len(values), float(np.median(values))) if network is None else network
    spread = 1.4826 * float(np.median(np.abs(values - mean - np.median(values - mean))))
    return mean, np.full(len(values), max(spread, 1e-9))


def _belief(fit: NumericFit, values: Floats, mean: Floats, spread: Floats, side: Side) -> Belief:
    n = len(values)
    p = np.clip(fit.p_correct, 1e-9, 1 - 1e-9)
    base = float(log_odds(np.array(p.mean())))
    people, opposed = None, 0.0
    contributor = np.zeros(n)
    if side.codes is not None:
        size = np.bincount(side.codes)
        opposed = float(size @ fit.types[:, 2] / n)
        people = _contributors(fit, p, mean, values, side.codes, reason_for_doubt(opposed))
        contributor = (log_odds(people.quality) - base)[side.codes]
    wrong = float(1 - p.mean())
    far = float((np.abs(values - mean) > 3 * spread).mean())
    return Belief(
        p_correct=p,
        base=base,
        credentials=np.zeros(n),
        contributor=contributor,
        model=log_odds(p) - base - contributor,
        truth=np.column_stack([fit.consensus, fit.doubt]),
        predicted=mean,
        shares={},
        wrong=Estimate(wrong, min(float((p < 0.05).mean()), wrong), max(far, wrong)),
        contributors=people,
        alone=np.zeros(n, dtype=bool),
        doubtful=reason_for_doubt(opposed),
        opposed=opposed,
    )


def _contributors(
    fit: NumericFit, p: Floats, mean: Floats, values: Floats, codes: Ints, doubtful: str | None
) -> Contributor:
    told = float(np.clip(1 - np.var(values - mean) / max(float(np.var(values)), 1e-12), 0.05, 1.0))
    quality, low, high, good, bad = quality_of(p, codes, len(fit.types), told)
    blind = fit.types[:, 1] > fit.types[:, 2]
    yes = np.ones(len(blind), dtype=bool)
    verdict, false = accuse(fit.types, blind, yes, yes, yes)
    if doubtful is not None:
        verdict, false = [UNSURE if name in (BLIND, CONTRADICTS) else name for name in verdict], 0.0
    odds = np.clip(fit.log_bayes_factor, -special.logit(1 - 1e-12), None)
    return Contributor(fit.types, verdict, odds, quality, low, high, good, bad, false)
