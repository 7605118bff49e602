"""Real crowds whose truth is known: what is said of people and items, beside what they are."""

from collections.abc import Callable
from functools import partial

import numpy as np
from scipy import stats

from anml.annotators.consensus import pool_posteriors_by_item
from anml.annotators.words import FLAGGED, RELIABLE, VERDICTS
from anml.core.checks import Bools, Floats, Ints, as_codes
from experiments.belief import run_assessment
from experiments.crowds_table.peers import fit_crowdkit
from experiments.crowds_table.read import Crowd
from experiments.data import crowd_of, load_contributed
from experiments.measures import (
    FLAGGED_OR_BELOW,
    Measured,
    Outcome,
    count_verdicts,
    of_items,
    percent,
    run_methods,
)
from experiments.seen import Case, GroundTruth, MethodInput
from experiments.spec import Found, TrialContext

CROWDS = ("dogs", "companies", "music_genre", "weather_sentiment")
MIN_ROWS = 10


def load_crowd(name: str) -> Case:
    """Read a crowd from the folder of data sets; there are no features where they tell little."""
    if name in ("dogs", "companies"):
        frame = crowd_of(name)
        label, truth, contributors, item = (
            frame[c].to_numpy() for c in ("label", "truth", "contributor", "item")
        )
        x = np.zeros((len(frame), 0))
    else:
        data = load_contributed(name, np.random.default_rng(0))
        label, truth, contributors, item = data.seen.y, data.truth.y, data.seen.contributor, data.seen.item
        # Words of a tweet tell little beside twenty labels, and cost much.
        x = data.seen.x if name == "music_genre" else np.zeros((len(label), 0))
    classes, codes = np.unique(np.concatenate([label, truth]).astype(str), return_inverse=True)
    items = as_codes("item", item, len(label))[0]
    inputs = MethodInput(x, codes[: len(label)], len(classes), contributors.astype(str), items)
    return Case(inputs, GroundTruth(y=codes[len(label) :]))


def right_of(case: Case) -> Ints:
    """The right label of each item."""
    return np.asarray(case.truth.y[np.unique(case.seen.item, return_index=True)[1]])


def of_evidence(case: Case, known: int = 0) -> Outcome:
    """Ours, with so many items whose truth is told."""
    item = case.seen.item
    given = np.random.default_rng(case.seen.seed).permutation(int(item.max()) + 1)[:known]
    truth = np.where(np.isin(item, given), case.truth.y, -1) if known else None
    result = run_assessment(case.seen, truth=truth).belief
    people = result.contributors
    assert people is not None
    posterior, verdict = pool_posteriors_by_item(result.truth, item), np.array(people.verdict)
    return Outcome(posterior=posterior, verdict=verdict, low=people.low, high=people.high, told=given)


def of_crowdkit(name: str, case: Case) -> Outcome:
    """An aggregation of crowd-kit."""
    inputs = case.seen
    classes = tuple(map(str, range(inputs.classes)))
    return Outcome(
        posterior=fit_crowdkit(name, Crowd("", inputs.item, inputs.who, inputs.y, right_of(case), classes))
    )


METHODS: dict[str, Callable[[Case], Outcome]] = {
    "anml": of_evidence,
    "anml, 50 known": partial(of_evidence, known=50),
    "majority vote": partial(of_crowdkit, "MajorityVote"),
    "Dawid-Skene": partial(of_crowdkit, "DawidSkene"),
    "GLAD": partial(of_crowdkit, "GLAD"),
    "MACE": partial(of_crowdkit, "MACE"),
}


def run_trial(at: TrialContext, methods: list[str]) -> Found:
    """Rows of the methods on one crowd."""
    case = load_crowd(at.setting.dataset).seeded(int(at.rng("known").integers(2**31)))
    return run_methods(methods, lambda method: METHODS[method](case), partial(measures, case))


def measures(case: Case, answer: Outcome) -> Measured:
    """Measure the accuracy of the consensus, and verdicts against true accuracy if there are any."""
    result = of_items(answer, right_of(case))
    if answer.verdict is None or answer.low is None or answer.high is None:
        return result
    fine, bad, accuracy, rows = true_groups(case)
    large, width = rows >= MIN_ROWS, answer.high - answer.low
    covered = (accuracy >= answer.low) & (accuracy <= answer.high)
    return result | {"cover": percent(covered[large]), "width": float(width[large].mean())} | count_verdicts(
        answer.verdict, {
            "fine": (fine, VERDICTS), "fine_accused": (fine, FLAGGED), "fine_reliable": (fine, [RELIABLE]),
            "bad": (bad, VERDICTS), "bad_found": (bad, FLAGGED_OR_BELOW), "bad_reliable": (bad, [RELIABLE]),
        })  # fmt: skip


def true_groups(case: Case) -> tuple[Bools, Bools, Floats, Ints]:
    """Return masks of truly fine and truly bad contributors, their true accuracies and label counts.

    Fine: kappa above 0.30 with 90% probability. Bad: kappa below 0.15 with 95%, with ten labels or more.
    """
    inputs, rows, right = case.seen, case.seen.rows, np.bincount(case.seen.who, case.right)
    items = right_of(case)
    share = np.bincount(items, minlength=inputs.classes) / len(items)
    given = np.zeros((len(rows), inputs.classes))
    np.add.at(given, (inputs.who, inputs.y), 1.0)
    guessed = given @ share / rows
    above, below = (guessed + limit * (1 - guessed) for limit in (0.30, 0.15))
    fine = stats.beta.sf(above, right + 1, rows - right + 1) > 0.9
    bad = stats.beta.cdf(below, right + 1, rows - right + 1) > 0.95
    large = rows >= MIN_ROWS
    return np.asarray(fine & large), np.asarray(bad & large), np.asarray(right / rows), rows
