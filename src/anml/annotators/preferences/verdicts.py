"""Estimates and verdicts of annotators of comparisons: discrimination, position bias, ties, kappa.

Kappa is the agreement of an annotator's choices with the common scores beyond chance, relative to a careful
annotator (kappa 1). An annotator with a consistent individual taste has a kappa near 0 but is not a spammer.
"""

from typing import NamedTuple

import numpy as np
from scipy import special

from anml.annotators import verdicts
from anml.annotators.preferences.davidson import TIE
from anml.annotators.preferences.kinds import ANNOTATOR_TYPES, RELIABLE_TYPE
from anml.annotators.preferences.model import PairFit
from anml.annotators.words import CONTRADICTS, GUESSING, INCONCLUSIVE, LESS_RELIABLE, RELIABLE
from anml.core.checks import Floats, Ints

# Slopes at which the distribution of each person's is written down.
GRID = np.linspace(-3.0, 4.0, 281)
# A slope below this hardly follows the common scores; one as far below zero goes against them.
GUESSING_KAPPA = 0.2
# Those who choose the worse are a camp with a taste of theirs if they are more than this share, and people.
MIN_GROUP_SHARE, MIN_GROUP_SIZE = 0.1, 1.5


class AnnotatorEstimates(NamedTuple):
    """One value for each person.

    `rows`, `decided`: comparisons, and those that are no ties.
    `slope`, `side`, `tie`: discrimination (1 is usual), pull towards the first, readiness to call a tie.
    `kappa`, `low`, `high`: reliability and its 95% interval.
    `better`, `half`: probability of a kappa above 0.2, and above a half.
    `guess`, `reversed`, `taste`: probability of choosing without looking, of choosing the worse, and of a
    taste of one's own.
    `sceptic`: the odds of being honest by the choices alone, as somebody sees them who holds a quarter of all
    people to be of no use: trust needs evidence, too.
    """

    rows: Ints
    decided: Ints
    slope: Floats
    side: Floats
    tie: Floats
    kappa: Floats
    low: Floats
    high: Floats
    better: Floats
    half: Floats
    guess: Floats
    reversed: Floats
    taste: Floats
    sceptic: Floats

    def at(self, who: Ints) -> "AnnotatorEstimates":
        """Some of them."""
        return self._replace(**{name: part[who] for name, part in self._asdict().items()})


class TypeParameters(NamedTuple):
    """Each person's slope, its variance, side and readiness to tie, if it is of each kind (people, kinds)."""

    slope: Floats
    variance: Floats
    side: Floats
    tie: Floats


def type_parameters(fit: PairFit) -> TypeParameters:
    """Combine the parameters of each annotator under each type over all its batches."""
    shape = fit.kinds.shape
    precision, pulled, side, tie, parts = (np.zeros(shape) for _ in range(5))
    for batch in fit.batches:
        for at, (name, kind) in enumerate(ANNOTATOR_TYPES.items()):
            mode, (varies, _, wide) = batch.fits[name], kind.variances(fit.params)
            np.add.at(tie[:, at], batch.owner, mode.tie)
            np.add.at(parts[:, at], batch.owner, 1.0)
            usual = 0.0 if name == "side" else fit.params.side
            np.add.at(side[:, at], batch.owner, usual + wide * mode.force.sum(axis=1))
            if varies > 0:
                variance = np.maximum(varies - varies**2 * batch.along[name], 1e-6)
                mean = kind.slope + varies * (mode.force * batch.d).sum(axis=1)
                np.add.at(precision[:, at], batch.owner, 1 / variance - 1 / varies)
                np.add.at(pulled[:, at], batch.owner, mean / variance - kind.slope / varies)
    slope, variance = np.zeros(shape), np.zeros(shape)
    for at, kind in enumerate(ANNOTATOR_TYPES.values()):
        if (varies := kind.variances(fit.params)[0]) > 0:
            variance[:, at] = 1 / np.maximum(precision[:, at] + 1 / varies, 1e-6)
            slope[:, at] = (pulled[:, at] + kind.slope / varies) * variance[:, at]
    parts = np.maximum(parts, 1)
    return TypeParameters(slope, variance, side / parts, tie / parts)


