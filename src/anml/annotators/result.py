"""Estimates for every label and every contributor: the result type that all other modules read."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from anml.annotators.params import MAX_LOGIT
from anml.annotators.periods import ChangePoints
from anml.core.checks import Array, Bools, Floats, Ints
from anml.core.stats import Estimate, beta_interval


@dataclass(frozen=True, eq=False)
class ContributorEstimates:
    """Estimates of the contributors, one value each.

    `verdict`: one of `anml.annotators.words.VERDICTS`.
    `quality`, `low`, `high`: expected share of right labels, and its 95% interval.
    `reliability`, `reliability_low`, `reliability_high`: kappa: 1 is always right, 0 is guessing; and its 95%
    interval.
    `expected`: share of right labels that others have on comparable rows.
    `good`, `bad`: how many labels seen to be right, and wrong, that rests on, credentials left aside.
    `settled_by`: how many known labels would settle a verdict that is open; 0 where it is settled, and more
    than there are rows where only more rows would.
    `false_accusations`: how many of the accusations are expected to be false.
    `habits`: what is peculiar to a contributor and no accusation, in words; empty where there is nothing.
    `changed`: when each began to be right more, or less, often; None where nobody did, or no times are known.
    """

    verdict: list[str]
    quality: Floats
    low: Floats
    high: Floats
    reliability: Floats
    reliability_low: Floats
    reliability_high: Floats
    expected: Floats
    good: Floats
    bad: Floats
    settled_by: Ints
    false_accusations: float
    habits: list[str] = field(default_factory=list)
    changed: ChangePoints | None = None

    def reputation(self) -> dict[str, Floats]:
        """Reputation learned from the labels alone: r with its 95% interval, and what it rests on.

        No credentials, T or weights are in it: a reputation that is fed by its own effect feeds itself.
        """
        a, b = self.good + 1, self.bad + 1
        low, high = beta_interval(a, b)
        return {"r": a / (a + b), "low": low, "high": high, "good": self.good, "bad": self.bad}


class Neighbourhood(NamedTuple):
    """Overlap of each contributor's rows with rows of others; None if it was not computed.

    `covered`: True if rows of others lie in the same region, so that a comparison is possible.
    `nearby`: accuracy of the others in that region relative to their mean accuracy, at most 1.
    """

    covered: Bools | None = None
    nearby: Floats | None = None

    def at(self, owner: Ints) -> "Neighbourhood":
        """Return the values for the periods of these contributors."""
        every: Any = (None if part is None else part[owner] for part in self)
        return Neighbourhood(*every)


NO_NEIGHBOURHOOD = Neighbourhood()


@dataclass(frozen=True, eq=False)
class LabelEstimates:
    """Estimates of one fit.

    `p_correct`: probability that each label is right.
    `base`, `credentials`, `contributor`, `model`: its log-odds in four parts: of all labels, and what
    credentials, contributor and predictions add.
    `truth`: posterior of the classes of each row (n, classes), or mean and deviation of its right number, and
    how far honest ones scatter about it, or one figure where counting rows by it misleads (n, 3).
    `predicted`: pooled held-out predictions: log-probabilities (n, classes), or numbers (n,).
    `by_others`: whether others' judgements of the same things predict each row, and no model does.
    `shares`: how far each predictor counts in the pool.
    `wrong`: share of wrong labels, from what is surely wrong to what predictions contradict.
    `contributors`: None where contributors are not known.
    `alone`: labels that rest on their contributor alone: neither believed nor condemned.
    `around`: who others are near contributors.
    `mirrored`: probability that those who contradict the others are the ones who are right.
    `doubtful`: share of the rows by those who contradict the others and may be right; None where the result
    may be relied on.
    """

    p_correct: Floats
    base: float
    credentials: Floats
    contributor: Floats
    model: Floats
    truth: Floats
    predicted: Array
    shares: dict[str, float]
    wrong: Estimate
    contributors: ContributorEstimates | None
    alone: Bools
    mirrored: float = 0.0
    doubtful: float | None = None
    around: Neighbourhood = NO_NEIGHBOURHOOD
    by_others: bool = False

    @property
    def evenly(self) -> bool:
        """True if every label has equal weight, since the two sides cannot be distinguished."""
        return self.mirrored >= 0.5


def decompose_log_odds(
    p: Floats, mean: float, credentials: Floats, people: ContributorEstimates | None, who: Ints | None
) -> dict[str, Any]:
    """Probabilities that labels are right, and their log-odds in parts: fields of a `Belief`."""
    base = float(clipped_logit(np.array(mean)))
    contributor = np.zeros(len(p)) if people is None else (clipped_logit(people.quality) - base)[who]
    return {
        "p_correct": p, "base": base, "credentials": credentials, "contributor": contributor,
        "model": clipped_logit(p) - base - credentials - contributor, "contributors": people,
    }  # fmt: skip


def average_over_hypotheses(weights: Floats, parts: list[Floats]) -> Floats:
    """Mean over hypotheses."""
    return np.asarray(sum(w * part for w, part in zip(weights, parts, strict=True)))


def clipped_logit(p: Floats) -> Floats:
    """Log-odds, within what a belief can be sure of."""
    return np.asarray(np.clip(special.logit(np.clip(p, 1e-12, 1 - 1e-12)), -2 * MAX_LOGIT, 2 * MAX_LOGIT))
