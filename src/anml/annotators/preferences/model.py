"""People who compare two candidates at a time, ties allowed: scores of the candidates, and kinds of people.

Candidate i has a score s_i ~ N(0, spread), around a line of its features where these are given. Somebody
who is shown i first and j second feels the pull
    f = c (s_i - s_j) + b + e_i - e_j,
with a discrimination c (1 is usual), a side b and a taste e of its own, and answers by Davidson's law. All
that is personal is Gaussian, so the pulls of one person are one Gaussian vector; what people differ by is
learned from all of them, and where they do not differ this is Bradley and Terry's model.

Nobody vouches for itself: differences of scores, and what is uncertain about them, are those without the
person's own comparisons (exactly, by Woodbury's identity). Kinds of people are compared by how well they
explain all that a person chose.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from scipy import special

from anml.annotators.preferences.candidates import ComparisonGraph, PairScores
from anml.annotators.preferences.davidson import NO_TIES, TIE, choice_probabilities, slope_and_curvature
from anml.annotators.preferences.kinds import (
    ANNOTATOR_TYPES,
    RELIABLE_TYPE,
    PairBatch,
    PairParams,
    paired_candidates,
)
from anml.annotators.preferences.kinds import make_batches as made_batches
from anml.core.checks import Floats, Ints

MAX_ITERATIONS = 8
# Rounds in which kinds are compared; in the others everybody's kind stays.
TYPE_UPDATE_ROUNDS = (1, 4)
# The prior shares of the kinds count as so many people, and prior variances as so many.
TYPE_PRIOR_STRENGTH, VARIANCE_PRIOR_STRENGTH = 10.0, 4.0
# Variance of the common side before anything is seen.
POSITION_BIAS_VARIANCE = 0.09


@dataclass(frozen=True, eq=False)
class PairFit:
    """All that was found: `kinds` are probabilities (people, kinds) in the order of `KINDS`."""

    net: ComparisonGraph
    scores: PairScores
    params: PairParams
    kinds: Floats
    shares: Floats
    batches: list[PairBatch]
    choice: Ints
    who: Ints


def fit_pairs(
    first: Ints,
    second: Ints,
    choice: Ints,
    who: Ints,
    rounds: int = MAX_ITERATIONS,
    features: Floats | None = None,
) -> PairFit:
    """Fit the model to comparisons: codes of candidates and people, choices 0 first, 1 second, 2 tie.

    `features` are numbers (candidates, columns) that scores may follow.
    """
    count = int(max(first.max(), second.max())) + 1 if features is None else len(features)
    people = int(who.max()) + 1
    net = ComparisonGraph.of(first, second, count, features)
    params, scores = bradley_terry(net, first, second, choice)
    params = replace(params, tastes=0.1 * params.spread, ties=1.0 * bool((choice == TIE).any()))
    batches = [*made_batches(first, second, choice, who, params, scores)]
    prior = np.array([kind.share for kind in ANNOTATOR_TYPES.values()])
    kinds, shares = np.tile(prior, (people, 1)), prior
    for step in range(rounds):
        last = step == rounds - 1
        names = [*ANNOTATOR_TYPES] if step in TYPE_UPDATE_ROUNDS or last else ["careful"]
        for batch in batches:
            batch.fit(names, params, batch.leave_out(net, scores))
        if len(names) > 1:
            kinds, shares = _update_types(batches, people, prior, shares)
        if not last:
            careful = kinds[:, RELIABLE_TYPE]
            params = _update_variances(batches, careful, params)
            for batch in batches:
                batch.told = careful[batch.owner], params
            scores = _scores(net, ((batch.i, batch.j, *batch.known(net)) for batch in batches), params)
            params = _score_variances(net, scores, params)
    return PairFit(net, scores, params, kinds, shares, batches, choice, who)


def bradley_terry(
    net: ComparisonGraph, first: Ints, second: Ints, choice: Ints, rounds: int = 15
) -> tuple[PairParams, PairScores]:
    """Scores where nothing is personal: the start, and what the model must be better than."""
    share = float((choice == TIE).mean())
    tie = float(np.log(share / (1 - share + 1e-9) + 1e-9)) + 0.5 if share else NO_TIES
    params, d = PairParams(1.0, tie=tie), np.zeros(len(first))
    for _ in range(rounds):
        slope, curvature = slope_and_curvature(choice_probabilities(d + params.side, params.tie), choice)
        moved = (slope.sum() - params.side / POSITION_BIAS_VARIANCE) / (
            curvature.sum() + 1 / POSITION_BIAS_VARIANCE
        )
        params = replace(params, side=params.side + float(moved))
        slope, curvature = slope_and_curvature(choice_probabilities(d + params.side, params.tie), choice)
        # As if each were another person's.
        alone = first[:, None], second[:, None], curvature[:, None, None], (curvature * d + slope)[:, None]
        scores = _scores(net, [alone], params)
        d = scores.mean[first] - scores.mean[second]
        if share:
            p = choice_probabilities(d + params.side, params.tie)[TIE]
            step = np.clip(((choice == TIE) - p).sum() / (p * (1 - p)).sum(), -1, 1)
            params = replace(params, tie=params.tie + float(step))
        params = _score_variances(net, scores, params)
    return params, scores


def _score_variances(net: ComparisonGraph, scores: PairScores, params: PairParams) -> PairParams:
    """Variances of the scores, of the features' line and beside it, by MacKay's fixed point."""
    own = scores.mean - net.features @ scores.line
    beside = scores._replace(lines=scores.lines - net.features @ scores.doubt)
    free = max(len(own) - net.variance(beside).sum() / params.spread, 0.5)
    found = len(scores.line) - np.square(scores.doubt).sum() / params.told
    return replace(
        params,
        spread=float(np.clip((own @ own + 1) / (free + 1), 0.01, 50.0)),
        told=float(np.clip(scores.line @ scores.line / max(found, 0.5), 1e-6, 50.0)),
    )


def _scores(
    net: ComparisonGraph, said: Iterable[tuple[Ints, Ints, Floats, Floats]], params: PairParams
) -> PairScores:
    """Scores by candidates, precision of every two comparisons of a person, and that times the mean."""
    total, pulled = np.zeros(net.cells), np.zeros(len(net.part))
    for i, j, precision, pull in said:
        net.add(total, precision.ravel(), *(codes.ravel() for codes in paired_candidates(i, j)))
        for codes, sign in ((i, 1.0), (j, -1.0)):
            pulled += np.bincount(codes.ravel(), sign * pull.ravel(), len(pulled))
    return net.solve(total, pulled, params.spread, params.told)


def _update_types(
    batches: list[PairBatch], people: int, prior: Floats, shares: Floats
) -> tuple[Floats, Floats]:
    """Probabilities of the kinds of each person, and how many people are of which, learned together."""
    evidence = np.zeros((people, len(ANNOTATOR_TYPES)))
    for batch in batches:
        for at, name in enumerate(ANNOTATOR_TYPES):
            np.add.at(evidence[:, at], batch.owner, batch.fits[name].evidence)
    for _ in range(30):
        kinds = special.softmax(evidence + np.log(shares), axis=1)
        shares = (kinds.sum(axis=0) + TYPE_PRIOR_STRENGTH * prior) / (people + TYPE_PRIOR_STRENGTH)
    return kinds, shares


def _update_variances(batches: list[PairBatch], careful: Floats, params: PairParams) -> PairParams:
    """Update the variances of the population from careful annotators: one EM step for each variance."""
    total: dict[str, float] = defaultdict(lambda: 1e-12)
    for batch in batches:
        for name, values in batch.moments.items():
            total[name] += float((careful[batch.owner] * values).sum())
    tie, ties = params.tie, params.ties
    if params.ties:
        tie += total["tie"] / max(total["tied"], 1.0)
        ties = _variance(1.0, total["ties"], total["tied"], 1.0, 9.0)
    grow = np.clip(total["taste"] / total["tastes"], 0.3, 3.0)
    # The mean slope is 1: where all discriminate more, the scores lie further apart.
    stretch = np.clip(1 + total["pull"] / (total["pulled"] + 2), 0.7, 1.4) ** 2
    return PairParams(
        spread=float(np.clip(params.spread * stretch, 0.01, 50.0)),
        # Without these bounds the slopes diverge if many annotators have individual tastes.
        slopes=_variance(params.slopes, total["slopes"], total["pulled"], 0.08, 0.3),
        sides=_variance(params.sides, total["sides"], total["sided"], 0.02, 2.0),
        tastes=float(np.clip(params.tastes * grow, 1e-5, 4 * params.spread)),
        side=params.side
        + (total["side"] - params.side / POSITION_BIAS_VARIANCE)
        / (total["sided"] + 1 / POSITION_BIAS_VARIANCE),
        tie=tie,
        ties=ties,
        told=float(np.clip(params.told * stretch, 1e-6, 50.0)),
    )


def _variance(now: float, squares: float, known: float, prior: float, most: float) -> float:
    """MacKay's fixed point: squares of what is found, by how far it was found and is not the prior."""
    total = now**2 * squares + VARIANCE_PRIOR_STRENGTH * prior
    return float(np.clip(total / (now * known + VARIANCE_PRIOR_STRENGTH), 0.001, most))
