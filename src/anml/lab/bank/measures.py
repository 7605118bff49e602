"""How good a method is: errors of final models, and what it found of labels and contributors."""

from typing import Any

import numpy as np

from anml.core.calibration import ranking, reliability
from anml.core.checks import Array, as_codes
from anml.core.people.verdicts import ACCUSED, LESS, RELIABLE, UNSURE
from anml.lab.bank.parts import Condition
from anml.lab.bank.peers import Outcome

# Trees of the final forests.
TREES = 40
LEARNERS = ("lr", "rf")
MEASURES = (
    *("error_lr", "error_rf", "right_dropped", "wrong_kept"),
    *("honest_convicted", "honest", "honest_reliable", "liars_found", "liars", "liars_reliable"),
    *("calibration", "ranking", "attack_lr", "attack_rf"),
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
