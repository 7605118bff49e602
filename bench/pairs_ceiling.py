"""Upper bound of the number of unreliable annotators that can be found.

Run `python bench/pairs_ceiling.py [TRIALS]`, with ANML_DATA set. Sessions are those of
`python -m experiments run pairs`, for all arguments at once. The bound is a test that uses information
unknown in practice: the scores before annotators were replaced, the number of annotators of each kind, and
the choice model of each kind. It flags by the same rule (a false discovery rate of 1%, ten comparisons).
`side unknown` uses all of this except the preferred answer of biased annotators and its rate.
"""

import sys
from collections import Counter
from pathlib import Path

import numpy as np
from scipy import special

from anml.annotators.preferences.davidson import FIRST, NO_TIES, SECOND, TIE, laplace
from anml.annotators.preferences.kinds import ANNOTATOR_TYPES, constant_answer_log_likelihood
from anml.annotators.preferences.model import fit_pairs
from anml.annotators.verdicts import MIN_ROWS_TO_FLAG, bayesian_fdr_set
from anml.annotators.words import FLAGGED
from anml.assessment.preferences import estimate_preferences

# Experiments are no part of the package that is installed.
sys.path.insert(0, str(Path(__file__).parents[1]))
from experiments.pairs import INFORMED_REVERSED, SESSIONS, load_pairs, with_bad_judges
from experiments.spec import random_stream

MADE = ("", "reversed", "taste", "coin", "first")
BINS = ((10, 14), (15, 19), (20, 29), (30, 10**6))


def evidence(clean, choice, ties, count):
    """Log-probability of everybody's choices by those who know the scores, one column for each of `MADE`.

    The last column is somebody with one answer, whichever that is.
    """
    result, params = np.zeros((count, len(MADE) + 1)), clean.params
    no_tie = np.log((1 - ties) / 2)
    for batch in clean.batches:
        given, used = choice[batch.rows], batch.used
        tied = (given == TIE) & used
        law = (params.tie, params.ties)
        own = batch.own(ANNOTATOR_TYPES["careful"], params, batch.shared)
        mean, turned = (params.side + batch.d) * used, np.where(given == TIE, TIE, 1 - given)
        called = (tied * np.log(ties + 1e-12) + (used & ~tied) * np.log(1 - ties)).sum(axis=1)
        taste = laplace(np.where(tied, FIRST, given), used & ~tied, 0 * mean, 4 * batch.shared, NO_TIES, 0.0)
        coin = (tied * np.log(ties + 1e-12) + (used & ~tied) * no_tie).sum(axis=1)
        side = np.select([given == FIRST, given == SECOND], [np.log(0.97), np.log(0.03)], -50.0)
        columns = (
            laplace(given, used, mean, own, *law).evidence,
            laplace(turned, used, mean, own, *law).evidence,
            taste.evidence + called,
            coin,
            (side * used).sum(axis=1),
            constant_answer_log_likelihood(given, used, ties > 0),
        )
        for at, values in enumerate(columns):
            np.add.at(result[:, at], batch.owner, values)
    return result


def accused_by(result, made, enough):
    """Return the annotators flagged by a test that uses the number of annotators of each kind."""
    count = [(enough & np.isin(made, ["", "copies"])).sum(), *((made == kind).sum() for kind in MADE[1:])]
    shares = np.log(np.maximum(count, 0.5) / enough.sum())
    p = special.softmax(result + shares, axis=1)
    return bayesian_fdr_set(p[:, [1, 3, 4]].sum(axis=1) * enough)


def main(trials):
    total = Counter()
    for name in SESSIONS:
        if name == "arguments":
            continue
        session = load_pairs(name)
        inputs = session.seen
        clean = fit_pairs(*inputs.x.T, inputs.y, inputs.contributor)
        people, rows = len(clean.kinds), inputs.rows
        for trial in range(trials):
            bad = with_bad_judges(session, random_stream(0, trial, "planted", name))
            words = estimate_preferences(*bad.seen.x.T, bad.seen.y, (0, 1, 2), bad.seen.contributor)[1].words
            planted_as, choice = bad.seen.of_person(bad.truth.group)[:people], bad.seen.y[: len(inputs.y)]
            made = np.char.partition(planted_as, ",")[:, 0]
            known = evidence(clean, choice, float((inputs.y == TIE).mean()), people)
            enough = rows >= MIN_ROWS_TO_FLAG
            by = {
                "anml": np.isin(words[:people], FLAGGED),
                "side unknown": accused_by(known[:, [0, 1, 2, 3, 5]], made, enough),
                "ceiling": accused_by(known[:, :5], made, enough),
            }
            kinds = {
                "always first": made == "first",
                "the worse": planted_as == INFORMED_REVERSED,
                "honest": enough & (made == ""),
            }
            for kind, contributors in kinds.items():
                for low, high in BINS:
                    here = contributors & (rows >= low) & (rows <= high)
                    total[kind, low, "all"] += here.sum()
                    for test, accused in by.items():
                        total[kind, low, test] += (here & accused).sum()
        print(name, flush=True)
    for kind in ("always first", "the worse", "honest"):
        for low, _ in (*BINS, (0, 0)):
            cells = [
                sum(total[kind, at, test] for at, _ in BINS if low in (0, at))
                for test in ("all", "anml", "side unknown", "ceiling")
            ]
            print(kind, f"{low} or more" if low in (0, 30) else low, *cells, sep="\t")


main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
