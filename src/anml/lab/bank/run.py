"""Rows of the bank, one per condition, method and seed: errors of final models, and what was found.

What was found is of labels and of contributors.
"""

import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold, StratifiedGroupKFold, StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from anml.adapters.sklearn.fitting import fit_weighted
from anml.assess.assess import Assessment, Known
from anml.core.calibration import ranking, reliability
from anml.core.checks import Array, Bools, Floats, as_codes
from anml.core.domain import Recipe
from anml.core.people.words import ACCUSED, CONTRADICTS, LESS, RELIABLE, UNSURE
from anml.core.signals.reputation import ColdStart
from anml.core.weigh import RECIPES, weigh_signals, with_every_class
from anml.lab.bank.conditions import make_condition
from anml.lab.bank.sources import Condition, Seen
from anml.lab.belief import assessed
from anml.lab.real import FOLDS, needed
from anml.lab.spec import At, Experiment, Found, timed

# How many standard errors below all others together a contributor's agreement may lie.
STANDARD_ERRORS = 3.5


class Outcome(NamedTuple):
    """What a method makes of the labels; None where it does not say.

    `train` fits an estimator on the rows that are `kept`. `score` says how far each label is believed, in
    [0, 1], `p_correct` how likely it is right. A `verdict` of each contributor is in the words of
    `anml.core.people.verdicts` and the order of `anml.core.checks.as_codes`.
    """

    train: Callable[[Any], Any]
    kept: Bools | None = None
    score: Floats | None = None
    p_correct: Floats | None = None
    verdict: Array | None = None


def cleanlab(seen: Seen, seed: int) -> Outcome | None:
    """Drop what cleanlab finds by confident learning, on held-out probabilities of a forest; classes only."""
    if seen.numeric:
        return None
    _, codes = np.unique(seen.label, return_inverse=True)
    chances = held_out(seen, seed)
    found = needed("cleanlab.filter", "cleanlab").find_label_issues(codes, chances, n_jobs=1)
    kept = ~np.asarray(found, dtype=np.bool_)
    return Outcome(_on_rows(seen, kept), kept, score=chances[np.arange(len(codes)), codes])


def zdrop(seen: Seen, seed: int) -> Outcome:
    """Drop contributors who agree with a held-out forest far less than all do, by standard errors.

    A class agrees or does not; a number agrees the better the nearer it is to the forest's.
    """
    predicted = held_out(seen, seed)
    if seen.numeric:
        agrees = -np.abs(predicted - seen.label)
    else:
        agrees = (predicted.argmax(axis=1) == np.unique(seen.label, return_inverse=True)[1]).astype(float)
    codes, names = as_codes("contributor", seen.contributor, len(agrees))
    rows = np.bincount(codes, minlength=len(names))
    mean = np.bincount(codes, agrees, len(names)) / rows
    error = agrees.std() / np.sqrt(rows)
    dropped = mean < agrees.mean() - STANDARD_ERRORS * error
    kept = ~dropped[codes]
    verdict = np.where(dropped, CONTRADICTS, UNSURE)
    return Outcome(_on_rows(seen, kept), kept, score=in_unit(mean)[codes], verdict=verdict)


def oracle(condition: Condition) -> Outcome:
    """Train on the right labels, and on the rows as they were before an attack on them: the bound."""
    truth = condition.truth
    x, y = (condition.seen.x, truth.label) if truth.clean is None else truth.clean
    return Outcome(lambda learner: learner.fit(x, y))


def held_out(seen: Seen, seed: int) -> Floats:
    """Out-of-fold predictions of a forest, labels of a thing in one fold: chances of classes, or numbers."""
    if seen.numeric:
        forest, folds, method = RandomForestRegressor, KFold, "predict"
    else:
        folds = StratifiedKFold if seen.item is None else StratifiedGroupKFold
        forest, method = RandomForestClassifier, "predict_proba"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of classes with fewer rows than folds
        found = cross_val_predict(
            forest(random_state=seed), seen.x, seen.label, groups=seen.item, method=method,
            cv=folds(FOLDS, shuffle=True, random_state=seed),
        )  # fmt: skip
    return np.asarray(found, dtype=np.float64)


def in_unit(values: Floats) -> Floats:
    """The same order, in [0, 1]."""
    width = np.ptp(values)
    return (values - values.min()) / width if width > 0 else np.full_like(values, 0.5)


def _on_rows(seen: Seen, kept: Array) -> Callable[[Any], Any]:
    return lambda learner: learner.fit(seen.x[kept], seen.label[kept])


BLIND: dict[str, Callable[[Seen, int], Outcome | None]] = {"cleanlab": cleanlab, "zdrop": zdrop}
TOLD: dict[str, Callable[[Condition], Outcome]] = {"oracle": oracle}
PEERS = (*BLIND, *TOLD)

# Trees of the final forests.
TREES = 40
LEARNERS = ("lr", "rf")
MEASURES = (
    *("error_lr", "error_rf", "right_dropped", "wrong_kept"),
    *("honest_convicted", "honest", "honest_reliable", "liars_found", "liars", "liars_reliable"),
    *("calibration", "ranking", "attack_lr", "attack_rf", "seconds"),
)


def learner(name: str, numeric: bool, seed: int) -> Any:
    """The final models: a linear one on standardised features (`lr`), and a forest (`rf`)."""
    if name == "rf":
        return (RandomForestRegressor if numeric else RandomForestClassifier)(TREES, random_state=seed)
    return make_pipeline(StandardScaler(), Ridge() if numeric else LogisticRegression(max_iter=1_000))


