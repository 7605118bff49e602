"""Predictors trained on a sample, for rows that are not in it, and by halves for those that are."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch

from anml.core.checks import Array, Floats, Ints
from anml.core.profile import Training
from anml.gradients.crossfit import cross_fit
from anml.gradients.factors import Factors, network_factors
from anml.gradients.mlp import Networks, predict
from anml.predictors.pool import pool

TREES, LEAF = 10, 10
# Random samples that q is scored against, and its neighbours.
REFERENCES, NEIGHBOURS = 256, 10
# Share of the class prior in every prediction: no model is certain.
UNSURE = 0.02


class Half(NamedTuple):
    """Predictors trained on one half of the sample."""

    network: Networks
    forest: Any
    logistic: Any

    def each(self, x: Array, classes: int) -> list[Floats]:
        """Class probabilities (n, classes) by every predictor."""
        inputs = torch.as_tensor(np.asarray(x, dtype=np.float32))
        found = [torch.softmax(predict(self.network, inputs)[0].double(), dim=1).numpy()]
        for model in (self.forest, self.logistic):
            full = np.zeros((len(x), classes))
            full[:, model.classes_] = model.predict_proba(x)
            found.append(full)
        return found


@dataclass(frozen=True, eq=False)
class Models:
    """Both halves, how far each predictor counts, and references for q."""

    halves: tuple[Half, Half]
    share: Floats
    prior: Floats
    references: Factors

    @property
    def classes(self) -> int:
        """How many there are."""
        return len(self.prior)

    def log_p(self, x: Array, half: Ints) -> Floats:
        """Pooled log-probabilities; `half` is -1 for rows outside of the sample, else the row's own half."""
        by_half = [self._pooled(models.each(x, self.classes)) for models in self.halves]
        mean = (by_half[0] + by_half[1]) / 2
        for own in (0, 1):
            rows = half == own
            mean[rows] = by_half[1 - own][rows]
        return np.asarray(np.log(mean + 1e-9))

    def _pooled(self, each: list[Floats]) -> Floats:
        mixed = sum(s * p for s, p in zip(self.share, each, strict=True))
        return np.asarray((1 - UNSURE) * mixed + UNSURE * self.prior)

    def scores(self, x: Array, y: Ints, reference: Ints) -> Floats:
        """Krum scores against the references; `reference` is the place among them, -1 where it is none."""
        inputs = torch.as_tensor(np.asarray(x, dtype=np.float32))
        factors = network_factors(self.halves[0].network, inputs, torch.as_tensor(y), "classification")
        found = np.empty(len(y))
        theirs = self.references.norms()
        for start in range(0, len(y), 8_192):
            rows = slice(start, start + 8_192)
            block = factors.take(rows)
            tile = block.products(self.references).mul_(-2).add_(block.norms().unsqueeze(1)).add_(theirs)
            own = torch.as_tensor(reference[rows])
            known = (own >= 0).nonzero().flatten()
            tile[known, own[known]] = torch.inf
            near = torch.topk(tile.clamp_min_(0), min(NEIGHBOURS, len(theirs) - 1), dim=1, largest=False)
            found[rows] = near.values.sum(1).double().numpy()
        return found


def train_models(
    x: Array, y: Ints, classes: int, weight: Floats, half: Ints, training: Training, seed: int
) -> Models:
    """Train on a sample whose labels count as far as they are believed."""
    prior = np.bincount(y, minlength=classes) / len(y)
    rows = [np.flatnonzero(half == own) for own in (0, 1)]
    halves = [_trained(x, y, classes, weight, some, training, seed) for some in rows]
    each: list[Floats] = []
    for first, second in zip(*(models.each(x, classes) for models in halves), strict=True):
        held_out = np.where((half == 0)[:, None], second, first)
        each.append(np.log((1 - UNSURE) * held_out + UNSURE * prior + 1e-9))
    share = pool(each, y, weight).share
    some = np.arange(min(REFERENCES, len(y)))
    inputs = torch.as_tensor(np.asarray(x[some], dtype=np.float32))
    references = network_factors(halves[0].network, inputs, torch.as_tensor(y[some]), "classification")
    return Models((halves[0], halves[1]), share, prior, references)


def _trained(
    x: Array, y: Ints, classes: int, weight: Floats, rows: Ints, training: Training, seed: int
) -> Half:
    from sklearn.ensemble import ExtraTreesClassifier
    from sklearn.linear_model import LogisticRegression

    some, labels, counts = np.asarray(x[rows], dtype=np.float32), y[rows], np.maximum(weight[rows], 1e-3)
    fit = cross_fit(
        torch.as_tensor(some), torch.as_tensor(labels), "classification", classes, None, training, seed,
        weight=counts,
    )  # fmt: skip
    forest = ExtraTreesClassifier(TREES, min_samples_leaf=LEAF, random_state=seed)
    logistic = LogisticRegression(C=0.1, max_iter=100, tol=1e-3)
    return Half(
        fit.full,
        forest.fit(some, labels, sample_weight=counts),
        logistic.fit(some, labels, sample_weight=counts),
    )
