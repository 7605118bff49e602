"""What is expected of further choices, by a fit to others: everything personal that was found counts."""

from typing import NamedTuple

import numpy as np

from anml.core.checks import Floats, Ints
from anml.core.people.davidson import choices
from anml.core.people.pair_kinds import KINDS
from anml.core.people.pair_people import habits, varies_by
from anml.core.people.pairs import Fit


def predict(fit: Fit, first: Ints, second: Ints, who: Ints) -> Floats:
    """Probabilities of further choices (n, 3); whoever, or whatever, is not known (-1) is as usual."""
    found, params = habits(fit), fit.params
    seen = (first >= 0) & (second >= 0)
    d = np.where(first >= 0, fit.scores.mean[first], 0.0) - np.where(
        second >= 0, fit.scores.mean[second], 0.0
    )
    alone = fit.net.variance(fit.scores.covariance)
    left = np.where(first >= 0, alone[first], params.spread) + np.where(
        second >= 0, alone[second], params.spread
    )
    left = np.where(seen, fit.net.of_pairs(fit.scores.covariance, first, second, first, second), left)
    own = [_Tastes.of(fit, name) for name in KINDS]
    met, total = who >= 0, np.zeros((3, len(first)))
    for at, (kind, taste) in enumerate(zip(KINDS.values(), own, strict=True)):
        varies, wide = varies_by(kind, params), params.tastes if kind.taste is None else kind.taste
        slope = np.where(met, found.slope[who, at], kind.slope)
        spread = np.where(met, found.variance[who, at], varies)
        pull = slope * d + np.where(met, found.side[who, at], params.side)
        variance = spread * d**2 + slope**2 * left
        for codes, sign in ((first, 1.0), (second, -1.0)):
            mean, precision = taste.at(who, codes)
            pull = pull + sign * mean
            variance = variance + wide / (1 + wide * precision)
        share = np.where(met, fit.kinds[who, at], fit.shares[at])
        total += share * choices(pull, np.where(met, found.tie[who, at], params.tie), variance)
    return total.T


class _Tastes(NamedTuple):
    """Own scores of people for candidates, if they are of one kind: sorted keys, means and precisions."""

    key: Ints
    mean: Floats
    precision: Floats
    candidates: int

    @classmethod
    def of(cls, fit: Fit, name: str) -> "_Tastes":
        kind, count = KINDS[name], len(fit.net.part)
        wide = fit.params.tastes if kind.taste is None else kind.taste
        keys, means, known = [], [], []
        for batch in fit.batches:
            mode = batch.fits[name]
            for codes, sign in ((batch.i, 1.0), (batch.j, -1.0)):
                keys.append((batch.owner[:, None] * count + codes)[batch.used])
                means.append(sign * wide * mode.force[batch.used])
                known.append(mode.curvature[batch.used])
        key, at = np.unique(np.concatenate(keys), return_inverse=True)
        mean, precision = (
            np.bincount(at, np.concatenate(part)).astype(np.float64) for part in (means, known)
        )
        return cls(key, mean, precision, count)

    def at(self, who: Ints, candidate: Ints) -> tuple[Floats, Floats]:
        wanted = who * self.candidates + candidate
        place = np.minimum(np.searchsorted(self.key, wanted), len(self.key) - 1)
        known = (self.key[place] == wanted) & (who >= 0) & (candidate >= 0)
        return np.where(known, self.mean[place], 0.0), np.where(known, self.precision[place], 0.0)
