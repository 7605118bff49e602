"""Verdicts on contributors of numbers: how many lie where the others expect them."""

from dataclasses import replace

import numpy as np

from anml.core.checks import Bools, Floats, Ints
from anml.core.people import verdicts, worth
from anml.core.people.belief import Contributor
from anml.core.people.collective import NOWHERE
from anml.core.people.judge import judged_by
from anml.core.people.numbers import NumericFit
from anml.core.people.params import SKILL
from anml.core.people.words import LESS, RELIABLE, UNSURE
from anml.core.people.worth import Worth

# A number further from where others expect it than two natural spreads, which hold 95% of what is usual,
# is wrong.
FAR = 2.0


def judge_numbers(
    fit: NumericFit, p: Floats, values: Floats, codes: Ints, covered: Bools | None = None
) -> tuple[Contributor, Floats]:
    """Verdicts on contributors of numbers, and the probability of each having other numbers than the others.

    An ordinary contributor is right as far as single labels are; for any other what counts is how many
    numbers lie where the others expect them. Guessing is the same numbers dealt to other rows.
    """
    count = len(fit.types)
    rows, ordinary = np.bincount(codes, minlength=count).astype(np.float64), fit.types[:, 0]
    near = np.asarray(np.bincount(codes, np.abs(fit.residual) < FAR, count), dtype=np.float64)
    usual: Floats = np.minimum(np.bincount(codes, p, count) / np.maximum(ordinary, 1e-9), rows)
    dealt = np.random.default_rng(0).permutation(values)
    hits = np.abs(dealt - (values - fit.residual * fit.width)) < FAR * fit.width
    guessed = np.full(count, min(float(hits.mean()), 0.95))
    expected = np.full(count, float(np.clip(ordinary @ usual / max(float(ordinary @ rows), 1e-9), 0.5, 0.99)))
    either = [worth.beta_on_grid(right + 0.5, rows - right + 0.5) for right in (usual, near)]
    found = Worth(
        ordinary[:, None] * either[0] + (1 - ordinary)[:, None] * either[1], expected, guessed, rows,
        worth.beta_on_grid(SKILL * expected, SKILL * (1 - expected)), either[1], np.zeros(count), either[1],
    )  # fmt: skip
    blind, other = fit.types[:, 1] > fit.types[:, 2], fit.types[:, 2]
    against = (other > 0.5).astype(np.float64)
    exact = worth.standing(found, NOWHERE, 2)
    judged = judged_by(
        found, exact, exact.posterior(), blind, covered, verdicts.mirrored(against, rows), other
    )
    # Whose numbers are not believed as they stand is not as reliable as others, however near they lie.
    instead = np.where(ordinary <= 1 - verdicts.SURELY, LESS, UNSURE)
    apart = (ordinary < 0.5) & (np.array(judged.verdict) == RELIABLE)
    words = [str(word) for word in np.where(apart, instead, judged.verdict)]
    return replace(judged, verdict=words, habits=list(fit.habits)), against
