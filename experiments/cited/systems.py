"""Every cited system on one trial, told how many attackers there are and, beside that, told nothing."""

from collections.abc import Mapping
from functools import partial

import numpy as np

from anml.assessment.assess import Assessment
from anml.core.types import Recipe
from anml.federated.rules import mean
from anml.weighting.weigh import compute_sample_weights, keep_one_per_class
from experiments.belief import run_assessment
from experiments.cited import outcome as made
from experiments.cited.outcome import REWEIGHTING_METHODS
from experiments.cited.rules import RULES, train_with_rule
from experiments.cited.trials import Trial, make_trial
from experiments.cited.values import CONTRIBUTORS, ROWS
from experiments.measures import Outcome
from experiments.seen import MethodInput
from experiments.spec import Found, Setting, TrialContext, report_texts, timed

# Values of rows, and of contributors by the mean of their rows or by a game of their own.
VALUE = (*CONTRIBUTORS, *(f"{name}, rows" for name in ROWS))
# Ways of training; and what becomes of the common network on contributors whose rows they weigh most.
TRAINING = (*REWEIGHTING_METHODS, *(f"{name}, contributors" for name in REWEIGHTING_METHODS))
BOUNDS = ("oracle", "federated oracle")
PEERS = (*RULES, *VALUE, *TRAINING, *BOUNDS)
NEEDS, REFERENCES = report_texts("needs"), report_texts("references")


def required_inputs(name: str) -> str:
    """Return the inputs that a method requires; a user-defined recipe requires those of evidence."""
    return str(NEEDS.get(name, "ids, v, r"))


def run_system(name: str, case: Trial, setting: Setting) -> Outcome:
    """Run a system on a trial; only the bounds use the ground truth."""
    inputs = case.seen
    if name == "oracle":
        return Outcome(kept=case.right & ~case.truth.bad, quality=(~case.bad).astype(np.float64))
    if name == "federated oracle":
        # The mean of honest clients' updates.
        return train_with_rule(
            inputs, lambda _: lambda at: mean(at.updates, at.clients.counts() * ~case.bad), says=False
        )
    if name in RULES:
        return train_with_rule(inputs, RULES[name], says=name != "FedAvg")
    base, _, level = name.rpartition(", ")
    if name in TRAINING:
        return made.train_reweighting(inputs, base or name, setting, contributors=level == "contributors")
    if level == "rows":
        return made.of_rows(inputs, ROWS[base](inputs, setting))
    thresholds: Mapping[str, float] = {
        "Kang": 0.5, "EigenTrust": 0.5 / inputs.clients, "EigenTrust, no roots": 0.5 / inputs.clients,
    }  # fmt: skip
    return made.of_contributors(inputs, CONTRIBUTORS[name](inputs, setting), thresholds.get(name, 0.0))


def run_trial(at: TrialContext, methods: list[str]) -> Found:
    """Measures of every method on one trial; the common model is trained for all of them at once."""
    setting, recipes = at.setting, at.experiment.methods
    case = make_trial(setting, at.trial, at.experiment.seed)
    answers: dict[str, Outcome] = {}
    seconds: dict[str, float] = {}
    # One assessment for all recipes: q, credentials, and what the contributor model believes.
    shared = (
        timed(partial(run_assessment, case.seen, recipe="guarded"))
        if any(m in recipes for m in methods)
        else None
    )
    for name in methods:
        if name in recipes and shared is not None:
            answers[name], seconds[name] = _weighed(case.seen, shared[0], recipes[name]), shared[1]
        else:
            answers[name], seconds[name] = timed(partial(run_system, name, case, setting))
    rows = {name: answer.kept for name, answer in answers.items() if answer.kept is not None}
    own = {name: answer.natural for name, answer in answers.items() if answer.natural is not None}
    models = made.final_models(case.seen, [*rows.values(), *own.values()], setting)
    common, natural = dict(zip(rows, models, strict=False)), dict(zip(own, models[len(rows) :], strict=True))
    for name, answer in answers.items():
        model = common.get(name) or made.select_learning_rate(case.seen, answer.predicts)
        yield name, {**made.measure_models(case, answer, model, natural.get(name)), "seconds": seconds[name]}


def _weighed(inputs: MethodInput, judged: Assessment, recipe: Recipe) -> Outcome:
    if recipe.combine == "uniform":
        return Outcome(kept=np.ones(len(inputs.y), dtype=bool))
    result = keep_one_per_class(
        compute_sample_weights(judged.signals, recipe), inputs.y, judged.belief.p_correct
    )
    people = judged.belief.contributors
    if recipe.combine == "evidence" and people is not None:
        return Outcome(kept=result.kept, quality=inputs.by_name(people.quality))
    return Outcome(kept=result.kept, quality=inputs.mean(result.w))
