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

from anml.annotators.words import CONTRADICTS, FLAGGED, INCONCLUSIVE, RELIABLE, VERDICTS
from anml.assessment.assess import Assessment
from anml.core.checks import Array, Floats
from anml.core.types import Recipe
from anml.signals.reputation import ColdStart
from anml.sklearn.fitting import fit_weighted
from anml.weighting.weigh import RECIPES, compute_sample_weights, keep_one_per_class, training_labels
from experiments.bank.conditions import make_condition
from experiments.belief import run_assessment
from experiments.measures import (
    FLAGGED_OR_BELOW,
    Measured,
    Outcome,
    Predict,
    count_verdicts,
    in_unit,
    of_labels,
    of_test,
    run_methods,
)
from experiments.real import FOLDS, import_optional
from experiments.seen import Case, MethodInput
from experiments.spec import Experiment, Found, TrialContext, timed

# How many standard errors below all others together a contributor's agreement may lie.
STANDARD_ERRORS = 3.5


def cleanlab(inputs: MethodInput) -> Outcome | None:
    """Drop what cleanlab finds by confident learning, on held-out probabilities of a forest; classes only."""
    if inputs.numeric:
        return None
    _, codes = np.unique(inputs.y, return_inverse=True)
    chances = held_out(inputs)
    result = import_optional("cleanlab.filter", "cleanlab").find_label_issues(codes, chances, n_jobs=1)
    kept = ~np.asarray(result, dtype=np.bool_)
    return Outcome(train=_on_rows(inputs, kept), kept=kept, score=chances[np.arange(len(codes)), codes])


def zdrop(inputs: MethodInput) -> Outcome:
    """Drop contributors who agree with a held-out forest far less than all do, by standard errors.

    A class agrees or does not; a number agrees the better the nearer it is to the forest's.
    """
    predicted = held_out(inputs)
    if inputs.numeric:
        agrees = -np.abs(predicted - inputs.y)
    else:
        agrees = (predicted.argmax(axis=1) == np.unique(inputs.y, return_inverse=True)[1]).astype(float)
    mean, error = inputs.mean(agrees), agrees.std() / np.sqrt(inputs.rows)
    dropped = mean < agrees.mean() - STANDARD_ERRORS * error
    kept = ~dropped[inputs.who]
    verdict = np.where(dropped, CONTRADICTS, INCONCLUSIVE)
    return Outcome(train=_on_rows(inputs, kept), kept=kept, score=in_unit(mean)[inputs.who], verdict=verdict)


def oracle(case: Case) -> Outcome:
    """Train on the right labels, and on rows as they were before an attack: the bound."""
    return Outcome(train=lambda learner: learner.fit(*case.bound))


def held_out(inputs: MethodInput) -> Floats:
    """Out-of-fold predictions of a forest, labels of a thing in one fold: chances of classes, or numbers."""
    if inputs.numeric:
        forest, folds, method = RandomForestRegressor, KFold, "predict"
    else:
        folds = StratifiedKFold if inputs.item is None else StratifiedGroupKFold
        forest, method = RandomForestClassifier, "predict_proba"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of classes with fewer rows than folds
        result = cross_val_predict(
            forest(random_state=inputs.seed), inputs.x, inputs.y, groups=inputs.item, method=method,
            cv=folds(FOLDS, shuffle=True, random_state=inputs.seed),
        )  # fmt: skip
    return np.asarray(result, dtype=np.float64)


def _on_rows(inputs: MethodInput, kept: Array) -> Callable[[Any], Any]:
    return lambda learner: learner.fit(inputs.x[kept], inputs.y[kept])


