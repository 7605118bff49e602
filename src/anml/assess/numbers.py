"""The same rounds for numeric labels: predictions and their natural spread, then the contributor model."""

import numpy as np

from anml.assess.believe import SETTLED, round_of
from anml.core.checks import Bools, Floats, Ints
from anml.core.people.belief import Belief, in_parts
from anml.core.people.judge import NEVER
from anml.core.people.judge_numbers import judge_numbers
from anml.core.people.numbers import NumericFit, fit_numbers
from anml.core.people.rows import Side
from anml.core.people.verdicts import mirrored, share_in_doubt
from anml.core.profile import Training
from anml.core.progress import Progress
from anml.core.stats import Estimate
from anml.gradients.crossfit import CrossFit, as_numpy, as_tensors, cross_fit
from anml.predictors.duplicates import near_copies
from anml.predictors.numeric import misled_by, predict_numbers
from anml.predictors.overlap import nearest, stand_apart

# Robust spreads beyond which hardly any distribution of honest numbers reaches.
FAR_OUT = 10.0


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
    apart = _apart(x, side, groups)
    for turn in range(training.rounds if x.shape[1] else 1):
        network, learned = given, _drawn_in(values) if turn == 0 else values
        if x.shape[1]:
            own, last = _network(x, learned, groups, p, training, seed, last, turn, progress)
            first = first or last
            network = own if given is None else 0.5 * (own + given)
        mean, spread = _predicted(x, learned, groups, p, seed, network, 2 * training.trees)
        fit = _spared(fit_numbers(values, mean, spread, side), side, apart)
        change = np.inf if p is None else float(np.abs(fit.p_correct - p).mean())
        p = fit.p_correct
        if change < SETTLED or (turn == 0 and p.min() >= 0.5):
            break
    if misled_by(spread, x, fit.consensus, fit.p_correct, groups, seed):
        spread = np.full(len(spread), float(np.median(spread)))
    return _belief(fit, values, mean, spread, side, apart), first


def _drawn_in(values: Floats) -> Floats:
    """Numbers beyond `FAR_OUT` robust spreads from the median, drawn in to there.

    Before anybody is doubted, one contributor in cents would be all that predictors of euros learn.
    """
    low, middle, high = np.quantile(values, [0.25, 0.5, 0.75])
    width = FAR_OUT * (high - low) / 1.349
    return values if width <= 0 else np.clip(values, middle - width, middle + width)


def _apart(x: Floats, side: Side, groups: Ints | None) -> Bools | None:
    """Contributors whose rows lie in a region of their own, which others cannot confirm; None: nobody."""
    if not x.shape[1] or side.codes is None or side.items is not None or int(side.codes.max()) < 2:
        return None
    apart = stand_apart(nearest(x, groups), side.codes)
    return apart if apart.any() else None


def _spared(fit: NumericFit, side: Side, apart: Bools | None) -> NumericFit:
    """What rests on its contributor alone is as right as labels are on average: not condemned."""
    if apart is None or side.codes is None:
        return fit
    p = fit.p_correct
    return fit._replace(p_correct=np.where(apart[side.codes], np.maximum(p, p.mean()), p))


def _network(
    x: Floats, values: Floats, groups: Ints | None, weight: Floats | None, training: Training, seed: int,
    last: CrossFit | None, turn: int, progress: Progress | None,
) -> tuple[Floats, CrossFit]:  # fmt: skip
    inputs, targets, unscale = as_tensors(x, values, "regression")
    fit = cross_fit(
        inputs, targets, "regression", 1, groups, training, seed, weight=weight,
        start=None if last is None else last.folds, progress=round_of(progress, turn),
    )  # fmt: skip
    return unscale(as_numpy(fit.held_out[:, 0])), fit


def _predicted(
    x: Floats, values: Floats, groups: Ints | None, weight: Floats | None, seed: int,
    network: Floats | None, trees: int = 40,
) -> tuple[Floats, Floats]:  # fmt: skip
    if x.shape[1]:
        return predict_numbers(x, values, groups, weight, seed, network, trees)
    mean = np.full(len(values), float(np.median(values))) if network is None else network
    spread = 1.4826 * float(np.median(np.abs(values - mean - np.median(values - mean))))
    return mean, np.full(len(values), max(spread, 1e-9))


def _belief(
    fit: NumericFit, values: Floats, mean: Floats, spread: Floats, side: Side, apart: Bools | None
) -> Belief:
    p = np.clip(fit.p_correct, 1e-9, 1 - 1e-9)
    people, mirror, doubt = None, 0.0, None
    if side.codes is not None:
        people, against = judge_numbers(fit, p, values, side.codes, None if apart is None else ~apart)
        rows = np.bincount(side.codes).astype(np.float64)
        mirror = mirrored(against, rows)
        doubt = share_in_doubt(mirror, against, rows)
    wrong = float(1 - p.mean())
    far = float((np.abs(values - mean) > 3 * spread).mean())
    return Belief(
        **in_parts(p, p.mean(), fit.credentials, people, side.codes),
        truth=np.column_stack([fit.consensus, fit.doubt, spread]), predicted=mean, shares={},
        wrong=Estimate(wrong, min(float((p < NEVER).mean()), wrong), max(far, wrong)),
        alone=np.zeros(len(p), dtype=bool) if apart is None or side.codes is None else apart[side.codes],
        mirrored=mirror, doubtful=doubt,
    )  # fmt: skip
