"""Rows of the comparison: one per data set, attack, method and trial."""

import time
from collections.abc import Collection, Iterable
from typing import Any

import numpy as np

from anml.assess.assess import Assessment, Known, Policy, assess
from anml.core.domain import Recipe
from anml.core.profile import PROFILES
from anml.core.signals.reputation import ColdStart
from anml.core.signals.temporal import Decay
from anml.core.weigh import RECIPES, weigh_signals, with_every_class
from anml.gradients.threads import one_thread_for_tables, threads
from anml.lab.cells import wanted
from anml.lab.cited.outcome import Outcome, final_models, measured, tuned
from anml.lab.cited.systems import decided
from anml.lab.cited.trials import Seen, make_trial
from anml.lab.spec import Experiment, Setting


def run_block(
    experiment: Experiment,
    trials: Iterable[int],
    dataset: str,
    device: str = "cpu",
    *,
    cells: Collection[str] | None = None,
) -> list[dict[str, Any]]:
    """Rows of some trials on one data set: one per attack and method, or some `cells` of them."""
    rows = []
    for trial in trials:
        for key, (setting, methods) in wanted(experiment, dataset, cells).items():
            with threads(1), one_thread_for_tables():
                found = run_trial(experiment, setting, trial, methods)
            rows += [{"trial": trial, **dict(key), "method": name, **row} for name, row in found.items()]
    return rows


def run_trial(
    experiment: Experiment, setting: Setting, trial: int, methods: list[str]
) -> dict[str, dict[str, float]]:
    """Measures of every method on one trial; the common model is trained for all of them at once."""
    seen, truth = make_trial(setting, trial, experiment.seed)
    outcomes: dict[str, Outcome] = {}
    seconds: dict[str, float] = {}
    recipes = {name: experiment.methods[name] for name in methods if name in experiment.methods}
    if recipes:
        start = time.process_time()
        judged = _judged(seen)
        shared = time.process_time() - start
        for name, recipe in recipes.items():
            outcomes[name], seconds[name] = _weighed(seen, judged, recipe), shared
    for name in methods:
        if name not in recipes:
            start = time.process_time()
            outcomes[name] = decided(name, seen, truth, setting)
            seconds[name] = time.process_time() - start
    rows = {name: outcome.kept for name, outcome in outcomes.items() if outcome.kept is not None}
    own = {name: outcome.natural for name, outcome in outcomes.items() if outcome.natural is not None}
    models = final_models(seen, [*rows.values(), *own.values()], setting)
    common, natural = dict(zip(rows, models, strict=False)), dict(zip(own, models[len(rows) :], strict=True))
    return {
        name: {
            **measured(
                seen, truth, outcome, common.get(name) or tuned(seen, outcome.predicts), natural.get(name)
            ),
            "seconds": seconds[name],
        }
        for name, outcome in outcomes.items()
    }


def _judged(seen: Seen) -> Assessment:
    """One assessment for all recipes: q, credentials, and what the contributor model believes."""
    policy = Policy(RECIPES["guarded"], PROFILES["default"], Decay(0.0), ColdStart(0.4, 0), seen.seed % 2**31)
    known = Known(seen.contributor, None, seen.v, seen.r)
    return assess(seen.x, seen.y, "classification", seen.classes, known, policy)


def _weighed(seen: Seen, judged: Assessment, recipe: Recipe) -> Outcome:
    if recipe.combine == "uniform":
        return Outcome(kept=np.ones(len(seen.y), dtype=bool))
    found = with_every_class(weigh_signals(judged.signals, recipe), seen.y, judged.belief.p_correct)
    people = judged.belief.contributors
    if recipe.combine == "evidence" and people is not None:
        # Codes are sorted as names are: 0, 1, 10, 11, ...
        order = np.argsort([str(code) for code in range(seen.clients)])
        scores = np.empty(seen.clients)
        scores[order] = people.quality
        return Outcome(kept=found.kept, scores=scores)
    return Outcome(kept=found.kept, scores=seen.by_client(found.w))
