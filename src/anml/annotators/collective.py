"""From what careful people of a crowd would say to the truth: errors that a crowd makes together.

What all labels of an item say is surer than it should be where they err for the same reason: a hard item, a
guideline that was misread. The truth follows their posterior raised to a power, as a temperature does for
predictions:

    truth ~ said ** sharpness

No agreement among people, and no model of them, can tell the power. Known labels can: it is what makes them
likeliest. With nothing known the crowd errs together, at a rate that is a share of what single people get
wrong on items with several labels, and the power is the one that gives this rate, within a factor.
"""

from typing import NamedTuple

import numpy as np
from scipy import special

from anml.annotators.params import ATYPICAL_PRIOR_LOGIT
from anml.core.checks import Floats, Ints

# Of what single people get wrong, a crowd gets this share wrong together; and the deviation of the logarithm
# of the power.
COLLECTIVE_ERROR_RATIO, LOG_POWER_SD = 1 / 3, 0.35
# Powers that are looked at, 1 among them.
EXPONENT_GRID = 2.0 ** np.arange(-4, 2.1, 0.25)
# The least a probability counts as, and the least likely power that is kept.
MIN_PROBABILITY, MIN_WEIGHT = 1e-12, 1e-3


class CollectiveErrorStats(NamedTuple):
    """Sufficient statistics of collective errors; they are additive over slices.

    `single`: labels of regular contributors, those on items with several labels, expected errors of these.
    `surest`: number of rows and sum of the largest class probability: untempered, and for each exponent.
    `known`: log-likelihood of the items with a true label, for each exponent.
    """

    single: Floats
    surest: Floats
    known: Floats


class CollectiveErrorPosterior(NamedTuple):
    """Probability of each power, and the rate at which a crowd then errs together."""

    powers: Floats
    weight: Floats
    rates: Floats

    @property
    def mean(self) -> float:
        """Expected rate."""
        return float(self.weight @ self.rates)

    def truth(self, said: Floats) -> Floats:
        """Probability of every class, from that of what careful people would say (n, C)."""
        logs = np.log(np.maximum(said, MIN_PROBABILITY))
        each = zip(self.powers, self.weight, strict=True)
        return np.asarray(sum(weight * temper_probabilities(logs, power) for power, weight in each))

    def share(self, said: float, classes: int) -> float:
        """Share of labels that are right, where so many are what careful people would say."""
        return said * (1 - self.mean) + (1 - said) * self.mean / max(classes - 1, 1)


def temper_probabilities(logs: Floats, power: float) -> Floats:
    """Probabilities raised to a power (n, C)."""
    return np.asarray(special.softmax(power * logs, axis=1))


def collective_error_stats(single: Floats, said: Floats, known: Floats, truth: Ints) -> CollectiveErrorStats:
    """Compute the statistics from class posteriors of rows (n, C) and of items with a true label (items, C).

    `known` are posteriors that do not use the true labels, `truth` the true labels.
    """
    logs, told = (np.log(np.maximum(part, MIN_PROBABILITY)) for part in (said, known))
    surest = [temper_probabilities(logs, power).max(axis=1).sum() for power in EXPONENT_GRID]
    each = [temper_probabilities(told, power)[np.arange(len(truth)), truth] for power in EXPONENT_GRID]
    likely = np.log(np.maximum(each, MIN_PROBABILITY)).sum(axis=1)
    return CollectiveErrorStats(
        single, np.array([len(said), said.max(axis=1, initial=0.0).sum(), *surest]), likely
    )


def fit_collective_error(crowd: CollectiveErrorStats, classes: int) -> CollectiveErrorPosterior:
    """Posterior of the power, and the rate of errors that each stands for."""
    said, *by_power = crowd.surest[1:] / max(float(crowd.surest[0]), 1.0)
    # What is said is true less often: said (1 - rate) + (1 - said) rate / (C - 1).
    rates = (said - np.array(by_power)) / max(said - (1 - said) / max(classes - 1, 1), MIN_PROBABILITY)
    several, wrong = crowd.single[1:] / max(float(crowd.single[0]), MIN_PROBABILITY)
    usual = np.interp(-COLLECTIVE_ERROR_RATIO * wrong, -rates, np.log(EXPONENT_GRID))
    near = special.softmax(-0.5 * np.square((np.log(EXPONENT_GRID) - usual) / LOG_POWER_SD))
    # A crowd like no other is as unusual as somebody like nobody: then any power may be.
    other = special.expit(ATYPICAL_PRIOR_LOGIT)
    # Of items with one label nothing tells single errors from those of all, and single ones are the usual.
    single = (1 - several) * (1 - other)
    prior = single * (EXPONENT_GRID == 1) + (1 - single) * ((1 - other) * near + other / len(EXPONENT_GRID))
    weight = special.softmax(crowd.known + np.log(prior))
    some = weight > MIN_WEIGHT
    # Where careful people are righter than they say, they do not err together.
    return CollectiveErrorPosterior(
        EXPONENT_GRID[some], weight[some] / weight[some].sum(), np.clip(rates[some], 0.0, 1.0)
    )


# Nobody errs together.
NO_COLLECTIVE_ERROR = CollectiveErrorPosterior(np.ones(1), np.ones(1), np.zeros(1))
