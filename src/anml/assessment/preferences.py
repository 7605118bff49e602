"""Estimates of comparisons and their annotators, in the form of label estimates."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import special

from anml.annotators.copies import copy_groups_in_memory
from anml.annotators.preferences.davidson import TIE, choice_probabilities
from anml.annotators.preferences.model import PairFit, fit_pairs
from anml.annotators.preferences.verdicts import AnnotatorEstimates, annotator_estimates, verdicts_for
from anml.annotators.result import ContributorEstimates, LabelEstimates, decompose_log_odds
from anml.annotators.words import INCONCLUSIVE
from anml.core.checks import Floats, Ints
from anml.core.stats import Estimate, beta_interval

# Of a hundred choices of somebody careful so many are slips.
SLIP_RATE = 0.05
# What is known counts as the word of so many.
GOLD_WEIGHT = 5
# Rows of the mean that are added to those of like credentials.
PRIOR_ROWS = 20


class PreferenceEstimates(NamedTuple):
    """The fit, and what it says of the people, in words and in figures."""

    fit: PairFit
    people: AnnotatorEstimates
    words: list[str]


def estimate_preferences(
    first: Ints, second: Ints, y: Ints, codes: Sequence[int], who: Ints, truth: Ints | None = None,
    standing: Floats | None = None, features: Floats | None = None,
) -> tuple[LabelEstimates, PreferenceEstimates]:  # fmt: skip
    """Believe comparisons: `y` are classes, and `codes` what each is: 0 first, 1 second, 2 tie.

    A choice is right where it was made by looking: how likely that is follows from what somebody careful
    would choose, by the others' comparisons, against a guess or a slip. The truth of a pair is which of the
    two is better; as many pairs are equal as were called so. People who copy each other are one judge.
    `truth` are classes known to be right, -1 elsewhere; that counts as the word of `VOUCHED` careful judges.
    `standing` is what credentials say of each row, in [0, 1]; `features` are numbers of every candidate.
    """
    choice = np.asarray(codes)[y]
    shown = np.unique(first * (int(second.max()) + 1) + second, return_inverse=True)[1]
    judge = copy_groups_in_memory(shown, who, y)
    once, same = _deduplicate_copies(shown, who, y, judge)
    rows = np.column_stack([first, second, choice, judge[who]])[once]
    told = np.full(len(y), -1) if truth is None else np.where(truth >= 0, np.asarray(codes)[truth], -1)
    rows = np.concatenate([rows, _gold_comparisons(first, second, told, int(judge.max()) + 1)])
    first_, second_, chosen, judged = rows.T
    fit = fit_pairs(first_, second_, chosen, judged, features=features)
    people = annotator_estimates(fit).at(np.arange(int(judge.max()) + 1))
    words, false = verdicts_for(people)
    seen = leave_one_out_choice(fit)[: len(once)]
    p = np.clip(_p_attentive(people, seen, *rows[: len(once), 2:].T), 1e-9, 1 - 1e-9)[same]
    credentials = np.zeros(len(y)) if standing is None else _credentials(p, standing)
    p = np.asarray(special.expit(special.logit(p) + credentials))
    p = np.where(told < 0, p, np.where(told == choice, 1 - 1e-9, 1e-9))
    seen, people, words = seen[same][:, codes], people.at(judge), [words[k] for k in judge]
    wrong = 1 - float(p.mean())
    found = _contributor(people, words, false, p, who, len(judge))
    better = _choice_probabilities(fit, first, second, choice)
    better[told >= 0] = np.eye(3)[told[told >= 0]]
    belief = LabelEstimates(
        **decompose_log_odds(p, p.mean(), credentials, found, who),
        truth=better[:, codes],
        predicted=np.log(np.maximum(seen, 1e-12)),
        shares={},
        wrong=Estimate(wrong, float((p < 0.05).mean()), max(float((p < 0.5).mean()), wrong)),
        alone=np.zeros(len(y), dtype=bool),
        by_others=True,
    )
    return belief, PreferenceEstimates(fit, people, words)


def _credentials(p: Floats, standing: Floats) -> Floats:
    """Log-odds of looking among rows of like credentials against all, as one step of EM has them."""
    group = np.unique(np.round(20 * standing), return_inverse=True)[1]
    share = (np.bincount(group, p) + PRIOR_ROWS * p.mean()) / (np.bincount(group) + PRIOR_ROWS)
    return np.asarray(np.clip(special.logit(share) - special.logit(p.mean()), -2, 2)[group])


def _gold_comparisons(first: Ints, second: Ints, told: Ints, people: int) -> Ints:
    """Return the true choices as comparisons of added annotators: first, second, choice and annotator."""
    known = np.unique(np.column_stack([first, second, told])[told >= 0], axis=0)
    each = np.repeat(np.arange(GOLD_WEIGHT) + people, len(known))
    return np.column_stack([np.tile(known, (GOLD_WEIGHT, 1)), each])


def _deduplicate_copies(shown: Ints, who: Ints, y: Ints, judge: Ints) -> tuple[Ints, Ints]:
    """Rows without those that another of the same judge's names has as well, and which of them each row is.

    Somebody who chooses the same again has done so twice.
    """
    if len(np.unique(judge)) == len(judge):
        return np.arange(len(y)), np.arange(len(y))
    order = np.lexsort((y, shown, who))
    own = np.column_stack([who, shown, y])[order]
    new = np.r_[True, (np.diff(own, axis=0) != 0).any(axis=1)]
    again = np.empty(len(y), dtype=np.int64)
    again[order] = np.arange(len(y)) - np.flatnonzero(new)[np.cumsum(new) - 1]
    key = np.column_stack([judge[who], shown, y, again])
    _, once, same = np.unique(key, axis=0, return_index=True, return_inverse=True)
    return once, same.ravel()


def _contributor(
    people: AnnotatorEstimates, words: list[str], false: float, p: Floats, who: Ints, count: int
) -> ContributorEstimates:
    """Judges as all contributors are shown: share of choices made by looking, and kappa."""
    rows = np.bincount(who, minlength=count).astype(np.float64)
    good = np.asarray(np.bincount(who, p, count), dtype=np.float64)
    quality, usual = (good + 1) / (rows + 2), np.full(count, float(p.mean()))
    share = quality, *beta_interval(good + 1, rows - good + 1)
    # Choices that are needed so that kappa is known to a tenth.
    wide = np.ceil(rows * np.square((people.high - people.low) / 0.2)).astype(np.int64)
    settled = np.where(np.array(words) == INCONCLUSIVE, np.maximum(wide, 1), 0)
    kappa = people.kappa, people.low, people.high
    return ContributorEstimates(words, *share, *kappa, usual, good, rows - good, settled, false)


def leave_one_out_choice(fit: PairFit) -> Floats:
    """Probabilities of a careful annotator's choice (n, 3: first, second, tie), without the given choice."""
    found = np.zeros((len(fit.choice), 3))
    for batch in fit.batches:
        variance = batch.left + fit.params.slopes * batch.d**2 + 2 * fit.params.tastes
        p = choice_probabilities(batch.d, fit.params.tie, np.maximum(variance, 0.0))
        found[batch.rows[batch.used]] = np.moveaxis(p, 0, -1)[batch.used]
    return found


