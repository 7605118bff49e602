"""Evaluation of systems on a trial; all are tuned equally, on a validation part with its given labels."""

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np
import torch

from anml.core.checks import Bools, Floats
from anml.gradients.mlp import as_data, initialise
from anml.networks.mlp import LayerWidths, TrainingData, train
from experiments.cited.trials import SystemInput
from experiments.federated_clients import predicted
from experiments.measures import Measured, Outcome, Predict, of_labels, of_quality, of_test
from experiments.reweight.dividemix import dividemix
from experiments.reweight.glister import glister
from experiments.reweight.learning_to_reweight import learning_to_reweight
from experiments.reweight.training import Reweighted, Schedule
from experiments.seen import Case
from experiments.spec import Setting

# Rates of learning that are tried; of two that do equally well the first is taken.
GRID = (1e-3, 3e-4, 3e-3)


class Tuned(NamedTuple):
    """The model with the rate that does best on the validation part, and that rate."""

    predict: Predict
    rate: float


def select_learning_rate(inputs: SystemInput, predicts: Sequence[Predict]) -> Tuned:
    """Choose one of the models that were trained at the rates of the grid."""
    wrong = [float((each(inputs.held_x) != inputs.held_y).mean()) for each in predicts]
    best = int(np.argmin(wrong))
    return Tuned(predicts[best], GRID[best])


def of_contributors(inputs: SystemInput, scores: Floats, threshold: float = 0.0) -> Outcome:
    """Rows of all contributors but the worst, as many as there are attackers; or of all above a threshold."""
    best = np.argsort(scores, kind="stable")[inputs.malicious :]
    kept, natural = (np.isin(inputs.who, subset) for subset in (best, np.flatnonzero(scores > threshold)))
    return _non_empty(kept, natural, scores)


def of_rows(inputs: SystemInput, scores: Floats, threshold: float = 0.0) -> Outcome:
    """The rows with the best scores, all but the attackers' share; or those above a threshold."""
    kept = np.zeros(len(scores), dtype=bool)
    count = round(len(scores) * (1 - inputs.malicious / inputs.clients))
    kept[np.argsort(-scores, kind="stable")[:count]] = True
    return _non_empty(kept, scores > threshold, inputs.mean(scores))


def _non_empty(kept: Bools, natural: Bools, quality: Floats) -> Outcome:
    """Whoever would drop everything drops nothing."""
    return Outcome(kept=kept, natural=natural if natural.any() else np.ones_like(kept), quality=quality)


def final_models(inputs: SystemInput, kept: Sequence[Bools], setting: Setting) -> list[Tuned]:
    """The common model trained on each choice of rows: different ones as one program for each rate."""
    if not kept:
        return []
    names = [choice.tobytes() for choice in kept]
    different = dict(zip(names, kept, strict=True))
    shape = LayerWidths(inputs.x.shape[1], setting.hidden, inputs.classes)
    weight = torch.as_tensor(np.stack(list(different.values())), dtype=torch.float32)
    data = TrainingData.shared(*as_data(inputs.x, inputs.y), weight)
    seeds, trained = [inputs.seed] * len(different), []
    for rate in GRID:
        networks = initialise(shape, seeds)
        train(networks, data, "classification", seeds, epochs=setting.epochs, batch=setting.batch, lr=rate)
        trained.append(networks)
    result = {
        name: select_learning_rate(
            inputs, [partial(predicted, shape, networks.flat[at]) for networks in trained]
        )
        for at, name in enumerate(different)
    }
    return [result[name] for name in names]


def measure_models(case: Case, answer: Outcome, model: Tuned, natural: Tuned | None = None) -> Measured:
    """Errors of the models, what is done with labels, and how contributors are ranked and paid."""
    result = {**of_test(case, model.predict, "backdoor"), "lr": model.rate, **of_labels(case, answer)}
    if natural is not None:
        result["error_natural"] = of_test(case, natural.predict)["error"]
    return result if answer.quality is None else {**result, **of_quality(case, answer.quality)}


REWEIGHTING_METHODS: dict[str, Callable[[SystemInput, Schedule], Reweighted]] = {
    "L2RW": lambda inputs, plan: learning_to_reweight(
        inputs.x, inputs.y, inputs.root_x, inputs.root_y, inputs.classes, plan
    ),
    "DivideMix": lambda inputs, plan: dividemix(inputs.x, inputs.y, inputs.classes, plan),
    # Told the attackers' share, it keeps all but that.
    "GLISTER": lambda inputs, plan: glister(
        inputs.x, inputs.y, inputs.root_x, inputs.root_y, inputs.classes,
        float(np.clip(1 - inputs.malicious / inputs.clients, 0.05, 1.0)), plan,
    ),
}  # fmt: skip


@lru_cache(maxsize=len(REWEIGHTING_METHODS))
def _at_every_rate(inputs: SystemInput, way: str, setting: Setting) -> list[Reweighted]:
    """The networks of a way; those for its rows and for its contributors are the same."""
    plans = [
        Schedule(setting.hidden, setting.epochs, setting.batch, rate, inputs.seed % 2**31) for rate in GRID
    ]
    return [REWEIGHTING_METHODS[way](inputs, plan) for plan in plans]


def train_reweighting(inputs: SystemInput, way: str, setting: Setting, *, contributors: bool) -> Outcome:
    """Train a way's own network at every rate; or the common one on the contributors that it weighs most."""
    result = _at_every_rate(inputs, way, setting)
    predicts = [each.predict for each in result]
    weights = result[GRID.index(select_learning_rate(inputs, predicts).rate)].weights
    scores = inputs.mean(weights)
    if contributors:
        # A way has no threshold of its own for contributors: half of the usual weight is taken.
        return of_contributors(inputs, scores, float(np.median(scores)) / 2)
    return Outcome(predicts, quality=scores, weights=weights)
