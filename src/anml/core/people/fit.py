"""Expectation-maximisation of the model of contributors: starts, passes, and the choice among hypotheses."""

from dataclasses import dataclass, replace

import numpy as np
from scipy import special

from anml.core.checks import Floats, Ints
from anml.core.people.model import (
    FIRST,
    HOTTEST,
    HYPOTHESES,
    SURE,
    Params,
    Posterior,
    Statistics,
    e_step,
    log_evidence,
    m_step,
    posterior,
)
from anml.core.people.rows import Rows, Side, by_label, rows_of

# Sharp predictions with many wrong labels, and flat ones with few: temperature and log-odds to start from.
STARTS = ((1.0, 2.5), (0.45, 1.2), (0.2, 0.8))
# Passes, of which a third find the best start; below this mean change of beliefs the fit is done.
PASSES, STILL = 40, 1e-4
# Rows that are enough to find where to start from.
ENOUGH = 20_000
# A hypothesis that is so many nats behind another after its first passes is not followed further.
HOPELESS = 50.0


@dataclass(frozen=True, eq=False)
class Fit:
    """One hypothesis, fitted: its parameters, what it believes of the rows, and the evidence for it."""

    params: Params
    found: Posterior
    truth: Floats
    sums: Statistics
    evidence: float


def begin(rows: Rows, hypothesis: str, temperature: float, base: float, hottest: float = HOTTEST) -> Params:
    """Parameters before the first pass."""
    given = by_label(rows.y, rows.who, rows.count, rows.classes)
    size = np.maximum(given.sum(axis=1), 1e-9)
    share = (given.sum(axis=0) + 1e-3) / (rows.n + 1e-3 * rows.classes)
    means = np.zeros((rows.count, 0))
    if rows.count > 1 and rows.features.shape[1]:
        means = rows.by @ rows.features / np.maximum(size, 1)[:, None]
        spread = means.std(axis=0)
        means = means / np.where(spread > 1e-6, spread, 1.0)
    judging = hypothesis != "all ordinary" and rows.count > 1
    predicted = bool(np.ptp(rows.log_p, axis=0).any())
    return Params(
        hypothesis, size, given, share, means, share,
        types=np.tile([0.88, 0.06, 0.06] if judging else [1.0, 0.0, 0.0], (rows.count, 1)),
        by_class=np.zeros(rows.classes), worth=np.zeros(rows.features.shape[1]),
        strange_worth=np.zeros(means.shape[1]), base=SURE if hypothesis in ("none", "all ordinary") else base,
        # A class prior alone is no prediction, to be taken for sharper or flatter than it is.
        temperature=temperature if predicted else 1.0, hottest=hottest, predicted=predicted,
        shared=rows.shared,
    )  # fmt: skip


def climb(params: Params, rows: Rows, passes: int, found: Posterior | None = None) -> Fit:
    """Passes over the rows until beliefs hardly change."""
    last: Floats | None = None
    for _ in range(passes):
        found, sums = e_step(params, rows, found)
        now = posterior(params, rows, found)
        after = m_step(params, sums)
        if last is not None and params.steps > FIRST + 4 and np.abs(now - last).mean() < STILL:
            break
        last, params = now, after
    assert found is not None
    params = replace(params, likelihood=after.likelihood)
    return Fit(params, found, posterior(params, rows, found), sums, log_evidence(params, sums))


def fit_classes(
    log_p: Floats, y: Ints, side: Side, before: list[Fit] | None = None, hottest: float = HOTTEST
) -> tuple[Rows, list[Fit], Floats]:
    """The best fit under every hypothesis, and the posterior of each.

    `before` are the fits to earlier predictions, whose parameters are started from. Predictions are taken for
    flatter than they say up to the `hottest` temperature.
    """
    rows = rows_of(log_p, y, side)
    few = rows if rows.n <= ENOUGH or rows.shared else rows.some(slice(None, None, -(-rows.n // ENOUGH)))
    first = []
    for place, hypothesis in enumerate(HYPOTHESES if side.codes is not None else list(HYPOTHESES)[:-1]):
        starts = STARTS if before is None and np.ptp(few.log_p, axis=0).any() else STARTS[:1]
        tried = [begin(few, hypothesis, *start, hottest) for start in starts]
        if before is not None:
            tried.append(_again(tried[0], before[place].params))
        first.append(max((climb(start, few, PASSES // 3) for start in tried), key=lambda fit: fit.evidence))
    best = max(fit.evidence for fit in first)
    fits = [
        fit if fit.evidence < best - HOPELESS and few is rows else _finished(fit, rows, few, hottest)
        for fit in first
    ]
    evidence = np.array([fit.evidence for fit in fits])
    # Most define what is usual: who is like nobody cannot be the majority while another account is at hand.
    most = np.array([_strangers(fit.params) > 0.5 for fit in fits])
    if not all(most[place] for place, fit in enumerate(fits) if fit.params.judging):
        evidence[most] = -np.inf
    return rows, fits, special.softmax(evidence)


def begin_all(sampled: Params, given: Floats, places: Ints) -> Params:
    """Parameters for all contributors before the first pass, from a fit to a sample of their rows.

    `given` are the labels of all (K, C), `places` those of the sample among them; who is not in it is
    unknown.
    """
    count, classes = given.shape
    types = np.tile([0.88, 0.06, 0.06], (count, 1))
    types[places] = sampled.types
    return replace(
        sampled, size=np.maximum(given.sum(axis=1), 1e-9), given=given, share=given.sum(axis=0) / given.sum(),
        means=np.zeros((count, 0)), usual=np.full(classes, 1 / classes), types=types, worth=np.zeros(0),
        strange_worth=np.zeros(0), counts=None, expected=None, likelihood=None, steps=0,
    )  # fmt: skip


def _finished(fit: Fit, rows: Rows, few: Rows, hottest: float) -> Fit:
    """The rest of the passes, over all rows."""
    if few is rows:
        return climb(fit.params, rows, PASSES - PASSES // 3, fit.found)
    start = begin(rows, fit.params.hypothesis, 1.0, 2.5, hottest)
    return climb(_again(start, fit.params), rows, PASSES - PASSES // 3)


def _again(fresh: Params, before: Params) -> Params:
    """A start from what a fit to other rows or predictions has found."""
    return replace(
        fresh, types=before.types, own_prior=before.own_prior, by_class=before.by_class, base=before.base,
        temperature=before.temperature, skill=before.skill, alike=before.alike, together=before.together,
        credited=before.credited,
        steps=FIRST,
    )  # fmt: skip


def _strangers(params: Params) -> float:
    """Share of rows by people like nobody, if their labels together tell anything of the truth."""
    if params.counts is None:
        return 0.0
    counted = np.einsum("k,kyz->yz", params.types[:, 2], params.counts[1]) + 1e-9
    agreed = counted.max(axis=0).sum() / counted.sum()
    return float(params.types[:, 2] @ params.size / params.size.sum()) if agreed > 0.5 else 0.0
