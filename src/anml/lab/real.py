"""Real contributors: every method sees features, labels and who gave them; truth is for scoring only."""

from functools import partial
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from anml.core.calibration import in_columns, ranking, reliability
from anml.core.combine import correlation
from anml.core.domain import Recipe
from anml.lab.cases import stream
from anml.lab.contributed import Contributed, load_contributed
from anml.lab.peers import PEERS, PeerAnswer, learner
from anml.lab.spec import At, Experiment, Found, timed

# How many labels a contributor must have given for its true accuracy to mean much.
ENOUGH = 20
MEASURES = ("accuracy", "correlation", "ranks", "calibration", "gap", "ranking")


def run_trial(at: At, methods: list[str]) -> Found:
    """Rows of the methods that apply to a set of contributions."""
    dataset = at.setting.dataset
    data = load_contributed(dataset, stream(at.experiment.seed, at.trial, "labels", dataset))
    seed = int(stream(at.experiment.seed, at.trial, "network", dataset).integers(2**31))
    for method in methods:
        answer, seconds = timed(partial(_answer, at.experiment, method, data, seed))
        if answer is not None:
            yield method, {**measures(data, answer), "seconds": seconds}


def _answer(experiment: Experiment, method: str, data: Contributed, seed: int) -> PeerAnswer | None:
    if method in experiment.methods:
        return with_recipe(data, experiment.methods[method], seed)
    return PEERS[method](data, seed)


def with_recipe(data: Contributed, recipe: Recipe, seed: int) -> PeerAnswer:
    """Train through the public estimator."""
    from anml.adapters.sklearn.estimators import AnmlClassifier

    model = AnmlClassifier(learner(), recipe=recipe, random_state=seed)
    model.fit(data.x, data.label, contributor=data.contributor, item=data.item)
    predicted, found = model.predict(data.x_test), model.contributors_
    if recipe.combine != "evidence" or found is None:  # others make no claim about labels
        return PeerAnswer(predicted)
    return PeerAnswer(predicted, dict(found.select("contributor", "quality").iter_rows()), model.p_correct_)


def measures(data: Contributed, answer: PeerAnswer) -> dict[str, float]:
    """How good the model is, and how well contributors and labels were judged; NaN where not known."""
    found = dict.fromkeys(MEASURES, float("nan"))
    found["accuracy"] = 100 * float((answer.predicted == data.y_test).mean())
    if data.truth is None:
        return found
    right = np.asarray(data.label == data.truth)
    if answer.quality is not None:
        found |= _judged(data.contributor, right, answer.quality)
    if answer.p_correct is not None:
        bins = reliability(answer.p_correct, right)
        found |= {"calibration": bins.error, "gap": bins.gap, "ranking": ranking(answer.p_correct, right)}
        found |= in_columns(bins)
    return found


def _judged(contributor: Any, right: Any, quality: dict[str, float]) -> dict[str, float]:
    """Learned quality against true accuracy: correlation where labels are enough, and ranks of all."""
    names, codes, counts = np.unique(contributor, return_inverse=True, return_counts=True)
    true = np.bincount(codes, right) / counts
    learned = np.array([quality[str(name)] for name in names])
    enough = counts >= ENOUGH
    linear = correlation(learned[enough], true[enough])
    ranks = float(spearmanr(learned, true).statistic) if np.ptp(learned) > 0 else float("nan")
    return {"correlation": float("nan") if linear is None else linear, "ranks": ranks}
