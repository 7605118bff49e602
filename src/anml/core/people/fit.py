"""Expectation-maximisation of the model of contributors: starts, passes, and the choice among hypotheses."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
from scipy import special

from anml.core.checks import Floats, Ints
from anml.core.people.evidence import log_evidence
from anml.core.people.model import e_step, m_step, posterior
from anml.core.people.params import (
    ALIKE,
    ALL_ALIKE,
    FIRST,
    HOTTEST,
    HYPOTHESES,
    SKILL,
    SURE,
    USUAL,
    Params,
    Posterior,
    Statistics,
)
from anml.core.people.rows import About, Rows, Side, rows_of

# Sharp predictions with many wrong labels, and flat ones with few: temperature and log-odds to start from.
STARTS = ((1.0, 2.5), (0.45, 1.2), (0.2, 0.8))
# Passes, of which a sixth find the best start; below this mean change of beliefs the fit is done.
PASSES, STILL = 80, 1e-4
# Rows that are enough to find where to start from.
ENOUGH = 20_000


@dataclass(frozen=True, eq=False)
class Climbed:
    """A hypothesis after some passes: its parameters, the last sums, and the evidence for it.

    `untold`: its parameters if no truth were known; None where none is.
    """

    params: Params
    sums: Statistics
    evidence: float
    untold: Params | None = None


@dataclass(frozen=True, eq=False)
class Fit(Climbed):
    """One hypothesis, fitted, with what it believes of the rows of one slice."""

    found: Posterior = field(kw_only=True)
    truth: Floats = field(kw_only=True)


class RowTable(Protocol):
    """Rows in one slice or in many, which remember by name what was believed of them after the last pass."""

    @property
    def about(self) -> About:
        """What fits start from."""

    def few(self, most: int) -> "RowTable | None":
        """About so many of the rows, in memory; None where there are no more than that."""

    def sweep(self, params: Mapping[str, Params]) -> dict[str, Statistics]:
        """One pass of each of these over all rows: their sums."""


class OneSlice:
    """A table in memory."""

    def __init__(self, rows: Rows) -> None:
        self.rows, self.about = rows, rows.about
        self.found: dict[str, Posterior] = {}

    def few(self, most: int) -> "OneSlice | None":
        """About so many of the rows."""
        which = self.rows.thinned(most)
        return None if which is None else OneSlice(self.rows.some(which))

    def sweep(self, params: Mapping[str, Params]) -> dict[str, Statistics]:
        """One pass."""
        sums = {}
        for name, each in params.items():
            self.found[name], sums[name] = e_step(each, self.rows, self.found.get(name))
        return sums


def begin(
    table: RowTable | Rows, hypothesis: str, temperature: float, base: float, hottest: float | None = HOTTEST
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
    base = SURE if hypothesis in ("none", "all ordinary") else base
    # Of one contributor, or of none, nobody differs.
    skill, alike = (SKILL, ALIKE) if count > 1 else (ALL_ALIKE, ALL_ALIKE)
    predicted = hottest is not None and _predicted(about)
    return Params(
        hypothesis, size, given, share, vouching, means, share,
        types=np.tile(USUAL if judging else [1.0, 0.0, 0.0], (count, 1)),
        by_class=np.zeros(classes), worth=np.zeros(about.features.shape[1]),
        strange_worth=np.zeros(means.shape[1]), base=base,
        # Rates of classes are no prediction, to be taken for sharper or flatter than they are.
        temperature=temperature if predicted else 1.0, hottest=hottest or 1.0, predicted=predicted,
        shared=about.shared, skill=skill, alike=alike,
    )  # fmt: skip


def _predicted(about: About) -> bool:
    return bool((about.high > about.low).any())


def climb(starts: Mapping[str, Params], table: RowTable, passes: int) -> dict[str, Climbed]:
    """Passes over the rows, of several at a time, until beliefs of each hardly change."""
    left: dict[str, Params] = dict(starts)
    last: dict[str, tuple[Params, Statistics]] = {}
    for _ in range(passes):
        sums = table.sweep(left) if left else {}
        for name, now in sums.items():
            before, after = left[name], m_step(left[name], now)
            still = float(now.moved) < STILL * before.given.sum() * before.classes
            last[name] = replace(before if still else after, likelihood=after.likelihood), now
            left[name] = after
            if still:
                del left[name]
    return {name: Climbed(*found, log_evidence(*found)) for name, found in last.items()}


def fit_classes(
    log_p: Floats,
    y: Ints,
    side: Side,
    before: Sequence[Climbed] | None = None,
    hottest: float | None = HOTTEST,
) -> tuple[Rows, list[Fit], Floats]:
    """The best fit under every hypothesis to a table in memory, and the posterior of each.

    `before` are the fits to earlier predictions, whose parameters are started from. Predictions are taken for
    flatter than they say up to the `hottest` temperature; None takes them as they are.
    """
    rows = rows_of(log_p, y, side)
    table = OneSlice(rows)
    found, weights = fit_table(table, side.codes is not None, before, hottest)
    return rows, [fit_of(one, rows, table.found[name]) for name, one in found.items()], weights


def fit_of(one: Climbed, rows: Rows, found: Posterior) -> Fit:
    """A fit, with what it believes of the rows of a slice."""
    return Fit(
        one.params, one.sums, one.evidence, one.untold, found=found, truth=posterior(one.params, rows, found)
    )


def fit_table(
    table: RowTable, people: bool, before: Sequence[Climbed] | None = None, hottest: float | None = HOTTEST
) -> tuple[dict[str, Climbed], Floats]:
    """The best fit under every hypothesis, by the name its beliefs are kept under, and the posterior of each.

    Of many rows some are enough to find where to start from.
    """
    few = table.few(ENOUGH) or table
    hypotheses = list(HYPOTHESES) if people else list(HYPOTHESES)[:-1]
    starts: dict[str, Params] = {}
    for place, hypothesis in enumerate(hypotheses):
        several = STARTS if before is None and hottest and _predicted(few.about) else STARTS[:1]
        for at, start in enumerate(several):
            starts[f"{hypothesis} {at}"] = begin(few, hypothesis, *start, hottest)
        if before is not None:
            earlier = _again(starts[f"{hypothesis} 0"], before[place].params)
            starts[f"{hypothesis} again"] = earlier
    first = climb(starts, few, PASSES // 6)
    found = {}
    for hypothesis in hypotheses:
        mine = [name for name in first if first[name].params.hypothesis == hypothesis]
        best = max(mine, key=lambda name: first[name].evidence)
        found[best] = first[best]
    left = PASSES - PASSES // 6
    if few is not table:
        again = {
            name: _again(begin(table, fit.params.hypothesis, *STARTS[0], hottest), fit.params)
            for name, fit in found.items()
        }
        found, left = climb(again, table, PASSES // 6), left - PASSES // 6
    found |= climb({name: fit.params for name, fit in found.items()}, table, left)
    if table.about.known:
        found = _untold(found, table)
    return found, _weights(list(found.values()))


def _untold(found: dict[str, Climbed], table: RowTable) -> dict[str, Climbed]:
    """The same fits with what they would be if no truth were known."""
    again = {f"{name} untold": replace(fit.params, told=False) for name, fit in found.items()}
    after = climb(again, table, PASSES // 6)
    return {name: replace(fit, untold=after[f"{name} untold"].params) for name, fit in found.items()}


def _weights(fits: list[Climbed]) -> Floats:
    """Posterior of each hypothesis."""
    evidence = np.array([fit.evidence for fit in fits])
    # Most define what is usual: who is like nobody cannot be the majority while another account is at hand.
    most = np.array([_strangers(fit.params) > 0.5 for fit in fits])
    if not all(most[place] for place, fit in enumerate(fits) if fit.params.judging):
        evidence[most] = -np.inf
    return np.asarray(special.softmax(evidence))


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
