"""Predictors trained on a sample, for rows that are not in it, and by halves for those that are."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from anml.annotators.result import average_over_hypotheses
from anml.core.checks import Array, Floats, Ints
from anml.core.profile import PredictorTraining
from anml.networks.crossfit import cross_fit
from anml.networks.factors import Factors, network_factors
from anml.networks.mlp import NetworkBatch, as_data, predict, softmax
from anml.networks.sample_krum import k_smallest
from anml.predictors.classes import SMOOTHING, expand_to_all_classes
from anml.predictors.pool import pool_predictions

TREES, LEAF = 10, 10
# Random samples that q is scored against, and its neighbours.
REFERENCES, NEIGHBOURS = 256, 10


class HalfModels(NamedTuple):
    """Predictors trained on one half of the sample."""

    network: NetworkBatch
    forest: Any
    logistic: Any

    def each(self, x: Array, prior: Floats) -> list[Floats]:
        """Class probabilities (n, classes) by every predictor."""
        outputs = predict(self.network, np.asarray(x, dtype=np.float32))[0]
        found = [softmax(outputs.astype(np.float64))]
        found += [expand_to_all_classes(model, x, len(prior)) for model in (self.forest, self.logistic)]
        return [(1 - SMOOTHING) * part + SMOOTHING * prior for part in found]


@dataclass(frozen=True, eq=False)
class Models:
    """Both halves, how far each predictor counts, references for q, and what scales features.

    `row` and `half` are places of the sample in the table, in order, and the half of each; the first rows are
    the references.
    """

    halves: tuple[HalfModels, HalfModels]
    share: Floats
    prior: Floats
    references: Factors
    scaler: StandardScaler
    row: Ints
    half: Ints

    def say(self, row: Ints, x: Array, y: Ints, given: Floats | None) -> dict[str, Floats]:
        """Pooled log-probabilities of rows by models that did not see them, and raw scores."""
        at = np.minimum(np.searchsorted(self.row, row), len(self.row) - 1)
        inside, inputs = self.row[at] == row, self.scaler.transform(x)
        reference = np.where(inside & (at < len(self.references)), at, -1)
        log_p = self._log_p(inputs, np.where(inside, self.half[at], -1), given)
        return {"log_p": log_p, "raw": self._scores(inputs, y, reference)}

    def _log_p(self, x: Array, half: Ints, given: Floats | None) -> Floats:
        """`half` is -1 for rows outside of the sample, else the row's own half."""
        beside = [] if given is None else [given]
        first, second = (
            average_over_hypotheses(self.share, [*models.each(x, self.prior), *beside])
            for models in self.halves
        )
        other = np.where((half == 0)[:, None], second, first)
        return np.asarray(np.log(np.where((half < 0)[:, None], (first + second) / 2, other) + 1e-9))

    def _scores(self, x: Array, y: Ints, reference: Ints) -> Floats:
        """Krum scores against the references; `reference` is the place among them, -1 where it is none."""
        factors = network_factors(self.halves[0].network, *as_data(x, y), "classification")
        found, theirs = np.empty(len(y)), self.references.norms()
        for start in range(0, len(y), 8_192):
            rows = slice(start, start + 8_192)
            block = factors.take(rows)
            tile = block.distances(self.references, block.norms(), theirs)
            own = reference[rows]
            known = np.flatnonzero(own >= 0)
            tile[known, own[known]] = np.inf
            near = k_smallest(np.maximum(tile, 0), min(NEIGHBOURS, len(theirs) - 1))
            found[rows] = near.sum(axis=1)
        return found


class TrainingSet(NamedTuple):
    """The sample: places, features, labels, how far each counts, halves, items, and predictions given."""

    row: Ints
    x: Array
    y: Ints
    weight: Floats
    half: Ints
    items: Ints | None
    given: Floats | None


def train_models(sample: TrainingSet, classes: int, training: PredictorTraining, seed: int) -> Models:
    """Train on a sample whose labels count as far as they are believed."""
    scaler = StandardScaler().fit(sample.x)
    x, prior = scaler.transform(sample.x), np.bincount(sample.y, minlength=classes) / len(sample.y)

    def trained(own: int) -> HalfModels:
        rows = np.flatnonzero(sample.half == own)
        some, labels, counts = x[rows], sample.y[rows], np.maximum(sample.weight[rows], 1e-3)
        groups = None if sample.items is None else np.unique(sample.items[rows], return_inverse=True)[1]
        fit = cross_fit(some, labels, "classification", classes, groups, training, seed, weight=counts)
        forest = ExtraTreesClassifier(TREES, min_samples_leaf=LEAF, random_state=seed)
        logistic = LogisticRegression(C=0.1, max_iter=100, tol=1e-3)
        return HalfModels(
            fit.full, *(each.fit(some, labels, sample_weight=counts) for each in (forest, logistic))
        )

    halves = trained(0), trained(1)
    both = zip(*(models.each(x, prior) for models in halves), strict=True)
    own = (sample.half == 0)[:, None]
    each = [np.log(np.where(own, second, first) + 1e-9) for first, second in both]
    if sample.given is not None:
        each.append(np.log(sample.given + 1e-9))
    share = pool_predictions(each, sample.y, sample.weight).share
    some = as_data(x[:REFERENCES], sample.y[:REFERENCES])
    references = network_factors(halves[0].network, *some, "classification")
    return Models(halves, share, prior, references, scaler, sample.row, sample.half)
