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

from anml.core.checks import Floats, Ints
from anml.core.people.params import STRANGE

# Of what single people get wrong, a crowd gets this share wrong together; and the deviation of the logarithm
# of the power.
TOGETHER, VARIES = 1 / 3, 0.35
# Powers that are looked at, 1 among them.
POWERS = 2.0 ** np.arange(-4, 2.1, 0.25)
# The least a probability counts as, and the least likely power that is kept.
LEAST, SOME = 1e-12, 1e-3


class Crowd(NamedTuple):
    """What rows tell of a crowd's errors: sums, which add up over slices.

    `single`: labels of ordinary people, those of items with several labels, and wrong ones expected of these.
    `surest`: rows, and the probability of their likeliest class, summed: as it was said, and by each power.
    `known`: log-likelihood of known items by each power.
    """

    single: Floats
    surest: Floats
    known: Floats


class Collective(NamedTuple):
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
        logs = np.log(np.maximum(said, LEAST))
        each = zip(self.powers, self.weight, strict=True)
        return np.asarray(sum(weight * raised(logs, power) for power, weight in each))

    def share(self, said: float, classes: int) -> float:
        """Share of labels that are right, where so many are what careful people would say."""
        return said * (1 - self.mean) + (1 - said) * self.mean / max(classes - 1, 1)


def raised(logs: Floats, power: float) -> Floats:
    """Probabilities raised to a power (n, C)."""
    return np.asarray(special.softmax(power * logs, axis=1))


def told_of_crowd(single: Floats, said: Floats, known: Floats, truth: Ints) -> Crowd:
    """What is `said` of rows (n, C), and of `known` items with their truth left aside (items, C)."""
    logs, told = (np.log(np.maximum(part, LEAST)) for part in (said, known))
    surest = [raised(logs, power).max(axis=1).sum() for power in POWERS]
    each = [raised(told, power)[np.arange(len(truth)), truth] for power in POWERS]
    likely = np.log(np.maximum(each, LEAST)).sum(axis=1)
    return Crowd(single, np.array([len(said), said.max(axis=1, initial=0.0).sum(), *surest]), likely)


def collective_error(crowd: Crowd, classes: int) -> Collective:
    """Posterior of the power, and the rate of errors that each stands for."""
    said, *by_power = crowd.surest[1:] / max(float(crowd.surest[0]), 1.0)
    # What is said is true less often: said (1 - rate) + (1 - said) rate / (C - 1).
    rates = (said - np.array(by_power)) / max(said - (1 - said) / max(classes - 1, 1), LEAST)
    several, wrong = crowd.single[1:] / max(float(crowd.single[0]), LEAST)
    usual = np.interp(-TOGETHER * wrong, -rates, np.log(POWERS))
    near = special.softmax(-0.5 * np.square((np.log(POWERS) - usual) / VARIES))
    # A crowd like no other is as unusual as somebody like nobody: then any power may be.
    other = special.expit(STRANGE)
    # Of items with one label nothing tells single errors from those of all, and single ones are the usual.
    single = (1 - several) * (1 - other)
    prior = single * (POWERS == 1) + (1 - single) * ((1 - other) * near + other / len(POWERS))
    weight = special.softmax(crowd.known + np.log(prior))
    some = weight > SOME
    # Where careful people are righter than they say, they do not err together.
    return Collective(POWERS[some], weight[some] / weight[some].sum(), np.clip(rates[some], 0.0, 1.0))


# Nobody errs together.
NOWHERE = Collective(np.ones(1), np.ones(1), np.zeros(1))
