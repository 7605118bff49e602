"""How good a method is: errors of final models, and what it found of labels and contributors."""

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from anml.core.calibration import ranking, reliability
from anml.core.checks import Array, Bools, Floats, as_codes
from anml.core.people.words import ACCUSED, CONTRADICTS, LESS, RELIABLE, UNSURE
from anml.lab.bank.sources import Condition, Seen
from anml.lab.peers import FOLDS, needed

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
    agrees = _agreement(seen, held_out(seen, seed))
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
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
    from sklearn.model_selection import KFold, StratifiedGroupKFold, StratifiedKFold, cross_val_predict

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


def _agreement(seen: Seen, predicted: Floats) -> Floats:
    if seen.numeric:
        return -np.abs(predicted - seen.label)
    _, codes = np.unique(seen.label, return_inverse=True)
    return np.asarray(predicted.argmax(axis=1) == codes, dtype=np.float64)


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
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

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