def measures(condition: Condition, outcome: Outcome, seed: int) -> dict[str, float]:
    """Every measure of a method; NaN where it is not defined."""
    found = dict.fromkeys(MEASURES, float("nan"))
    for name in LEARNERS:
        found |= _final(condition, outcome, name, seed)
    return {**found, **_labels(condition, outcome), **_contributors(condition, outcome)}


def _final(condition: Condition, outcome: Outcome, name: str, seed: int) -> dict[str, float]:
    seen, trigger = condition.seen, condition.trigger
    parts = [condition.x_test] if trigger is None else [condition.x_test, trigger.x]
    left = np.unique(seen.label if outcome.kept is None else seen.label[outcome.kept])
    if len(left) == 1:  # not every estimator takes a single class
        predicted = [np.full(len(part), left[0]) for part in parts]
    else:
        model = outcome.train(learner(name, seen.numeric, seed))
        predicted = [model.predict(part) for part in parts]
    found = {f"error_{name}": error_of(predicted[0], condition.y_test, seen.numeric)}
    if trigger is not None:
        found[f"attack_{name}"] = 100 * float((predicted[1] == trigger.target).mean())
    return found


def error_of(predicted: Array, truth: Array, numeric: bool) -> float:
    """Percent of classes predicted wrong; of numbers the RMSE, in percent of their spread."""
    if not numeric:
        return 100 * float((predicted != truth).mean())
    return 100 * float(np.sqrt(np.square(predicted - truth).mean()) / truth.std())


def _labels(condition: Condition, outcome: Outcome) -> dict[str, float]:
    """Right labels dropped and wrong ones kept, in percent of each; and how true beliefs are."""
    right = np.asarray(condition.seen.label == condition.truth.label)
    found = {}
    if outcome.kept is not None:
        found["right_dropped"] = 100 * float((~outcome.kept[right]).mean())
        if not right.all():
            found["wrong_kept"] = 100 * float(outcome.kept[~right].mean())
    if outcome.p_correct is not None:
        found["calibration"] = reliability(outcome.p_correct, right).error
    if outcome.score is not None:
        found["ranking"] = ranking(outcome.score, right)
    return found


def _contributors(condition: Condition, outcome: Outcome) -> dict[str, float]:
    """What is said of the honest, and of those who give wrong labels."""
    _, names = as_codes("contributor", condition.seen.contributor, len(condition.seen.label))
    liar = np.isin(names, condition.truth.liars.astype(str))
    verdict = np.full(len(names), UNSURE) if outcome.verdict is None else outcome.verdict
    accused, reliable = np.isin(verdict, ACCUSED), verdict == RELIABLE
    counted = {
        "honest": ~liar, "honest_convicted": accused & ~liar, "honest_reliable": reliable & ~liar,
        "liars": liar, "liars_found": (accused | (verdict == LESS)) & liar, "liars_reliable": reliable & liar,
    }  # fmt: skip
    return {name: float(some.sum()) for name, some in counted.items()}


def run_trial(at: At, methods: list[str]) -> Found:
    """Rows of the methods that apply to a condition; the seed decides it, every method and every model."""
    condition = make_condition(at.setting.dataset, at.seed)
    for method in methods:
        outcome, seconds = timed(partial(decided, at.experiment, method, condition, at.seed))
        if outcome is not None:
            recipe = at.experiment.methods.get(method)
            cost = seconds if recipe is None else judged(condition.seen, _use(recipe), at.seed)[1]
            yield method, {**measures(condition, outcome, at.seed), "seconds": cost}


def decided(experiment: Experiment, method: str, condition: Condition, seed: int) -> Outcome | None:
    """What a method makes of a condition, of which only the oracle sees the truth."""
    if method in experiment.methods:
        return weighed(condition.seen, experiment.methods[method], seed)
    return BLIND[method](condition.seen, seed) if method in BLIND else TOLD[method](condition)


def weighed(seen: Seen, recipe: Recipe, seed: int) -> Outcome:
    """Weigh the rows as `AnmlClassifier` and `AnmlRegressor` do, and train as they would."""
    found = judged(seen, _use(recipe), seed)[0]
    weighting = weigh_signals(found.signals, recipe)
    if not seen.numeric:
        weighting = with_every_class(weighting, seen.label, found.belief.p_correct)

    def train(learner: object) -> object:
        return fit_weighted(learner, seen.x, seen.label, weighting, np.random.default_rng(seed))

    if recipe.combine == "evidence":
        p_correct, people = found.belief.p_correct, found.belief.contributors
        verdict = None if people is None else np.array(people.verdict)
        return Outcome(train, weighting.kept, p_correct, p_correct, verdict)
    return Outcome(train, weighting.kept, None if recipe.combine == "uniform" else weighting.w)


def _use(recipe: Recipe) -> tuple[str, ...]:
    """Signals that are evidence: only where the belief decides may a recipe leave some out."""
    return recipe.use if recipe.combine == "evidence" else Recipe().use


@lru_cache(maxsize=1)
def judged(seen: Seen, use: tuple[str, ...], seed: int) -> tuple[Assessment, float]:
    """One assessment of the rows for all recipes, with the estimators' defaults, and the time it took.

    No label is out of date.
    """
    age = None if seen.time is None else seen.time.max() - seen.time
    known = Known(seen.contributor, seen.item, seen.verification, seen.reputation, age)
    classes, label = 1, seen.label
    if not seen.numeric:
        names, label = np.unique(seen.label, return_inverse=True)
        classes = len(names)
    recipe = replace(RECIPES["multiplicative"], use=use)
    return timed(lambda: assessed(seen.x, label, classes, known, seed, recipe=recipe, floor=ColdStart()))
