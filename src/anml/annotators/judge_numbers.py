"""Verdicts on contributors of numbers: how many lie where the others expect them."""

from dataclasses import replace

import numpy as np

from anml.annotators import skill as worth
from anml.annotators import verdicts
from anml.annotators.collective import NO_COLLECTIVE_ERROR
from anml.annotators.judge import verdicts_from_posterior
from anml.annotators.numbers import NumericFit
from anml.annotators.params import ACCURACY_CONCENTRATION
from anml.annotators.result import ContributorEstimates
from anml.annotators.skill import AccuracyPosterior
from anml.annotators.words import INCONCLUSIVE, LESS_RELIABLE, RELIABLE
from anml.core.checks import Bools, Floats, Ints

# A number further from where others expect it than two natural spreads, which hold 95% of what is usual,
# is wrong.
OUTLIER_SD = 2.0


def numeric_verdicts(
    fit: NumericFit, p: Floats, values: Floats, codes: Ints, covered: Bools | None = None
) -> tuple[ContributorEstimates, Floats]:
    """Verdicts on contributors of numbers, and the probability of each having other numbers than the others.

    An ordinary contributor is right as far as single labels are; for any other what counts is how many
    numbers lie where the others expect them. Guessing is the same numbers dealt to other rows.
    """
    count = len(fit.types)
    rows, ordinary = np.bincount(codes, minlength=count).astype(np.float64), fit.types[:, 0]
    near = np.asarray(np.bincount(codes, np.abs(fit.residual) < OUTLIER_SD, count), dtype=np.float64)
    usual: Floats = np.minimum(np.bincount(codes, p, count) / np.maximum(ordinary, 1e-9), rows)
    dealt = np.random.default_rng(0).permutation(values)
    hits = np.abs(dealt - (values - fit.residual * fit.width)) < OUTLIER_SD * fit.width
    guessed = np.full(count, min(float(hits.mean()), 0.95))
    expected = np.full(count, float(np.clip(ordinary @ usual / max(float(ordinary @ rows), 1e-9), 0.5, 0.99)))
    either = [worth.beta_pmf(right + 0.5, rows - right + 0.5) for right in (usual, near)]
    found = AccuracyPosterior(
        ordinary[:, None] * either[0] + (1 - ordinary)[:, None] * either[1],
        expected,
        guessed,
        rows,
        worth.beta_pmf(ACCURACY_CONCENTRATION * expected, ACCURACY_CONCENTRATION * (1 - expected)),
        either[1],
        np.zeros(count),
        either[1],
    )
    blind, other = fit.types[:, 1] > fit.types[:, 2], fit.types[:, 2]
    against = (other > 0.5).astype(np.float64)
    exact = worth.adjust_for_collective_error(found, NO_COLLECTIVE_ERROR, 2)
    judged = verdicts_from_posterior(
        found, exact, exact.posterior(), blind, covered, verdicts.p_minority_correct(against, rows), other
    )
    # Whose numbers are not believed as they stand is not as reliable as others, however near they lie.
    instead = np.where(ordinary <= 1 - verdicts.FLAG_PROBABILITY, LESS_RELIABLE, INCONCLUSIVE)
    apart = (ordinary < 0.5) & (np.array(judged.verdict) == RELIABLE)
    words = [str(word) for word in np.where(apart, instead, judged.verdict)]
    return replace(judged, verdict=words, habits=list(fit.habits)), against
