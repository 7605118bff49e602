"""What a system makes of a trial, and how good that is."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from anml.core.calibration import ranking
from anml.core.checks import Array, Bools, Floats
from anml.gradients.mlp import Data, Networks, Shape, initialise, predict, train
from anml.lab.cited.names import MEASURES
from anml.lab.cited.trials import Seen, Truth
from anml.lab.spec import Setting


@dataclass(frozen=True, eq=False)
class Outcome:
    """One of a model, or rows to train the common one on.

    Parameters
    ----------
    predict
        Predicts classes of rows, where a system trains its own model.
    kept
        Rows that the common model is trained on, where it does not.
    scores
        How far each contributor is trusted or what it is worth; None where a system says nothing of them.
    weights
        How far each row counts, for the precision, where rows are neither kept nor dropped.
    """

    predict: Callable[[Any], Array] | None = None
    kept: Bools | None = None
    scores: Floats | None = None
    weights: Floats | None = None


def top_contributors(seen: Seen, scores: Floats) -> Bools:
    """Rows of all contributors but the worst, as many as there are attackers."""
    dropped = np.argsort(scores, kind="stable")[: seen.malicious]
    return np.asarray(~np.isin(seen.contributor, dropped))


def top_rows(seen: Seen, scores: Floats) -> Bools:
    """The rows with the best scores, of every class at least one: all but the attackers' share."""
    count = round(len(scores) * (1 - seen.malicious / seen.clients))
    kept = np.zeros(len(scores), dtype=bool)
    kept[np.argsort(-scores, kind="stable")[:count]] = True
    return kept


def final_models(seen: Seen, kept: Sequence[Bools], setting: Setting) -> list[Callable[[Any], Array]]:
    """The common model trained on each choice of rows: all of them as one program."""
    if not kept:
        return []
    shape = Shape(seen.x.shape[1], setting.hidden, seen.classes)
    networks = initialise(shape, [seen.seed] * len(kept))
    weight = torch.as_tensor(np.stack(kept), dtype=torch.float32)
    data = Data.shared(
        torch.as_tensor(seen.x, dtype=torch.float32),
        torch.as_tensor(seen.y, dtype=torch.long),
        weight,
    )
    seeds = [seen.seed] * len(kept)
    train(networks, data, "classification", seeds, epochs=setting.epochs, batch=setting.batch)
    return [_predictor(networks.pick([place])) for place in range(len(kept))]


def _predictor(network: Networks) -> Callable[[Any], Array]:
    def predicted(x: Any) -> Array:
        outputs = predict(network, torch.as_tensor(np.asarray(x), dtype=torch.float32))
        return np.asarray(outputs[0].argmax(dim=1).numpy())

    return predicted


def measured(
    seen: Seen, truth: Truth, outcome: Outcome, predicts: Callable[[Any], Array]
) -> dict[str, float]:
    """Every measure of a system; NaN where it says nothing, or there is nothing to measure."""
    found = dict.fromkeys(MEASURES, float("nan"))
    found["error"] = 100 * float((predicts(truth.x_test) != truth.y_test).mean())
    if truth.trigger is not None:
        found["backdoor"] = 100 * float((predicts(truth.trigger) == truth.target).mean())
    rows = outcome.kept if outcome.weights is None else outcome.weights
    if rows is not None and rows.sum() > 0:
        found["precision"] = 100 * float((rows * ~truth.wrong).sum() / rows.sum())
    if outcome.scores is not None:
        width = float(np.ptp(outcome.scores))
        unit = (outcome.scores - outcome.scores.min()) / width if width > 0 else np.full(seen.clients, 0.5)
        found["ranked"] = ranking(unit, ~truth.bad)
        positive = np.maximum(outcome.scores, 0.0)
        if positive.sum() > 0:
            found["paid_bad"] = 100 * float(positive[truth.bad].sum() / positive.sum())
    return found
