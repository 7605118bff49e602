"""Rows of the bank, one per condition, method and seed: errors of final models, and what was found.

What was found is of labels and of contributors.
"""

import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold, StratifiedGroupKFold, StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from anml.adapters.sklearn.fitting import fit_weighted
from anml.assess.assess import Assessment
from anml.core.checks import Array, Floats
from anml.core.domain import Recipe
from anml.core.people.words import ACCUSED, CONTRADICTS, RELIABLE, UNSURE, VERDICTS
from anml.core.signals.reputation import ColdStart
from anml.core.weigh import RECIPES, training_labels, weigh_signals, with_every_class
from anml.lab.bank.conditions import make_condition
from anml.lab.belief import assessed
from anml.lab.measures import (
    FOUND,
    Measured,
    Outcome,
    Predict,
    called,
    in_unit,
    of_labels,
    of_test,
    side_by_side,
)
from anml.lab.real import FOLDS, needed
from anml.lab.seen import Case, Seen
from anml.lab.spec import At, Experiment, Found, timed

# How many standard errors below all others together a contributor's agreement may lie.
STANDARD_ERRORS = 3.5


def cleanlab(seen: Seen) -> Outcome | None:
    """Drop what cleanlab finds by confident learning, on held-out probabilities of a forest; classes only."""
    if seen.numeric:
        return None
    _, codes = np.unique(seen.y, return_inverse=True)
    chances = held_out(seen)
    found = needed("cleanlab.filter", "cleanlab").find_label_issues(codes, chances, n_jobs=1)
    kept = ~np.asarray(found, dtype=np.bool_)
    return Outcome(train=_on_rows(seen, kept), kept=kept, score=chances[np.arange(len(codes)), codes])


def zdrop(seen: Seen) -> Outcome:
    """Drop contributors who agree with a held-out forest far less than all do, by standard errors.

    A class agrees or does not; a number agrees the better the nearer it is to the forest's.
    """
    predicted = held_out(seen)
    if seen.numeric:
        agrees = -np.abs(predicted - seen.y)
    else:
        agrees = (predicted.argmax(axis=1) == np.unique(seen.y, return_inverse=True)[1]).astype(float)
    mean, error = seen.mean(agrees), agrees.std() / np.sqrt(seen.rows)
    dropped = mean < agrees.mean() - STANDARD_ERRORS * error
    kept = ~dropped[seen.who]
    verdict = np.where(dropped, CONTRADICTS, UNSURE)
    return Outcome(train=_on_rows(seen, kept), kept=kept, score=in_unit(mean)[seen.who], verdict=verdict)


def oracle(case: Case) -> Outcome:
    """Train on the right labels, and on rows as they were before an attack: the bound."""
    return Outcome(train=lambda learner: learner.fit(*case.bound))


def held_out(seen: Seen) -> Floats:
    """Out-of-fold predictions of a forest, labels of a thing in one fold: chances of classes, or numbers."""
    if seen.numeric:
        forest, folds, method = RandomForestRegressor, KFold, "predict"
    else:
        folds = StratifiedKFold if seen.item is None else StratifiedGroupKFold
        forest, method = RandomForestClassifier, "predict_proba"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of classes with fewer rows than folds
        found = cross_val_predict(
            forest(random_state=seen.seed), seen.x, seen.y, groups=seen.item, method=method,
            cv=folds(FOLDS, shuffle=True, random_state=seen.seed),
        )  # fmt: skip
    return np.asarray(found, dtype=np.float64)


def _on_rows(seen: Seen, kept: Array) -> Callable[[Any], Any]:
    return lambda learner: learner.fit(seen.x[kept], seen.y[kept])


BLIND: dict[str, Callable[[Seen], Outcome | None]] = {"cleanlab": cleanlab, "zdrop": zdrop}
TOLD: dict[str, Callable[[Case], Outcome]] = {"oracle": oracle}
PEERS = (*BLIND, *TOLD)

# Trees of the final forests.
TREES = 40
LEARNERS = ("lr", "rf")


