"""From fits of the model to what is believed of labels and people: one posterior for both."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from anml.annotators import skill as worth
from anml.annotators import verdicts
from anml.annotators.collective import CollectiveErrorPosterior, fit_collective_error
from anml.annotators.consensus import pool_posteriors_by_item, unweighted_posterior
from anml.annotators.fit import HypothesisFit, RowFit
from anml.annotators.result import (
    NO_NEIGHBOURHOOD,
    ContributorEstimates,
    LabelEstimates,
    Neighbourhood,
    average_over_hypotheses,
    decompose_log_odds,
)
from anml.annotators.rows import LabelData
from anml.annotators.skill import ACCURACY_GRID, AccuracyAtErrorRates, AccuracyPosterior, AccuracyStats
from anml.annotators.summaries import SufficientStats, gold_rows, sufficient_stats
from anml.annotators.words import INCONCLUSIVE
from anml.core.checks import Bools, Floats, Ints
from anml.core.stats import Estimate

# Shares of the posterior at which answers are imagined.
POSTERIOR_QUANTILES = (np.arange(20) + 0.5) / 20
# A label that is less likely than this to be right is surely wrong.
SURELY_WRONG = 1 - verdicts.FLAG_PROBABILITY


# What is said of all where nobody can tell who is right.
POOLED_AGGREGATES: dict[str, Callable[..., Any]] = {
    "quality": np.mean, "low": np.min, "high": np.max,
    "reliability": np.mean, "reliability_low": np.min, "reliability_high": np.max,
}  # fmt: skip


class GlobalEstimates(NamedTuple):
    """Estimates for contributors and for all rows together.

    `people`: estimates of contributors; None without a contributor column.
    `error`: posterior of the collective error rate.
    `mirror`: probability that the contributors who contradict the others are right.
    `doubtful`: their share of the rows if they cannot be flagged, else None.
    `mean`: expected share of correct labels.
    `contradicted`: number of labels that differ from the most probable class without that label.
    """

    people: ContributorEstimates | None
    error: CollectiveErrorPosterior
    mirror: float
    doubtful: float | None
    mean: float
    contradicted: int


def estimate_contributors(
    told: SufficientStats,
    fits: Sequence[HypothesisFit],
    weights: Floats,
    people: bool = True,
    around: Neighbourhood = NO_NEIGHBOURHOOD,
    owner: Ints | None = None,
    spared: Ints | None = None,
) -> GlobalEstimates:
    """Judge people by what all rows tell; see `believe` for the parameters."""
    classes = len(told.people.share)
    error = fit_collective_error(told.crowd, classes)
    judged, mirror, doubtful = None, 0.0, None
    if people:
        sums, types = told.people, average_over_hypotheses(weights, [fit.params.types for fit in fits])
        vouched = average_over_hypotheses(
            weights, [-(fit.params.means @ fit.params.strange_worth) for fit in fits]
        )
        whole = parts = sums, types, vouched, told.voices, told.excused
        if owner is not None:
            voices, excused = (np.bincount(owner, part).astype(np.float64) for part in parts[3:])
            whole = *_sum_over_parts(sums, types, vouched, owner), voices, excused
        alone = not fits[0].params.predicted
        judged, mirror, against = contributor_verdicts(*whole, error, around, spared, alone)
        doubtful = verdicts.disputed_share(mirror, against, whole[0].rows.sum(axis=1))
        if owner is not None:
            spared = None if spared is None else spared[owner]
            judged = _use_latest_period(
                judged, contributor_verdicts(*parts, error, around.at(owner), spared)[0], owner
            )
    unknown, labels, right, rest = told.right
    mean = (error.share(unknown / max(labels, 1), classes) * labels + right) / (labels + rest)
    if judged is not None and mirror >= 0.5:
        # Of either side everybody may be right: what is said of one may be true of the other.
        each = {name: getattr(judged, name) for name in POOLED_AGGREGATES}
        judged = replace(
            judged, **{name: np.full_like(x, POOLED_AGGREGATES[name](x)) for name, x in each.items()}
        )
    return GlobalEstimates(judged, error, mirror, doubtful, mean, told.contradicted)


def estimate_labels_and_contributors(
    rows: LabelData, fits: Sequence[RowFit], weights: Floats, shares: dict[str, float], people: bool,
    alone: Bools | None = None, around: Neighbourhood = NO_NEIGHBOURHOOD, owner: Ints | None = None,
    spared: Ints | None = None,
) -> LabelEstimates:  # fmt: skip
    """Sum up the hypotheses.

    `people`: whether contributors are known.
    `alone`, `around`: labels that rest on their contributor alone, and who others are near contributors.
    `owner`: which contributor each of those in the fit is a part of; None where all are whole.
    `spared`: who is not to be accused, see `decide`; None: nobody.
    """
    judged = estimate_contributors(
        sufficient_stats(rows, fits, weights), fits, weights, people, around, owner, spared
    )
    return replace(estimate_rows(rows, fits, weights, judged, shares, alone, owner), around=around)


def estimate_rows(
    rows: LabelData,
    fits: Sequence[RowFit],
    weights: Floats,
    judged: GlobalEstimates,
    shares: dict[str, float],
    alone: Bools | None = None,
    owner: Ints | None = None,
) -> LabelEstimates:
    """Estimate p_correct and class posteriors for the rows of a slice, given the estimates of all rows."""
    said = average_over_hypotheses(weights, [fit.truth for fit in fits])
    at, people = (np.arange(rows.n), rows.y), judged.people
    truth = np.where(gold_rows(rows)[:, None], said, judged.error.truth(said))
    if rows.shared and rows.item is not None:
        # All rows of an item share one class posterior.
        truth = pool_posteriors_by_item(truth, rows.item)[rows.item]
    p = np.clip(truth[at], 1e-9, 1 - 1e-9)
    if judged.mirror >= 0.5:
        # Equal weight per label: p_correct follows from the label counts of the item.
        p = np.full(rows.n, judged.mean)
        if rows.shared and rows.item is not None:
            truth = unweighted_posterior(rows.y, rows.item, rows.classes, judged.mean)[rows.item]
            p = np.clip(truth[at], 1e-9, 1 - 1e-9)
    alone = np.zeros(rows.n, dtype=bool) if alone is None else alone
    # Uncorroborated labels get at least the mean p_correct.
    p = np.where(alone, np.maximum(p, judged.mean), p)
    credentials = average_over_hypotheses(weights, [credential_log_odds(rows, fit) for fit in fits])
    who = rows.who if owner is None else owner[rows.who]
    return LabelEstimates(
        **decompose_log_odds(p, judged.mean, credentials, people, who),
        truth=truth,
        predicted=rows.log_p,
        shares=shares,
        wrong=noise_rate_bounds(p.sum(), (p < SURELY_WRONG).sum(), judged.contradicted, rows.n),
        alone=alone,
        mirrored=judged.mirror,
        doubtful=judged.doubtful,
    )


def contributor_verdicts(
    sums: AccuracyStats,
    types: Floats,
    vouched: Floats,
    voices: Floats,
    excused: Floats,
    rate: CollectiveErrorPosterior,
    around: Neighbourhood,
    spared: Ints | None,
    alone: bool = False,
) -> tuple[ContributorEstimates, float, Floats]:
    """Verdicts, the probability that those who contradict the others are right, and who contradicts them.

    `excused`: labels that nothing but predictions speaks of, and these against: whether classes overlap there
    or all err nobody can tell, so that intervals go down to all of them being wrong.
    `alone`: no predictions tell what is right: of two people who differ either may be the one who guesses.
    """
    found = worth.accuracy_posterior(sums, types[:, 0], vouched, around.nearby)
    # Who looks, and is right less often than by chance, has another answer.
    below = (found.right * (found.guessed[:, None] > ACCURACY_GRID)).sum(axis=1)
    against = (below * (1 - types[:, 1]) > 0.5).astype(np.float64)
    if alone:
        rest = np.square(voices.sum() - voices) < 2 * (np.square(voices).sum() - np.square(voices))
        against[rest & (types[:, 0] < 0.5)] = 1.0
    # Known labels tell which of two sides is right.
    open_ = sums.known.sum() < verdicts.MIN_ROWS_TO_FLAG
    alike = bool(open_) and verdicts.errors_are_concentrated(sums.confused, against)
    mirror = verdicts.p_minority_correct(against, voices, alike)
    stands = worth.adjust_for_collective_error(found, rate, len(sums.share))
    drawn = worth.adjust_for_collective_error(
        found._replace(right=found.drawn), rate, len(sums.share), these=True
    ).posterior()
    # What is known of enough of somebody's rows needs nobody near.
    covered = None if around.covered is None else around.covered | (sums.known >= verdicts.MIN_ROWS_TO_FLAG)
    judged = verdicts_from_posterior(
        found, stands, drawn, types[:, 1] > types[:, 2], covered, mirror, spared=spared
    )
    excess = np.maximum(excused, 0.0) / np.maximum(found.rows, 1)
    low, high = np.maximum(judged.low - excess, 0.0), judged.high
    if around.nearby is not None:
        # Where others look less right as well, it may be predictions that are wrong.
        high = np.minimum(high / around.nearby, 1.0)
    kappa_low, kappa_high = kappa_of(low, found.guessed), kappa_of(high, found.guessed)
    judged = replace(judged, low=low, high=high, reliability_low=kappa_low, reliability_high=kappa_high)
    return judged, mirror, against


def _sum_over_parts(
    sums: AccuracyStats, types: Floats, vouched: Floats, owner: Ints
) -> tuple[AccuracyStats, Floats, Floats]:
    """Sum the statistics of the periods of each contributor."""
    count = int(owner.max()) + 1

    def added(part: Floats) -> Floats:
        out = np.zeros((count, *part.shape[1:]))
        np.add.at(out, owner, part)
        return out

    rows = sums.rows.sum(axis=1)
    share = rows / np.maximum(added(rows)[owner], 1e-9)
    named = {
        name: added(getattr(sums, name)) for name in ("logs", "rows", "right", "given", "known", "confused")
    }
    whole = sums._replace(**named)
    return whole, added(types * share[:, None]), added(vouched * share)


def _use_latest_period(
    judged: ContributorEstimates, parts: ContributorEstimates, owner: Ints
) -> ContributorEstimates:
    """Take verdict and kappa of contributors with a change point from their last period.

    Their accuracy remains that of all rows.
    """
    words, late = list(judged.verdict), np.arange(len(judged.verdict), len(owner))
    for part in late:
        words[owner[part]] = parts.verdict[part]
    names = ("reliability", "reliability_low", "reliability_high", "expected", "settled_by")
    after = {name: getattr(judged, name).copy() for name in names}
    for name, values in after.items():
        values[owner[late]] = getattr(parts, name)[late]
    return replace(judged, verdict=words, **after)


def verdicts_from_posterior(
    found: AccuracyPosterior,
    stands: AccuracyAtErrorRates,
    shares: Floats,
    blind: Bools,
    covered: Bools | None,
    mirror: float,
    against: Floats | None = None,
    spared: Ints | None = None,
) -> ContributorEstimates:
    """Verdicts on contributors whose labels are worth so much, beside what others have on comparable rows."""
    guessed = found.guessed
    above = stands.expected - guessed[:, None]
    chances = verdicts.VerdictProbabilities(
        stands.below(guessed + worth.GUESSING_KAPPA * (1 - guessed)),
        stands.below(guessed) if against is None else against,
        stands.below(guessed[:, None] + verdicts.MIN_RELATIVE_KAPPA * above),
        found.rows,
    )
    # Of who is alone so many rows must be known that nobody else is needed.
    lacking = verdicts.MIN_ROWS_TO_FLAG - np.rint(found.known * found.rows).astype(np.int64)
    # Who is the only one cannot be compared with anybody, but with what is known.
    compared = (lacking <= 0) | (len(guessed) > 1)
    covered = compared if covered is None else covered & compared
    words, false = verdicts.assign_verdicts(chances, blind, covered, mirror, spared)
    mean, (low, high) = shares @ ACCURACY_GRID, worth.hpd_interval(shares)
    kappa, kappa_low, kappa_high = (kappa_of(x, guessed) for x in (mean, low, high))
    settled = np.maximum(_true_labels_needed(found, words), np.where(covered, 0, lacking))
    rest = stands.usual(), *_equivalent_counts(found), settled, false
    return ContributorEstimates(words, mean, low, high, kappa, kappa_low, kappa_high, *rest)


def kappa_of(right: Floats, guessed: Floats) -> Floats:
    """Compute kappa = (accuracy - chance) / (1 - chance), at least -1; at most 0 if chance accuracy is 1."""
    room = np.where(guessed < 1 - 1e-9, 1 - guessed, np.inf)
    return np.asarray(np.maximum((right - guessed) / room, -1.0))


def _equivalent_counts(found: AccuracyPosterior) -> tuple[Floats, Floats]:
    """Right and wrong labels that what rows say is as good as, what is known of people left aside."""
    mean = found.alone @ ACCURACY_GRID
    spread = np.maximum(found.alone @ ACCURACY_GRID**2 - mean**2, 1e-6)
    # No more than there are rows, beside the one of each that a flat start counts as.
    size = np.clip(mean * (1 - mean) / spread - 1, 2.0, found.rows + 2)
    return np.maximum(mean * size - 1, 0.0), np.maximum((1 - mean) * size - 1, 0.0)


def _true_labels_needed(found: AccuracyPosterior, words: list[str]) -> Ints:
    """Number of true labels required for a verdict of each inconclusive contributor.

    The number suffices for at least 95% of the posterior quantiles of its accuracy.
    """
    out = np.zeros(len(words), dtype=np.int64)
    running = np.cumsum(found.right, axis=1)
    for k in np.flatnonzero([word == INCONCLUSIVE for word in words]):
        above = max(float(found.expected[k] - found.guessed[k]), 0.0)
        limit = found.guessed[k] + verdicts.MIN_RELATIVE_KAPPA * above
        rates = ACCURACY_GRID[
            np.minimum((running[k] < POSTERIOR_QUANTILES[:, None]).sum(axis=1), len(ACCURACY_GRID) - 1)
        ]
        logs = rates[:, None] * np.log(ACCURACY_GRID) + (1 - rates[:, None]) * np.log1p(-ACCURACY_GRID)
        tried = np.unique(np.geomspace(1, max(10 * found.rows[k], 1000), 60).astype(np.int64))
        out[k] = tried[-1]
        for many in tried:
            # A true label replaces the previous likelihood of its row.
            left = max(1 - many / found.rows[k], 0.0) * np.log(found.alone[k] + 1e-300)
            after = special.softmax(many * logs + left + np.log(found.prior[k] + 1e-300), axis=1)
            less = after[:, limit > ACCURACY_GRID].sum(axis=1)
            if (
                np.mean((less <= 1 - verdicts.RELIABLE_PROBABILITY) | (less >= verdicts.FLAG_PROBABILITY))
                >= verdicts.FLAG_PROBABILITY
            ):
                out[k] = many
                break
    return out


def credential_log_odds(rows: LabelData, fit: RowFit) -> Floats:
    """Log-odds of a correct label contributed by the credentials of the row and of its contributor."""
    params = fit.params
    return np.asarray(rows.features @ params.worth - (params.means @ params.strange_worth)[rows.who])


def noise_rate_bounds(right: float, surely: int, contradicted: int, rows: int) -> Estimate:
    """Estimate the label error rate with bounds.

    The lower bound counts labels that are certainly wrong, the upper bound labels that all other information
    contradicts.
    """
    mean = 1 - float(right) / rows
    return Estimate(mean, min(float(surely) / rows, mean), max(float(contradicted) / rows, mean))
