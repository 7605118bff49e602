"""Every cited system on one trial, told how many attackers there are and, beside that, told nothing."""

from collections.abc import Mapping
from functools import partial

import numpy as np

from anml.aggregate.mean import mean
from anml.assess.assess import Assessment
from anml.core.domain import Recipe
from anml.core.weigh import weigh_signals, with_every_class
from anml.lab.belief import assessed
from anml.lab.cited import outcome as made
from anml.lab.cited.outcome import WAYS
from anml.lab.cited.rules import RULES, aggregated
from anml.lab.cited.trials import Trial, make_trial
from anml.lab.cited.values import CONTRIBUTORS, ROWS
from anml.lab.measures import Outcome
from anml.lab.seen import Seen
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


def decided(name: str, case: Trial, setting: Setting) -> Outcome:
    """What a system makes of a trial, of which only the bounds see the truth."""
    seen = case.seen
    if name == "oracle":
        return Outcome(kept=case.right & ~case.truth.bad, quality=(~case.bad).astype(np.float64))
    if name == "federated oracle":
        # The mean of honest clients' updates.
        return aggregated(
            seen, lambda _: lambda at: mean(at.updates, at.clients.counts() * ~case.bad), says=False
        )
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
    setting, recipes = at.setting, at.experiment.methods
    case = make_trial(setting, at.trial, at.experiment.seed)
    answers: dict[str, Outcome] = {}
    seconds: dict[str, float] = {}
    # One assessment for all recipes: q, credentials, and what the contributor model believes.
    shared = (
        timed(partial(assessed, case.seen, recipe="guarded")) if any(m in recipes for m in methods) else None
    )
    for name in methods:
        if name in recipes and shared is not None:
            answers[name], seconds[name] = _weighed(case.seen, shared[0], recipes[name]), shared[1]
        else:
            answers[name], seconds[name] = timed(partial(decided, name, case, setting))
    rows = {name: answer.kept for name, answer in answers.items() if answer.kept is not None}
    own = {name: answer.natural for name, answer in answers.items() if answer.natural is not None}
    models = made.final_models(case.seen, [*rows.values(), *own.values()], setting)
    common, natural = dict(zip(rows, models, strict=False)), dict(zip(own, models[len(rows) :], strict=True))
    for name, answer in answers.items():
        model = common.get(name) or made.tuned(case.seen, answer.predicts)
        yield name, {**made.measured(case, answer, model, natural.get(name)), "seconds": seconds[name]}


def _weighed(seen: Seen, judged: Assessment, recipe: Recipe) -> Outcome:
    if recipe.combine == "uniform":
        return Outcome(kept=np.ones(len(seen.y), dtype=bool))
    found = with_every_class(weigh_signals(judged.signals, recipe), seen.y, judged.belief.p_correct)
    people = judged.belief.contributors
    if recipe.combine == "evidence" and people is not None:
        return Outcome(kept=found.kept, quality=seen.by_name(people.quality))
    return Outcome(kept=found.kept, quality=seen.mean(found.w))
