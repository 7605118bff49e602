"""What the recipes make of the rows of the bank, by the one path that the estimators and the audit share."""

import numpy as np

from anml.adapters.sklearn.fitting import fit_weighted
from anml.assess.assess import Assessment, Known, Policy, assess
from anml.core.domain import Recipe
from anml.core.profile import PROFILES
from anml.core.signals.reputation import ColdStart
from anml.core.signals.temporal import Decay
from anml.lab.bank.parts import Seen
from anml.lab.bank.peers import Outcome


def weighed(seen: Seen, recipe: Recipe, seed: int) -> Outcome:
    """Assess the rows as `AnmlClassifier` and `AnmlRegressor` do, and train as they would."""
    found = assessed(seen, recipe, seed)
    weighting = found.weighting

    def train(learner: object) -> object:
        return fit_weighted(learner, seen.x, seen.label, weighting, np.random.default_rng(seed))

    if recipe.combine == "evidence":
        p_correct, people = found.belief.p_correct, found.belief.contributors
        verdict = None if people is None else np.array(people.verdict)
        return Outcome(train, weighting.kept, p_correct, p_correct, verdict)
    score = None if recipe.combine == "uniform" else weighting.w
    return Outcome(train, weighting.kept, score)


def assessed(seen: Seen, recipe: Recipe, seed: int) -> Assessment:
    """Everything that is found out about the rows, with the estimators' defaults; no label is out of date."""
    age = None if seen.time is None else seen.time.max() - seen.time
    known = Known(seen.contributor, seen.item, seen.verification, seen.reputation, age)
    policy = Policy(recipe, PROFILES["default"], Decay(0.0), ColdStart(0.4, 10), seed)
    if seen.numeric:
        return assess(seen.x, seen.label, "regression", 1, known, policy)
    classes, codes = np.unique(seen.label, return_inverse=True)
    return assess(seen.x, codes, "classification", len(classes), known, policy)
