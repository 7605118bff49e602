"""What a system makes of a trial, and how good that is.

Everybody is tuned alike: each network is trained at every rate of `GRID`, and the one is taken that predicts
the validation part best, a seventh of the contributed rows with the labels they came with.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch

from anml.core.calibration import ranking
from anml.core.checks import Array, Bools, Floats
from anml.gradients.mlp import Data, Networks, Shape, initialise, predict, train
from anml.lab.cited.trials import Seen, Truth
from anml.lab.spec import Setting

# Rates of learning that are tried; of two that do equally well the first is taken.
GRID = (1e-3, 3e-4, 3e-3)
Predict = Callable[[Any], Array]
MEASURES = (
    *("error", "error_natural", "backdoor", "precision", "honest_lost", "ranked", "paid_bad", "lr"),
    "seconds",
)


@dataclass(frozen=True, eq=False)
class Outcome:
    """Models of its own (`predicts`, for each rate of the grid), or rows to train the common one on.

    These are `kept` when told how many to drop, `natural` by a threshold of its own. `scores` say how far
    each contributor is trusted, `weights` how far each row counts where rows are neither kept nor dropped.
    """

    predicts: Sequence[Predict] = ()
    kept: Bools | None = None
    natural: Bools | None = None
    scores: Floats | None = None
    weights: Floats | None = None


class Tuned(NamedTuple):
    """The model with the rate that does best on the validation part, and that rate."""

    predict: Predict
    rate: float


def tuned(seen: Seen, predicts: Sequence[Predict]) -> Tuned:
    """Choose one of the models that were trained at the rates of the grid."""
    wrong = [float((each(seen.held_x) != seen.held_y).mean()) for each in predicts]
    best = int(np.argmin(wrong))
    return Tuned(predicts[best], GRID[best])


def of_contributors(seen: Seen, scores: Floats, threshold: float = 0.0) -> Outcome:
    """Rows of all contributors but the worst, as many as there are attackers; or of all above a threshold."""
    dropped = np.argsort(scores, kind="stable")[: seen.malicious]
    above = np.flatnonzero(scores > threshold)
    kept, natural = (
        np.isin(seen.contributor, some) for some in (np.setdiff1d(seen.everybody, dropped), above)
    )
    return Outcome(kept=kept, natural=natural if natural.any() else np.ones_like(kept), scores=scores)


def of_rows(seen: Seen, scores: Floats, threshold: float = 0.0) -> Outcome:
    """The rows with the best scores, all but the attackers' share; or those above a threshold."""
    kept = np.zeros(len(scores), dtype=bool)
    count = round(len(scores) * (1 - seen.malicious / seen.clients))
    kept[np.argsort(-scores, kind="stable")[:count]] = True
    natural = scores > threshold
    natural = natural if natural.any() else np.ones_like(kept)
    return Outcome(kept=kept, natural=natural, scores=seen.by_client(scores))


def final_models(seen: Seen, kept: Sequence[Bools], setting: Setting) -> list[Tuned]:
    """The common model trained on each choice of rows: different ones as one program for each rate."""
    names = [choice.tobytes() for choice in kept]
    different = dict(zip(names, kept, strict=True))
    if not different:
        return []
    shape = Shape(seen.x.shape[1], setting.hidden, seen.classes)
    weight = torch.as_tensor(np.stack(list(different.values())), dtype=torch.float32)
    data = Data.shared(
        torch.as_tensor(seen.x, dtype=torch.float32), torch.as_tensor(seen.y, dtype=torch.long), weight
    )
    seeds, trained = [seen.seed] * len(different), []
    for rate in GRID:
        networks = initialise(shape, seeds)
        train(networks, data, "classification", seeds, epochs=setting.epochs, batch=setting.batch, lr=rate)
        trained.append(networks)
    place = {name: at for at, name in enumerate(different)}
    found = {
        name: tuned(seen, [predictor(networks.pick([at])) for networks in trained])
        for name, at in place.items()
    }
    return [found[name] for name in names]


def predictor(network: Networks) -> Predict:
    """Classes that a network predicts."""

    def predicted(x: Any) -> Array:
        outputs = predict(network, torch.as_tensor(np.asarray(x), dtype=torch.float32))
        return np.asarray(outputs[0].argmax(dim=1).numpy())

    return predicted


def measured(
    seen: Seen, truth: Truth, outcome: Outcome, model: Tuned, natural: Tuned | None = None
) -> dict[str, float]:
    """Every measure of a system; NaN where it says nothing, or there is nothing to measure."""
    found = dict.fromkeys(MEASURES, float("nan"))
    found["error"] = 100 * float((model.predict(truth.x_test) != truth.y_test).mean())
    found["lr"] = model.rate
    if natural is not None:
        found["error_natural"] = 100 * float((natural.predict(truth.x_test) != truth.y_test).mean())
    if truth.trigger is not None:
        found["backdoor"] = 100 * float((model.predict(truth.trigger) == truth.target).mean())
    rows = outcome.kept if outcome.weights is None else outcome.weights
    if rows is not None and rows.sum() > 0:
        found["precision"] = 100 * float((rows * ~truth.wrong).sum() / rows.sum())
    if outcome.kept is not None:
        found["honest_lost"] = 100 * float((~outcome.kept)[~truth.bad[seen.contributor]].mean())
    if outcome.scores is not None:
        width = float(np.ptp(outcome.scores))
        unit = (outcome.scores - outcome.scores.min()) / width if width > 0 else np.full(seen.clients, 0.5)
        found["ranked"] = ranking(unit, ~truth.bad)
        positive = np.maximum(outcome.scores, 0.0)
        if positive.sum() > 0:
            found["paid_bad"] = 100 * float(positive[truth.bad].sum() / positive.sum())
    return found