def annotator_estimates(fit: PairFit) -> AnnotatorEstimates:
    """Sum the kinds up for each person."""
    found, kinds = type_parameters(fit), dict(zip(ANNOTATOR_TYPES, fit.kinds.T, strict=True))
    people, spread = len(fit.kinds), np.sqrt(found.variance + 1e-4)
    each = zip(fit.kinds.T, found.slope.T, spread.T, strict=True)
    below = sum(p[:, None] * special.ndtr((GRID - mean[:, None]) / wide[:, None]) for p, mean, wide in each)
    worth = _kappa_by_slope(fit)
    mass = np.diff(below, axis=1, prepend=0.0, append=1.0)
    kappa = mass @ np.r_[worth, worth[-1]]
    low, high = (worth[np.minimum((below < q).sum(axis=1), len(GRID) - 1)] for q in (0.025, 0.975))
    taste = kinds["taste"] + kinds["mild taste"]
    # Careful, but hardly on the common scale: a taste of its own as well.
    hardly, against = (
        special.ndtr((bound - found.slope) / spread) for bound in (GUESSING_KAPPA, -GUESSING_KAPPA)
    )
    careful, weak = RELIABLE_TYPE, [*ANNOTATOR_TYPES].index("weak")
    sees = kinds["careful"] * (1 - hardly[:, careful]) + kinds["weak"] * (1 - hardly[:, weak])
    honest, usual = kinds["careful"] + kinds["weak"], fit.shares[:2].sum()
    odds = sees / np.maximum(1 - honest, 1e-12) * (1 - usual) / usual * 3
    return AnnotatorEstimates(
        rows=np.bincount(fit.who, minlength=people),
        decided=np.bincount(fit.who[fit.choice != TIE], minlength=people),
        slope=(fit.kinds * found.slope).sum(axis=1),
        side=(fit.kinds * found.side).sum(axis=1),
        tie=(fit.kinds * found.tie).sum(axis=1),
        kappa=kappa,
        low=low,
        high=high,
        better=_above(below, worth, 0.2),
        half=_above(below, worth, 0.5),
        guess=kinds["coin"] + kinds["side"],
        reversed=kinds["reversed"] + kinds["careful"] * against[:, careful],
        taste=taste + kinds["careful"] * (hardly - against)[:, careful],
        sceptic=odds / (1 + odds) * np.minimum(1, sees / np.maximum(honest, 1e-12)),
    )


def verdicts_for(people: AnnotatorEstimates) -> tuple[list[str], float]:
    """A word for everybody, and how many accusations are expected to be false.

    An accusation needs a false discovery rate, its own odds, and rows. Many who choose the worse are no
    contradiction: they have a taste of theirs.
    """
    reversed_ = people.reversed * (
        people.reversed.sum() <= max(MIN_GROUP_SHARE * len(people.rows), MIN_GROUP_SIZE)
    )
    worst = (people.guess + reversed_) * (people.rows >= verdicts.MIN_ROWS_TO_FLAG)
    accused = verdicts.bayesian_fdr_set(worst)
    trusted = (people.sceptic >= verdicts.RELIABLE_PROBABILITY) & (
        people.better >= verdicts.RELIABLE_PROBABILITY
    )
    good = np.where(people.half >= verdicts.RELIABLE_PROBABILITY, RELIABLE, LESS_RELIABLE)
    bad = np.where(people.guess >= reversed_, GUESSING, CONTRADICTS)
    word = np.where(accused, bad, np.where(trusted, good, INCONCLUSIVE))
    return word.tolist(), float((1 - worst)[accused].sum())


def _kappa_by_slope(fit: PairFit) -> Floats:
    """Kappa of each slope in `GRID`: how often the better one is chosen, where a slope of 1 counts as 1."""
    d = np.abs(np.concatenate([batch.d[batch.used] for batch in fit.batches]))
    d = np.quantile(d, np.linspace(0.02, 0.98, 49))
    gain = 2 * special.expit(GRID[:, None] * d).mean(axis=1) - 1
    usual = 2 * special.expit(d).mean() - 1
    return np.asarray(np.clip(gain / max(usual, 1e-9), -1, 1))


def _above(below: Floats, worth: Floats, bound: float) -> Floats:
    return np.asarray(1 - below[:, min(int((worth < bound).sum()), len(GRID) - 1)])
