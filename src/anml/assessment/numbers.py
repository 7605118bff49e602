"""The same rounds for numeric labels: predictions and their natural spread, then the contributor model."""

import numpy as np

from anml.annotators.judge import SURELY_WRONG
from anml.annotators.judge_numbers import numeric_verdicts
from anml.annotators.numbers import NumericFit, fit_numbers
from anml.annotators.result import LabelEstimates, decompose_log_odds
from anml.annotators.rows import SideInformation
from anml.annotators.verdicts import disputed_share, p_minority_correct
from anml.assessment.labels import CONVERGENCE_TOLERANCE, round_progress
from anml.assessment.overlap import find_neighbours, is_isolated
from anml.core.checks import Bools, Floats, Ints
from anml.core.profile import PredictorTraining
from anml.core.progress import Progress
from anml.core.stats import Estimate
from anml.networks.backend import current_backend
from anml.networks.crossfit import CrossFit, cross_fit, scale_targets
from anml.predictors.duplicates import near_duplicate_groups
from anml.predictors.numeric import precision_weighting_hurts, predict_numbers

# Robust spreads beyond which hardly any distribution of honest numbers reaches.
WINSOR_LIMIT = 10.0


def estimate_values(
    x: Floats,
    values: Floats,
    side: SideInformation,
    given: Floats | None,
    training: PredictorTraining,
    seed: int,
    progress: Progress | None,
) -> tuple[LabelEstimates, CrossFit | None]:
    """Belief in numeric labels, and the networks of the first round (None where there are no features)."""
    groups = side.items
    first = last = None
    p: Floats | None = None
    if x.shape[1] and groups is None:
        groups = near_duplicate_groups(x, np.random.default_rng(seed))
    apart = _isolated_contributors(x, side, groups)
    for turn in range(training.rounds if x.shape[1] else 1):
        network, learned = given, _winsorise(values) if turn == 0 else values
        if x.shape[1]:
            own, last = _network(x, learned, groups, p, training, seed, last, turn, progress)
            first = first or last
            network = own if given is None else 0.5 * (own + given)
        mean, spread = _held_out_predictions(x, learned, groups, p, seed, network, 2 * training.trees)
        fit = _floor_uncorroborated(fit_numbers(values, mean, spread, side), side, apart)
        change = np.inf if p is None else float(np.abs(fit.p_correct - p).mean())
        p = fit.p_correct
        if change < CONVERGENCE_TOLERANCE or (turn == 0 and p.min() >= 0.5):
            break
    if precision_weighting_hurts(spread, x, fit.consensus, fit.p_correct, groups, seed):
        spread = np.full(len(spread), float(np.median(spread)))
    return _to_estimates(fit, values, mean, spread, side, apart), first


def _winsorise(values: Floats) -> Floats:
    """Numbers beyond `FAR_OUT` robust spreads from the median, drawn in to there.

    Before anybody is doubted, one contributor in cents would be all that predictors of euros learn.
    """
    low, middle, high = np.quantile(values, [0.25, 0.5, 0.75])
    width = WINSOR_LIMIT * (high - low) / 1.349
    return values if width <= 0 else np.clip(values, middle - width, middle + width)


def _isolated_contributors(x: Floats, side: SideInformation, groups: Ints | None) -> Bools | None:
    """Contributors whose rows lie in a region of their own, which others cannot confirm; None: nobody."""
    if not x.shape[1] or side.codes is None or side.items is not None or int(side.codes.max()) < 2:
        return None
    apart = is_isolated(find_neighbours(x, groups), side.codes)
    return apart if apart.any() else None


def _floor_uncorroborated(fit: NumericFit, side: SideInformation, apart: Bools | None) -> NumericFit:
    """Raise p_correct of uncorroborated labels to at least the mean."""
    if apart is None or side.codes is None:
        return fit
    p = fit.p_correct
    return fit._replace(p_correct=np.where(apart[side.codes], np.maximum(p, p.mean()), p))


def _network(
    x: Floats,
    values: Floats,
    groups: Ints | None,
    weight: Floats | None,
    training: PredictorTraining,
    seed: int,
    last: CrossFit | None,
    turn: int,
    progress: Progress | None,
) -> tuple[Floats, CrossFit]:
    targets, unscale = scale_targets(values, "regression")
    fit = cross_fit(
        x, targets, "regression", 1, groups, training, seed, weight=weight,
        start=None if last is None else last.folds, progress=round_progress(progress, turn),
        backend=current_backend(),
    )  # fmt: skip
    return unscale(fit.held_out[:, 0]), fit


def _held_out_predictions(
    x: Floats, values: Floats, groups: Ints | None, weight: Floats | None, seed: int,
    network: Floats | None, trees: int = 40,
) -> tuple[Floats, Floats]:  # fmt: skip
    if x.shape[1]:
        return predict_numbers(x, values, groups, weight, seed, network, trees)
    mean = np.full(len(values), float(np.median(values))) if network is None else network
    spread = 1.4826 * float(np.median(np.abs(values - mean - np.median(values - mean))))
    return mean, np.full(len(values), max(spread, 1e-9))


def _to_estimates(
    fit: NumericFit, values: Floats, mean: Floats, spread: Floats, side: SideInformation, apart: Bools | None
) -> LabelEstimates:
    p = np.clip(fit.p_correct, 1e-9, 1 - 1e-9)
    people, mirror, doubt = None, 0.0, None
    if side.codes is not None:
        people, against = numeric_verdicts(fit, p, values, side.codes, None if apart is None else ~apart)
        rows = np.bincount(side.codes).astype(np.float64)
        mirror = p_minority_correct(against, rows)
        doubt = disputed_share(mirror, against, rows)
    wrong = float(1 - p.mean())
    far = float((np.abs(values - mean) > 3 * spread).mean())
    return LabelEstimates(
        **decompose_log_odds(p, p.mean(), fit.credentials, people, side.codes),
        truth=np.column_stack([fit.consensus, fit.doubt, spread]), predicted=mean, shares={},
        wrong=Estimate(wrong, min(float((p < SURELY_WRONG).mean()), wrong), max(far, wrong)),
        alone=np.zeros(len(p), dtype=bool) if apart is None or side.codes is None else apart[side.codes],
        mirrored=mirror, doubtful=doubt,
    )  # fmt: skip
