"""Every cited system on one trial, told how many attackers there are and, beside that, told nothing.

All are tuned alike, by a validation part with the labels it came with.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial

import numpy as np
import torch

from anml.assess.assess import Assessment
from anml.core.checks import Bools, Floats
from anml.core.domain import Recipe
from anml.core.weigh import weigh_signals, with_every_class
from anml.federated.clients import predicted
from anml.gradients.mlp import Data, Widths, initialise, train
from anml.lab.belief import assessed
from anml.lab.cited.rules import RULES, aggregated, honest_only
from anml.lab.cited.trials import GRID, Served, Trial, Tuned, make_trial, tuned
from anml.lab.cited.values import CONTRIBUTORS, ROWS
from anml.lab.measures import Answer, Measured, of_labels, of_quality, of_test
from anml.lab.seen import Case, Seen
from anml.lab.spec import At, Found, Setting, timed, words
from anml.reweight.dividemix import dividemix
from anml.reweight.glister import glister
from anml.reweight.learning_to_reweight import learning_to_reweight
from anml.reweight.training import Reweighted, Schedule

WAYS: dict[str, Callable[[Served, Schedule], Reweighted]] = {
    "L2RW": lambda seen, plan: learning_to_reweight(
        seen.x, seen.y, seen.root_x, seen.root_y, seen.classes, plan
    ),
    "DivideMix": lambda seen, plan: dividemix(seen.x, seen.y, seen.classes, plan),
    # Told the attackers' share, it keeps all but that.
    "GLISTER": lambda seen, plan: glister(
        seen.x, seen.y, seen.root_x, seen.root_y, seen.classes,
        float(np.clip(1 - seen.malicious / seen.clients, 0.05, 1.0)), plan,
    ),
}  # fmt: skip

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


def of_contributors(seen: Served, scores: Floats, threshold: float = 0.0) -> Answer:
    """Rows of all contributors but the worst, as many as there are attackers; or of all above a threshold."""
    best = np.argsort(scores, kind="stable")[seen.malicious :]
    kept, natural = (np.isin(seen.who, some) for some in (best, np.flatnonzero(scores > threshold)))
    return _choosing(kept, natural, scores)


def of_rows(seen: Served, scores: Floats, threshold: float = 0.0) -> Answer:
    """The rows with the best scores, all but the attackers' share; or those above a threshold."""
    kept = np.zeros(len(scores), dtype=bool)
    count = round(len(scores) * (1 - seen.malicious / seen.clients))
    kept[np.argsort(-scores, kind="stable")[:count]] = True
    return _choosing(kept, scores > threshold, seen.mean(scores))


def _choosing(kept: Bools, natural: Bools, quality: Floats) -> Answer:
    """Whoever would drop everything drops nothing."""
    return Answer(kept=kept, natural=natural if natural.any() else np.ones_like(kept), quality=quality)


def final_models(seen: Served, kept: Sequence[Bools], setting: Setting) -> list[Tuned]:
    """The common model trained on each choice of rows: different ones as one program for each rate."""
    if not kept:
        return []
    names = [choice.tobytes() for choice in kept]
    different = dict(zip(names, kept, strict=True))
    shape = Widths(seen.x.shape[1], setting.hidden, seen.classes)
    weight = torch.as_tensor(np.stack(list(different.values())), dtype=torch.float32)
    data = Data.shared(
        torch.as_tensor(seen.x, dtype=torch.float32), torch.as_tensor(seen.y, dtype=torch.long), weight
    )
    seeds, trained = [seen.seed] * len(different), []
    for rate in GRID:
        networks = initialise(shape, seeds)
        train(networks, data, "classification", seeds, epochs=setting.epochs, batch=setting.batch, lr=rate)
        trained.append(networks)
    found = {
        name: tuned(seen, [partial(predicted, shape, networks.flat[at]) for networks in trained])
        for at, name in enumerate(different)
    }
    return [found[name] for name in names]


def measured(case: Case, answer: Answer, model: Tuned, natural: Tuned | None = None) -> Measured:
    """Errors of the models, what is done with labels, and how contributors are ranked and paid."""
    found = {**of_test(case, model.predict, "backdoor"), "lr": model.rate, **of_labels(case, answer)}
    if natural is not None:
        found["error_natural"] = of_test(case, natural.predict)["error"]
    return found if answer.quality is None else {**found, **of_quality(case, answer.quality)}


@lru_cache(maxsize=len(WAYS))
def _at_every_rate(seen: Served, way: str, setting: Setting) -> list[Reweighted]:
    """The networks of a way; those for its rows and for its contributors are the same."""
    plans = [
        Schedule(setting.hidden, setting.epochs, setting.batch, rate, seen.seed % 2**31) for rate in GRID
    ]
    return [WAYS[way](seen, plan) for plan in plans]


def trained(seen: Served, way: str, setting: Setting, *, contributors: bool) -> Answer:
    """Train a way's own network at every rate; or the common one on the contributors that it weighs most."""
    found = _at_every_rate(seen, way, setting)
    predicts = [each.predict for each in found]
    weights = found[GRID.index(tuned(seen, predicts).rate)].weights
    scores = seen.mean(weights)
    if contributors:
        # A way has no threshold of its own for contributors: half of the usual weight is taken.
        return of_contributors(seen, scores, float(np.median(scores)) / 2)
    return Answer(predicts, quality=scores, weights=weights)


def decided(name: str, case: Trial, setting: Setting) -> Answer:
    """What a system makes of a trial, of which only the bounds see the truth."""
    seen = case.seen
    if name == "oracle":
        return Answer(kept=case.right & ~case.truth.bad, quality=(~case.bad).astype(np.float64))
    if name == "federated oracle":
        return aggregated(seen, honest_only(case.bad), says=False)
    if name in RULES:
        return aggregated(seen, RULES[name], says=name != "FedAvg")
    base, _, level = name.rpartition(", ")
    if name in TRAINING:
        return trained(seen, base or name, setting, contributors=level == "contributors")
    if level == "rows":
        return of_rows(seen, ROWS[base](seen, setting))
    thresholds: Mapping[str, float] = {
        "Kang": 0.5, "EigenTrust": 0.5 / seen.clients, "EigenTrust, no roots": 0.5 / seen.clients,
    }  # fmt: skip
    return of_contributors(seen, CONTRIBUTORS[name](seen, setting), thresholds.get(name, 0.0))


def run_trial(at: At, methods: list[str]) -> Found:
    """Measures of every method on one trial; the common model is trained for all of them at once."""
    setting, recipes = at.setting, at.experiment.methods
    case = make_trial(setting, at.trial, at.experiment.seed)
    answers: dict[str, Answer] = {}
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
    models = final_models(case.seen, [*rows.values(), *own.values()], setting)
    common, natural = dict(zip(rows, models, strict=False)), dict(zip(own, models[len(rows) :], strict=True))
    for name, answer in answers.items():
        model = common.get(name) or tuned(case.seen, answer.predicts)
        yield name, {**measured(case, answer, model, natural.get(name)), "seconds": seconds[name]}


def _weighed(seen: Seen, judged: Assessment, recipe: Recipe) -> Answer:
    if recipe.combine == "uniform":
        return Answer(kept=np.ones(len(seen.y), dtype=bool))
    found = with_every_class(weigh_signals(judged.signals, recipe), seen.y, judged.belief.p_correct)
    people = judged.belief.contributors
    if recipe.combine == "evidence" and people is not None:
        return Answer(kept=found.kept, quality=seen.by_name(people.quality))
    return Answer(kept=found.kept, quality=seen.mean(found.w))