PEERS_WITHOUT_TRUTH: dict[str, Callable[[MethodInput], Outcome | None]] = {
    "cleanlab": cleanlab,
    "zdrop": zdrop,
}
ORACLES: dict[str, Callable[[Case], Outcome]] = {"oracle": oracle}
PEERS = (*PEERS_WITHOUT_TRUTH, *ORACLES)

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
    result, bad = of_labels(case, answer), case.bad
    for name in LEARNERS:
        final = of_test(case, _final(case.seen, answer, name))
        result |= {f"{measure}_{name}": value for measure, value in final.items()}
    verdict = np.full(len(bad), INCONCLUSIVE) if answer.verdict is None else answer.verdict
    return result | count_verdicts(
        verdict,
        {
            "honest": (~bad, VERDICTS),
            "honest_convicted": (~bad, FLAGGED),
            "honest_reliable": (~bad, [RELIABLE]),
            "liars": (bad, VERDICTS),
            "liars_found": (bad, FLAGGED_OR_BELOW),
            "liars_reliable": (bad, [RELIABLE]),
        },
    )


def _final(inputs: MethodInput, answer: Outcome, name: str) -> Predict:
    """A final model; where one class is left it is predicted, as not every estimator takes a single one."""
    left = np.unique(inputs.y if answer.kept is None else inputs.y[answer.kept])
    if len(left) == 1:
        return lambda x: np.full(len(x), left[0])
    assert answer.train is not None
    model = answer.train(learner(name, inputs.numeric, inputs.seed))
    return lambda x: np.asarray(model.predict(x))


def run_trial(at: TrialContext, methods: list[str]) -> Found:
    """Rows of the methods that apply to a condition; the seed decides it, every method and every model."""
    case = make_condition(at.setting.dataset, at.seed)
    return run_methods(methods, partial(run_method, at.experiment, case), partial(measures, case))


def run_method(experiment: Experiment, case: Case, method: str) -> Outcome | None:
    """Run a method on a condition; only an oracle uses the ground truth."""
    if method in experiment.methods:
        return apply_recipe(case.seen, experiment.methods[method])
    return PEERS_WITHOUT_TRUTH[method](case.seen) if method in PEERS_WITHOUT_TRUTH else ORACLES[method](case)


def apply_recipe(inputs: MethodInput, recipe: Recipe) -> Outcome:
    """Weigh the rows as `AnmlClassifier` and `AnmlRegressor` do, and train as they would."""
    # Only where the belief decides may a recipe leave evidence out.
    evidence = recipe.combine == "evidence"
    result, seconds = assess_once(inputs, recipe.use if evidence else Recipe().use)
    weighting, belief = compute_sample_weights(result.signals, recipe), result.belief
    if inputs.numeric:
        training = training_labels(weighting, result.signals, inputs.y, belief.truth, "regression")
    else:
        weighting = keep_one_per_class(weighting, inputs.y, belief.p_correct)
        names, codes = np.unique(inputs.y, return_inverse=True)
        training = training_labels(weighting, result.signals, codes, belief.truth, "classification")
        training = training and training._replace(y=names[training.y])

    def train(learner: object) -> object:
        rng = np.random.default_rng(inputs.seed)
        return fit_weighted(learner, inputs.x, inputs.y, weighting, rng, training)

    answer = Outcome(train=train, kept=weighting.kept, seconds=seconds)
    if evidence:
        p_correct, people = belief.p_correct, belief.contributors
        verdict = None if people is None else inputs.by_name(people.verdict)
        return replace(answer, p_correct=p_correct, verdict=verdict)
    return replace(answer, score=None if recipe.combine == "uniform" else weighting.w)


@lru_cache(maxsize=1)
def assess_once(inputs: MethodInput, use: tuple[str, ...]) -> tuple[Assessment, float]:
    """One assessment of the rows for all recipes, with the estimators' defaults, and the time it took.

    No label is out of date.
    """
    if not inputs.numeric:
        names, codes = np.unique(inputs.y, return_inverse=True)
        inputs = replace(inputs, y=codes, classes=len(names))
    recipe = replace(RECIPES["multiplicative"], use=use)
    return timed(lambda: run_assessment(inputs, recipe=recipe, floor=ColdStart()))
