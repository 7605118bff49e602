"""Every cited system on one trial, told how many attackers there are and, beside that, told nothing."""

from collections.abc import Mapping
from functools import partial

import numpy as np

from anml.assess.assess import Assessment, Known
from anml.core.domain import Recipe
from anml.core.weigh import weigh_signals, with_every_class
from anml.lab.belief import assessed
from anml.lab.cited import outcome as made
from anml.lab.cited.outcome import WAYS, Outcome
from anml.lab.cited.rules import RULES, aggregated, honest_only
from anml.lab.cited.trials import Seen, Truth, make_trial
from anml.lab.cited.values import CONTRIBUTORS, ROWS
from anml.lab.spec import At, Found, Setting, timed, words

# Values of rows, and of contributors by the mean of their rows or by a game of their own.
VALUE = (*CONTRIBUTORS, *(f"{name}, rows" for name in ROWS))
# Ways of training; and what becomes of the common network on contributors whose rows they weigh most.
TRAINING = (*WAYS, *(f"{name}, contributors" for name in WAYS))
BOUNDS = ("oracle", "federated oracle")
PEERS = (*RULES, *VALUE, *TRAINING, *BOUNDS)


NEEDS, REFERENCES = words("needs"), words("references")


def needs(name: str) -> str:
    """What a method must be given; a recipe of one's own, as much as ours."""
    return str(NEEDS.get(name, "ids, v, r"))


def decided(name: str, seen: Seen, truth: Truth, setting: Setting) -> Outcome:
    """What a system makes of a trial, of which only the bounds see the truth."""
    if name == "oracle":
        honest = ~truth.bad
        return Outcome(kept=~truth.wrong & honest[seen.contributor], scores=honest.astype(np.float64))
    if name == "federated oracle":
        return aggregated(seen, honest_only(truth.bad), says=False)
    if name in RULES:
        return aggregated(seen, RULES[name], says=name != "FedAvg")
    base, _, level = name.rpartition(", ")
    if name in TRAINING:
        return made.trained(seen, base or name, setting, contributors=level == "contributors")
    if level == "rows":
        return made.of_rows(seen, ROWS[base](seen, setting))
    thresholds: Mapping[str, float] = {
        "Kang": 0.5, "EigenTrust": 0.5 / seen.clients, "EigenTrust, no roots": 0.5 / seen.clients,
    }  # fmt: skip
    return made.of_contributors(seen, CONTRIBUTORS[name](seen, setting), thresholds.get(name, 0.0))


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
    models = made.final_models(seen, [*rows.values(), *own.values()], setting)
    common, natural = dict(zip(rows, models, strict=False)), dict(zip(own, models[len(rows) :], strict=True))
    for name, outcome in outcomes.items():
        model = common.get(name) or made.tuned(seen, outcome.predicts)
        found = made.measured(seen, truth, outcome, model, natural.get(name))
        yield name, {**found, "seconds": seconds[name]}


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
