"""Outcome of a method on a case, and all measures of outcomes.

Each kind of experiment names the measures of its rows; undefined measures are NaN.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.stats import rankdata

from anml.annotators.words import FLAGGED, LESS_RELIABLE
from anml.core.calibration import CalibrationCurve, auroc, calibration_curve
from anml.core.checks import Array, Bools, Floats
from anml.weighting.combine import correlation
from experiments.seen import Case
from experiments.spec import Found, timed


def to_columns(curve: CalibrationCurve) -> dict[str, float]:
    """Return the bins as named figures, so that they fit into one row of a table."""
    names = {"count": curve.count, "believed": curve.mean_p, "right": curve.right}
    return {f"{name}_{place}": float(v) for name, values in names.items() for place, v in enumerate(values)}


def from_columns(*rows: Mapping[str, float]) -> CalibrationCurve:
    """Return the curve of `to_columns`; bins of several rows, as of trials, are joined label by label."""
    bins = sum(name.startswith("count_") for name in rows[0])
    count, mean_p, right = (
        np.array([[row[f"{name}_{place}"] for place in range(bins)] for row in rows], dtype=np.float64)
        for name in ("count", "believed", "right")
    )
    total = count.sum(axis=0)
    with np.errstate(invalid="ignore"):
        means = [(np.nan_to_num(each) * count).sum(axis=0) / total for each in (mean_p, right)]
    return CalibrationCurve(total.astype(np.int64), *means)


Measured = dict[str, float]
Predict = Callable[[Any], Array]
# Words that find somebody out: an accusation, or less reliable.
FLAGGED_OR_BELOW = (*FLAGGED, LESS_RELIABLE)
# How many labels a contributor must have given for its true accuracy to mean much.
MIN_ROWS = 20
BINS = tuple(to_columns(calibration_curve(np.array([0.5]), np.array([True]))))


@dataclass(frozen=True, eq=False)
class Outcome:
    """Outcome of a method on a case; None for outputs that the method does not have.

    The method has its own models (`predicts`, for each rate of a grid), trains an estimator (`train`), or
    returns predictions. Per row: `kept` at a given drop count, `natural` (kept by the threshold of the
    method), `weights`, `score` in [0, 1], and `p_correct`. Per contributor: `quality`, a `verdict` of
    `anml.annotators.words`, and the interval of the accuracy. Per item: a `posterior`, except for items
    whose true label was provided (`told`). `seconds` is the time, if it is shared with other methods.
    """

    predicts: Sequence[Predict] = ()
    train: Callable[[Any], Any] | None = None
    predicted: Array | None = None
    kept: Bools | None = None
    natural: Bools | None = None
    weights: Floats | None = None
    score: Floats | None = None
    p_correct: Floats | None = None
    quality: Floats | None = None
    verdict: Array | None = None
    low: Floats | None = None
    high: Floats | None = None
    posterior: Floats | None = None
    told: Any = ()
    seconds: float | None = None


def run_methods(
    methods: Sequence[str], decide: Callable[[str], Outcome | None], measure: Callable[[Outcome], Measured]
) -> Found:
    """Rows of the methods that apply: what each makes of a case, measured, and its time."""
    for method in methods:
        answer, seconds = timed(partial(decide, method))
        if answer is not None:
            shared = answer.seconds
            yield method, {**measure(answer), "seconds": seconds if shared is None else shared}


def percent(subset: Any) -> float:
    """Share in percent; NaN of nothing."""
    return 100 * float(np.mean(subset)) if np.size(subset) else float("nan")


def error_of(predicted: Array, y: Array, numeric: bool = False) -> float:
    """Percent of classes predicted wrong; of numbers the RMSE, in percent of their spread."""
    if not numeric:
        return percent(predicted != y)
    return 100 * float(np.sqrt(np.square(predicted - y).mean()) / y.std())


def of_test(case: Case, predict: Predict, backdoor: str = "attack") -> Measured:
    """Error on the test part, and how often the pattern of a backdoor works, under a name."""
    truth = case.truth
    result = {"error": error_of(predict(truth.x_test), truth.y_test, case.seen.numeric)}
    if truth.trigger is not None:
        result[backdoor] = percent(predict(truth.trigger.x) == truth.trigger.target)
    return result


def weight_on_wrong(weight: Array, wrong: Bools) -> float:
    """Percent of the weight that is on wrong labels."""
    return 100 * float(weight[wrong].sum() / weight.sum())


def rank_correlation(one: Array, other: Array) -> float:
    """Spearman's; NaN where everybody has the same rank."""
    ranks = rankdata(one), rankdata(other)
    return float(np.corrcoef(*ranks)[0, 1]) if all(map(np.ptp, ranks)) else float("nan")


