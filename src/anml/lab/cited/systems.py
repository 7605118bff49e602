"""Every cited system on one trial, told how many attackers there are and, beside that, told nothing."""

from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

import numpy as np

from anml.assess.assess import Assessment, Known
from anml.core.domain import Recipe
from anml.core.weigh import weigh_signals, with_every_class
from anml.lab.belief import assessed
from anml.lab.cited.outcome import (
    WAYS,
    Outcome,
    final_models,
    measured,
    of_contributors,
    of_rows,
    trained,
    tuned,
)
from anml.lab.cited.rules import RULES, aggregated, honest_only
from anml.lab.cited.trials import Seen, Truth, make_trial
from anml.lab.cited.values import CONTRIBUTORS, ROWS
from anml.lab.spec import At, Found, Setting, timed

# Values of rows, and of contributors by the mean of their rows or by a game of their own.
VALUE = (*CONTRIBUTORS, *(f"{name}, rows" for name in ROWS))
# Ways of training; and what becomes of the common network on contributors whose rows they weigh most.
TRAINING = (*WAYS, *(f"{name}, contributors" for name in WAYS))
BOUNDS = ("oracle", "federated oracle")
PEERS = (*RULES, *VALUE, *TRAINING, *BOUNDS)


class System(NamedTuple):
    """What a system needs beside updates or rows, and where it comes from."""

    needs: str
    reference: str


_IDS_AND_ROOT = "ids, a clean set; f or none"
SYSTEMS: dict[str, System] = {
    "FedAvg": System("ids", "McMahan et al. 2017"),
    "Krum": System("ids, f", "Blanchard et al. 2017"),
    "Multi-Krum": System("ids, f", "Blanchard et al. 2017"),
    "median": System("ids", "Yin et al. 2018"),
    "trimmed mean": System("ids, f", "Yin et al. 2018"),
    "Bulyan": System("ids, f of at most (n - 3) / 4", "El Mhamdi et al. 2018"),
    "FLTrust": System("ids, a clean set", "Cao et al. 2021"),
    "FLTrust, own set": System("ids, rows at random", "FLTrust without a clean set"),
    "RECESS": System("ids, clients that answer probes", "Yan et al. 2023"),
    "ours, q v r T": System("ids, v, r", "ours"),
    "ours, believed": System("ids, v, r", "ours"),
    "Data Shapley": System(_IDS_AND_ROOT, "Ghorbani and Zou 2019"),
    "Beta Shapley": System(_IDS_AND_ROOT, "Kwon and Zou 2022"),
    "Data Banzhaf": System(_IDS_AND_ROOT, "Wang and Jia 2023"),
    "KNN Shapley": System(_IDS_AND_ROOT, "Jia et al. 2019"),
    "influence": System(_IDS_AND_ROOT, "Koh and Liang 2017"),
    "TRAK": System(_IDS_AND_ROOT, "Park et al. 2023"),
    "spectral": System("ids, f or none", "Tran et al. 2018"),
    "clusters": System("ids, f or none", "Chen et al. 2019"),
    "clusters by ids": System("ids, f or none", "ours, on activation clusters"),
    "GTG-Shapley": System(_IDS_AND_ROOT, "Liu et al. 2022"),
    "EigenTrust": System("ids, votes, trusted contributors; f or none", "Kamvar et al. 2003"),
    "EigenTrust, no roots": System("ids, votes; f or none", "EigenTrust, all trusted"),
    "Kang": System(_IDS_AND_ROOT, "Kang et al. 2019"),
    "Agarwal": System(_IDS_AND_ROOT, "Agarwal et al. 2019"),
    "L2RW": System("a clean set", "Ren et al. 2018"),
    "DivideMix": System("nothing", "Li et al. 2020"),
    "GLISTER": System("a clean set, f", "Killamsetty et al. 2021"),
}
# Recipes of ours: `q` alone keeps a share that it is told.
RECIPES = {
    "uniform": "nothing", "krum": "a share to keep", "multiplicative": "v, r, a share to keep",
    "softmax": "v, r, a share to keep", "adaptive": "v, r, a share to keep", "guarded": "v, r",
    "evidence": "ids, v, r", "oracle": "the truth", "federated oracle": "the truth",
}  # fmt: skip


def needs(name: str) -> str:
    """What a method must be given."""
    base, _, level = name.rpartition(", ")
    if level == "rows":
        return SYSTEMS[base].needs.removeprefix("ids, ")
    if level == "contributors":
        return ", ".join(
            dict.fromkeys(["ids", *SYSTEMS[base].needs.replace("nothing", "f").split(", "), "f"])
        )
    return SYSTEMS[name].needs if name in SYSTEMS else RECIPES.get(name, "ids, v, r")


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
        return trained(seen, base or name, setting, contributors=level == "contributors")
    if level == "rows":
        return of_rows(seen, ROWS[base](seen, setting))
    thresholds: Mapping[str, float] = {
        "Kang": 0.5, "EigenTrust": 0.5 / seen.clients, "EigenTrust, no roots": 0.5 / seen.clients,
    }  # fmt: skip
    return of_contributors(seen, CONTRIBUTORS[name](seen, setting), thresholds.get(name, 0.0))


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
