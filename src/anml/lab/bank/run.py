"""Rows of the bank: one per condition, method and seed."""

from dataclasses import replace
from functools import lru_cache, partial

import numpy as np

from anml.adapters.sklearn.fitting import fit_weighted
from anml.assess.assess import Assessment, Known
from anml.core.domain import Recipe
from anml.core.signals.reputation import ColdStart
from anml.core.weigh import RECIPES, weigh_signals, with_every_class
from anml.lab.bank.conditions import make_condition
from anml.lab.bank.measures import BLIND, TOLD, Outcome, measures
from anml.lab.bank.sources import Condition, Seen
from anml.lab.belief import assessed
from anml.lab.spec import At, Experiment, Found, timed


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