def in_unit(values: Floats) -> Floats:
    """The same order, in [0, 1]."""
    width = np.ptp(values)
    return (values - values.min()) / width if width > 0 else np.full_like(values, 0.5)


def calibration_measures(p_correct: Floats, right: Bools) -> Measured:
    """Calibration of p_correct, overall and by bins, and ranking."""
    bins = calibration_curve(p_correct, right)
    result = {"calibration": bins.error, "gap": bins.gap, "ranking": auroc(p_correct, right)}
    return {**result, **to_columns(bins)}


def count_verdicts(verdict: Any, asked: Mapping[str, tuple[Bools, Sequence[str]]]) -> Measured:
    """Count the contributors of a group with certain verdicts, by name of the measure."""
    return {name: float((subset & np.isin(verdict, words)).sum()) for name, (subset, words) in asked.items()}


def of_labels(case: Case, answer: Outcome) -> Measured:
    """Right and wrong labels among those that are kept or dropped, in percent; and how true beliefs are."""
    result, right, kept = {}, case.right, answer.kept
    rows = kept if answer.weights is None else answer.weights
    if rows is not None and rows.sum() > 0:
        result["precision"] = 100 - weight_on_wrong(rows, ~right)
    if kept is not None:
        result |= {"kept": percent(kept), "right_dropped": percent(~kept[right])}
        result["wrong_kept"] = percent(kept[~right])
        if case.truth.bad is not None:
            result["honest_lost"] = percent(~kept[~case.truth.bad])
    if answer.p_correct is not None:
        result |= calibration_measures(answer.p_correct, right)
    if answer.score is not None:
        result["ranking"] = auroc(answer.score, right)
    return result


def auroc_of_quality(quality: Floats, bad: Bools) -> float:
    """Chance that an honest contributor is ranked above a bad one."""
    return auroc(in_unit(quality), ~bad)


def of_quality(case: Case, quality: Floats) -> Measured:
    """Compare estimated contributor quality with the true accuracy and with the malicious contributors."""
    true, enough, bad = case.seen.mean(case.right), case.seen.rows >= MIN_ROWS, case.truth.bad
    result = {"ranks": rank_correlation(quality, true)}
    if enough.any() and (linear := correlation(quality[enough], true[enough])) is not None:
        result["correlation"] = linear
    if bad is not None:
        positive = np.maximum(quality, 0.0)
        result["ranked"] = auroc_of_quality(quality, case.bad)
        if positive.sum() > 0:
            result["paid_bad"] = weight_on_wrong(positive, case.bad)
    return result


def of_items(answer: Outcome, right: Array) -> Measured:
    """Percent of the items whose likeliest class is right, and how true its probability is."""
    assert answer.posterior is not None
    left = np.delete(np.arange(len(right)), answer.told)
    decided = (answer.posterior.argmax(axis=1) == right)[left]
    chance = np.clip(answer.posterior.max(axis=1), 0, 1)[left]
    return {"consensus": percent(decided), "calibration": calibration_curve(chance, decided).error}
