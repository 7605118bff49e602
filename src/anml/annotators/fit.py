"""Expectation-maximisation of the model of contributors: starts, passes, and the choice among hypotheses."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
from scipy import special

from anml.annotators.evidence import log_evidence
from anml.annotators.model import class_posterior, e_step, m_step
from anml.annotators.params import (
    ACCURACY_CONCENTRATION,
    BURN_IN,
    CONFUSION_CONCENTRATION,
    HYPOTHESES,
    MAX_LOGIT,
    MAX_TEMPERATURE,
    POOLED_CONCENTRATION,
    TYPE_PRIOR,
    EMStats,
    Params,
    TypePosteriors,
)
from anml.annotators.rows import InitialStats, LabelData, SideInformation, make_label_data
from anml.core.checks import Floats, Ints

# Sharp predictions with many wrong labels, and flat ones with few: temperature and log-odds to start from.
EM_STARTS = ((1.0, 2.5), (0.45, 1.2), (0.2, 0.8))
# Passes, of which a sixth find the best start; below this mean change of beliefs the fit is done.
MAX_ITERATIONS, TOLERANCE = 80, 1e-4
# Rows that are enough to find where to start from.
SUBSAMPLE_SIZE = 20_000


@dataclass(frozen=True, eq=False)
class HypothesisFit:
    """A hypothesis after some passes: its parameters, the last sums, and the evidence for it.

    `untold`: its parameters if no truth were known; None where none is.
    """

    params: Params
    sums: EMStats
    evidence: float
    untold: Params | None = None


@dataclass(frozen=True, eq=False)
class RowFit(HypothesisFit):
    """One hypothesis, fitted, with what it believes of the rows of one slice."""

    found: TypePosteriors = field(kw_only=True)
    truth: Floats = field(kw_only=True)


class EMTable(Protocol):
    """Label data in one slice or in many; each slice keeps the estimates of the last iteration by name."""

    @property
    def about(self) -> InitialStats:
        """Initial statistics of a fit."""

    def few(self, most: int) -> "EMTable | None":
        """About so many of the rows, in memory; None where there are no more than that."""

    def sweep(self, params: Mapping[str, Params]) -> dict[str, EMStats]:
        """One pass of each of these over all rows: their sums."""


class InMemoryTable:
    """A table in memory."""

    def __init__(self, rows: LabelData) -> None:
        self.rows, self.about = rows, rows.about
        self.found: dict[str, TypePosteriors] = {}

    def few(self, most: int) -> "InMemoryTable | None":
        """InitialStats so many of the rows."""
        which = self.rows.thinned(most)
        return None if which is None else InMemoryTable(self.rows.some(which))

    def sweep(self, params: Mapping[str, Params]) -> dict[str, EMStats]:
        """One pass."""
        sums = {}
        for name, each in params.items():
            self.found[name], sums[name] = e_step(each, self.rows, self.found.get(name))
        return sums


def initial_params(
    table: EMTable | LabelData,
    hypothesis: str,
    temperature: float,
    base: float,
    hottest: float | None = MAX_TEMPERATURE,
) -> Params:
    """Parameters before the first pass."""
    about = table.about
    (count, classes), given = about.given.shape, about.given
    size = np.maximum(given.sum(axis=1), 1e-9)
    share = (given.sum(axis=0) + 1e-3) / (given.sum() + 1e-3 * classes)
    vouching = about.features / np.maximum(size, 1)[:, None]
    means, spread = vouching[:, :0], vouching.std(axis=0)
    if count > 1:
        means = vouching / np.where(spread > 1e-6, spread, 1.0)
    judging = hypothesis != "all ordinary" and count > 1
    base = MAX_LOGIT if hypothesis in ("none", "all ordinary") else base
    # Of one contributor, or of none, nobody differs.
    skill, alike = (
        (ACCURACY_CONCENTRATION, CONFUSION_CONCENTRATION)
        if count > 1
        else (POOLED_CONCENTRATION, POOLED_CONCENTRATION)
    )
    predicted = hottest is not None and _has_predictions(about)
    return Params(
        hypothesis, size, given, share, vouching, means, share,
        types=np.tile(TYPE_PRIOR if judging else [1.0, 0.0, 0.0], (count, 1)),
        by_class=np.zeros(classes), worth=np.zeros(about.features.shape[1]),
        strange_worth=np.zeros(means.shape[1]), base=base,
        # Rates of classes are no prediction, to be taken for sharper or flatter than they are.
        temperature=temperature if predicted else 1.0, hottest=hottest or 1.0, predicted=predicted,
        shared=about.shared, skill=skill, alike=alike,
    )  # fmt: skip


def _has_predictions(about: InitialStats) -> bool:
    return bool((about.high > about.low).any())


def run_em(starts: Mapping[str, Params], table: EMTable, passes: int) -> dict[str, HypothesisFit]:
    """Passes over the rows, of several at a time, until beliefs of each hardly change."""
    left: dict[str, Params] = dict(starts)
    last: dict[str, tuple[Params, EMStats]] = {}
    for _ in range(passes):
        sums = table.sweep(left) if left else {}
        for name, now in sums.items():
            before, after = left[name], m_step(left[name], now)
            still = float(now.moved) < TOLERANCE * before.given.sum() * before.classes
            last[name] = replace(before if still else after, likelihood=after.likelihood), now
            left[name] = after
            if still:
                del left[name]
    return {name: HypothesisFit(*found, log_evidence(*found)) for name, found in last.items()}


def fit_label_model(
    log_p: Floats,
    y: Ints,
    side: SideInformation,
    before: Sequence[HypothesisFit] | None = None,
    hottest: float | None = MAX_TEMPERATURE,
) -> tuple[LabelData, list[RowFit], Floats]:
    """The best fit under every hypothesis to a table in memory, and the posterior of each.

    `before` are the fits to earlier predictions, whose parameters are started from. Predictions are taken for
    flatter than they say up to the `hottest` temperature; None takes them as they are.
    """
    rows = make_label_data(log_p, y, side)
    table = InMemoryTable(rows)
    found, weights = fit_hypotheses(table, side.codes is not None, before, hottest)
    return rows, [with_posteriors(one, rows, table.found[name]) for name, one in found.items()], weights


def with_posteriors(one: HypothesisFit, rows: LabelData, found: TypePosteriors) -> RowFit:
    """A fit, with what it believes of the rows of a slice."""
    return RowFit(
        one.params,
        one.sums,
        one.evidence,
        one.untold,
        found=found,
        truth=class_posterior(one.params, rows, found),
    )


def fit_hypotheses(
    table: EMTable,
    people: bool,
    before: Sequence[HypothesisFit] | None = None,
    hottest: float | None = MAX_TEMPERATURE,
) -> tuple[dict[str, HypothesisFit], Floats]:
    """The best fit under every hypothesis, by the name its beliefs are kept under, and the posterior of each.

    Of many rows some are enough to find where to start from.
    """
    few = table.few(SUBSAMPLE_SIZE) or table
    hypotheses = list(HYPOTHESES) if people else list(HYPOTHESES)[:-1]
    starts: dict[str, Params] = {}
    for place, hypothesis in enumerate(hypotheses):
        several = EM_STARTS if before is None and hottest and _has_predictions(few.about) else EM_STARTS[:1]
        for at, start in enumerate(several):
            starts[f"{hypothesis} {at}"] = initial_params(few, hypothesis, *start, hottest)
        if before is not None:
            earlier = _warm_start(starts[f"{hypothesis} 0"], before[place].params)
            starts[f"{hypothesis} again"] = earlier
    first = run_em(starts, few, MAX_ITERATIONS // 6)
    found = {}
    for hypothesis in hypotheses:
        mine = [name for name in first if first[name].params.hypothesis == hypothesis]
        best = max(mine, key=lambda name: first[name].evidence)
        found[best] = first[best]
    left = MAX_ITERATIONS - MAX_ITERATIONS // 6
    if few is not table:
        again = {
            name: _warm_start(
                initial_params(table, fit.params.hypothesis, *EM_STARTS[0], hottest), fit.params
            )
            for name, fit in found.items()
        }
        found, left = run_em(again, table, MAX_ITERATIONS // 6), left - MAX_ITERATIONS // 6
    found |= run_em({name: fit.params for name, fit in found.items()}, table, left)
    if table.about.known:
        found = _refit_without_gold(found, table)
    return found, _hypothesis_weights(list(found.values()))


def _refit_without_gold(found: dict[str, HypothesisFit], table: EMTable) -> dict[str, HypothesisFit]:
    """The same fits with what they would be if no truth were known."""
    again = {f"{name} untold": replace(fit.params, told=False) for name, fit in found.items()}
    after = run_em(again, table, MAX_ITERATIONS // 6)
    return {name: replace(fit, untold=after[f"{name} untold"].params) for name, fit in found.items()}


def _hypothesis_weights(fits: list[HypothesisFit]) -> Floats:
    """TypePosteriors of each hypothesis."""
    evidence = np.array([fit.evidence for fit in fits])
    # Most define what is usual: who is like nobody cannot be the majority while another account is at hand.
    most = np.array([_outlier_share(fit.params) > 0.5 for fit in fits])
    if not all(most[place] for place, fit in enumerate(fits) if fit.params.judging):
        evidence[most] = -np.inf
    return np.asarray(special.softmax(evidence))


def _warm_start(fresh: Params, before: Params) -> Params:
    """A start from what a fit to other rows or predictions has found."""
    return replace(
        fresh, types=before.types, own_prior=before.own_prior, by_class=before.by_class, base=before.base,
        temperature=before.temperature, skill=before.skill, alike=before.alike, together=before.together,
        credited=before.credited,
        steps=BURN_IN,
    )  # fmt: skip


def _outlier_share(params: Params) -> float:
    """Share of rows by people like nobody, if their labels together tell anything of the truth."""
    if params.counts is None:
        return 0.0
    counted = np.einsum("k,kyz->yz", params.types[:, 2], params.counts[1]) + 1e-9
    agreed = counted.max(axis=0).sum() / counted.sum()
    return float(params.types[:, 2] @ params.size / params.size.sum()) if agreed > 0.5 else 0.0