def _p_attentive(people: AnnotatorEstimates, seen: Floats, choice: Ints, who: Ints) -> Floats:
    """Probability that each choice was made by looking, against a guess, a slip, or choosing the worse."""
    n = np.arange(len(choice))
    usual = np.bincount(choice, minlength=3) / len(choice)
    guess = np.maximum(people.guess, SLIP_RATE)[who] * usual[choice]
    worse = people.reversed[who] * seen[:, [1, 0, TIE]][n, choice]
    careful = np.clip(1 - people.guess - people.reversed, 1e-9, 1)[who] * seen[n, choice]
    return np.asarray(careful / (careful + guess + worse))


def _choice_probabilities(fit: PairFit, first: Ints, second: Ints, choice: Ints) -> Floats:
    """Probability that the first is better, the second, or neither (n, 3)."""
    d = fit.scores.mean[first] - fit.scores.mean[second]
    spread = np.sqrt(np.maximum(fit.net.gap(fit.scores, first, second), 1e-9))
    ties = float((choice == TIE).mean())
    margin = float(np.quantile(np.abs(d), ties)) if ties else 0.0
    above, below = special.ndtr((d - margin) / spread), special.ndtr((-d - margin) / spread)
    return np.column_stack([above, below, np.maximum(1 - above - below, 0.0)])
