"""Rows of the comparison: one per data set, attack, method and trial."""

from functools import partial

import numpy as np

from anml.assess.assess import Assessment, Known
from anml.core.domain import Recipe
from anml.core.weigh import weigh_signals, with_every_class
from anml.lab.belief import assessed
from anml.lab.block import At, Found, timed
from anml.lab.cited.outcome import Outcome, final_models, measured, tuned
from anml.lab.cited.systems import decided
from anml.lab.cited.trials import Seen, make_trial


def run_trial(at: At, methods: list[str]) -> Found:
    """Measures of every method on one trial; the common model is trained for all of them at once."""
    experiment, setting = at.experiment, at.setting
    seen, truth = make_trial(setting, at.trial, experiment.seed)
    outcomes: dict[str, Outcome] = {}
    seconds: dict[str, float] = {}
    recipes = {name: experiment.methods[name] for name in methods if name in experiment.methods}
    if recipes:
        judged, shared = timed(partial(_judged, seen))
        for name, recipe in recipes.items():
            outcomes[name], seconds[name] = _weighed(seen, judged, recipe), shared
    for name in methods:
        if name not in recipes:
            outcomes[name], seconds[name] = timed(partial(decided, name, seen, truth, setting))
    rows = {name: outcome.kept for name, outcome in outcomes.items() if outcome.kept is not None}
    own = {name: outcome.natural for name, outcome in outcomes.items() if outcome.natural is not None}
    models = final_models(seen, [*rows.values(), *own.values()], setting)
    common, natural = dict(zip(rows, models, strict=False)), dict(zip(own, models[len(rows) :], strict=True))
    for name, outcome in outcomes.items():
        model = common.get(name) or tuned(seen, outcome.predicts)
        yield name, {**measured(seen, truth, outcome, model, natural.get(name)), "seconds": seconds[name]}


def _judged(seen: Seen) -> Assessment:
    """One assessment for all recipes: q, credentials, and what the contributor model believes."""
    known = Known(seen.contributor, None, seen.v, seen.r)
    return assessed(seen.x, seen.y, seen.classes, known, seen.seed, recipe="guarded")


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