def learner(name: str, numeric: bool, seed: int) -> Any:
    """The final models: a linear one on standardised features (`lr`), and a forest (`rf`)."""
    if name == "rf":
        return (RandomForestRegressor if numeric else RandomForestClassifier)(TREES, random_state=seed)
    return make_pipeline(StandardScaler(), Ridge() if numeric else LogisticRegression(max_iter=1_000))


def measures(case: Case, answer: Outcome) -> Measured:
    """Errors of the final models, what is done with labels, and what is said of people."""
    found, bad = of_labels(case, answer), case.bad
    for name in LEARNERS:
        final = of_test(case, _final(case.seen, answer, name))
        found |= {f"{measure}_{name}": value for measure, value in final.items()}
    verdict = np.full(len(bad), UNSURE) if answer.verdict is None else answer.verdict
    return found | called(verdict, {
        "honest": (~bad, VERDICTS), "honest_convicted": (~bad, ACCUSED),
        "honest_reliable": (~bad, [RELIABLE]), "liars": (bad, VERDICTS), "liars_found": (bad, FOUND),
        "liars_reliable": (bad, [RELIABLE]),
    })  # fmt: skip


def _final(seen: Seen, answer: Outcome, name: str) -> Predict:
    """A final model; where one class is left it is predicted, as not every estimator takes a single one."""
    left = np.unique(seen.y if answer.kept is None else seen.y[answer.kept])
    if len(left) == 1:
        return lambda x: np.full(len(x), left[0])
    assert answer.train is not None
    model = answer.train(learner(name, seen.numeric, seen.seed))
    return lambda x: np.asarray(model.predict(x))


def run_trial(at: At, methods: list[str]) -> Found:
    """Rows of the methods that apply to a condition; the seed decides it, every method and every model."""
    case = make_condition(at.setting.dataset, at.seed)
    return side_by_side(methods, partial(decided, at.experiment, case), partial(measures, case))


def decided(experiment: Experiment, case: Case, method: str) -> Outcome | None:
    """What a method makes of a condition, of which only the oracle sees the truth."""
    if method in experiment.methods:
        return weighed(case.seen, experiment.methods[method])
    return BLIND[method](case.seen) if method in BLIND else TOLD[method](case)


def weighed(seen: Seen, recipe: Recipe) -> Outcome:
    """Weigh the rows as `AnmlClassifier` and `AnmlRegressor` do, and train as they would."""
    # Only where the belief decides may a recipe leave evidence out.
    evidence = recipe.combine == "evidence"
    found, seconds = judged(seen, recipe.use if evidence else Recipe().use)
    weighting, belief = weigh_signals(found.signals, recipe), found.belief
    if seen.numeric:
        training = training_labels(weighting, found.signals, seen.y, belief.truth, "regression")
    else:
        weighting = with_every_class(weighting, seen.y, belief.p_correct)
        names, codes = np.unique(seen.y, return_inverse=True)
        training = training_labels(weighting, found.signals, codes, belief.truth, "classification")
        training = training and training._replace(y=names[training.y])

    def train(learner: object) -> object:
        rng = np.random.default_rng(seen.seed)
        return fit_weighted(learner, seen.x, seen.y, weighting, rng, training)

    answer = Outcome(train=train, kept=weighting.kept, seconds=seconds)
    if evidence:
        p_correct, people = belief.p_correct, belief.contributors
        verdict = None if people is None else seen.by_name(people.verdict)
        return replace(answer, p_correct=p_correct, verdict=verdict)
    return replace(answer, score=None if recipe.combine == "uniform" else weighting.w)


@lru_cache(maxsize=1)
def judged(seen: Seen, use: tuple[str, ...]) -> tuple[Assessment, float]:
    """One assessment of the rows for all recipes, with the estimators' defaults, and the time it took.

    No label is out of date.
    """
    if not seen.numeric:
        names, codes = np.unique(seen.y, return_inverse=True)
        seen = replace(seen, y=codes, classes=len(names))
    recipe = replace(RECIPES["multiplicative"], use=use)
    return timed(lambda: assessed(seen, recipe=recipe, floor=ColdStart()))
