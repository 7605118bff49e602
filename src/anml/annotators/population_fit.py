"""Fitting the annotator model: starts, passes, and the choice among them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from scipy import special

from anml.annotators.population import (
    ATYPICAL,
    BURN_IN,
    PassSums,
    PopulationParams,
    e_step,
    log_evidence,
    m_step,
)
from anml.annotators.rows import InitialStats, LabelData
from anml.annotators.subtypes import SubtypeFit, choose_subtypes

# Passes at most, and those after which the better starts go on; the mean change of beliefs at which it ends.
PASSES, FIRST_PASSES, TOLERANCE = 40, 13, 2e-4
# Log-likelihood below the best start at which a start is given up.
GIVE_UP = 10.0


@dataclass(frozen=True)
class EMStart:
    """Start of a fit: temperature of predictions, accuracy, and `never` if wrong labels are excluded."""

    temperature: float
    accuracy: float
    never: bool = False


# Strength of cells to begin with where there are subtypes.
SUBTYPE_ALPHA = 4.0
# No wrong labels; sharp predictions with few wrong labels; flat ones with more.
STARTS = (EMStart(1.0, 0.999, True), EMStart(1.0, 0.9), EMStart(0.5, 0.6))
# Without predictions labels that differ are wrong labels.
LABEL_STARTS = (EMStart(1.0, 0.9), EMStart(1.0, 0.6))


class LabelTable(Protocol):
    """Labels in memory or in slices."""

    @property
    def about(self) -> InitialStats:
        """Initial statistics."""

    def sweep(self, params: PopulationParams, tune: bool) -> PassSums:
        """One pass over all rows."""

    def subtypes(self) -> SubtypeFit:
        """Subtypes of items."""


class InMemoryLabels:
    """A table in memory."""

    def __init__(self, rows: LabelData) -> None:
        self.rows, self.about = rows, rows.about

    def sweep(self, params: PopulationParams, tune: bool) -> PassSums:
        """One pass over all rows."""
        return e_step(params, self.rows, tune)[1]

    def subtypes(self) -> SubtypeFit:
        """Subtypes of items."""
        return choose_subtypes(self.rows)


def initial(about: InitialStats, start: EMStart, subtypes: int = 1) -> PopulationParams:
    """Parameters before the first pass."""
    given = about.given
    count, classes = given.shape
    there = given.ravel() > 0
    means = about.features / np.maximum(given.sum(axis=1), 1)[:, None]
    spread = means.std(axis=0)
    varies = spread > 1e-6 if count > 2 else np.zeros(len(spread), dtype=bool)
    vouched = (means[:, varies] - means[:, varies].mean(axis=0)) / spread[varies]
    total = given.sum(axis=0) + 1e-3
    return PopulationParams(
        given, np.where(there, np.cumsum(there) - 1, -1), vouched, total / total.sum(), total / total.sum(),
        (1 - np.eye(classes)) / max(classes - 1, 1), np.zeros(classes),
        np.full((classes, subtypes), -np.log(subtypes)), np.zeros(int(varies.sum())),
        np.array([1 - 2 * ATYPICAL, ATYPICAL, ATYPICAL]), temperature=start.temperature,
        alpha=1000.0 if start.never else 30.0, never=start.never, accuracy=start.accuracy,
        predicted=bool((about.high > about.low + 1e-9).any()), shared=about.shared,
    )  # fmt: skip


def run(table: LabelTable, params: PopulationParams, passes: int, tune: bool = True) -> PopulationParams:
    """Passes until beliefs change by less than the tolerance; settings are tuned at every third one."""
    for _ in range(passes):
        at = params.steps
        tuned = tune and at >= 3 and at % 3 == 0
        params = m_step(params, table.sweep(params, tuned), tuned)
        if at > 2 * BURN_IN and params.moved < TOLERANCE and not tuned:
            break
    return params


def fit(table: LabelTable, starts: Sequence[EMStart] = STARTS, rates: bool = False) -> PopulationParams:
    """The best fit from several starts; those that are clearly behind stop early.

    With `rates` predictions are rates of classes that no model predicted, which are taken as they are.
    """
    about, subtypes = table.about, None
    if about.shared and not initial(about, STARTS[0]).predicted:
        subtypes = table.subtypes()
    first = []
    for start in starts:
        params = initial(about, start)
        if subtypes is not None and subtypes.subtypes > 1:
            if start.never:
                continue
            params = from_subtypes(about, start, subtypes)
        if rates:
            params = replace(params, predicted=False, temperature=1.0)
        first.append(run(table, params, FIRST_PASSES))
    best = max(map(log_evidence, first))
    last = [
        run(table, params, PASSES - FIRST_PASSES) for params in first if log_evidence(params) > best - GIVE_UP
    ]
    return max(last, key=log_evidence)


def from_subtypes(about: InitialStats, start: EMStart, subtypes_fit: SubtypeFit) -> PopulationParams:
    """Parameters that begin with subtypes of items."""
    params = initial(about, start, subtypes_fit.subtypes)
    each = subtypes_fit.logs.reshape(about.given.size, -1)[about.given.ravel() > 0]
    shares = np.log(subtypes_fit.posterior.sum(axis=0) + 0.05)
    # A strong pull to cells that are alike in all subtypes would undo them before settings are tuned.
    return replace(
        params,
        start=each,
        alpha=SUBTYPE_ALPHA,
        subtype=shares - special.logsumexp(shares, axis=1, keepdims=True),
    )
