"""Labels that are made up: predictions, contributors of known skill, and what is believed of them."""

from typing import NamedTuple

import numpy as np

from anml.annotators.fit import fit_label_model
from anml.annotators.judge import estimate_labels_and_contributors
from anml.annotators.result import ContributorEstimates, LabelEstimates
from anml.annotators.rows import SideInformation
from anml.core.checks import Floats, Ints


class Crowd(NamedTuple):
    """Labels by item, each by some of the contributors."""

    item: Ints
    who: Ints
    y: Ints
    truth: Ints

    @property
    def side(self) -> SideInformation:
        return SideInformation(self.who, items=self.item)


def crowd(accuracy, classes: int = 3, items: int = 200, per_item: int = 5, seed: int = 0) -> Crowd:
    """Contributors who are right so often, and any other class else; `truth` is that of the row."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, classes, items)
    who = np.concatenate([rng.permutation(len(accuracy))[:per_item] for _ in range(items)])
    item = np.repeat(np.arange(items), per_item)
    right = rng.uniform(size=len(who)) < np.asarray(accuracy)[who]
    other = (truth[item] + rng.integers(1, classes, len(who))) % classes
    return Crowd(item, who, np.where(right, truth[item], other), truth[item])


def flat(n: int, classes: int) -> Floats:
    """Predictions that say nothing."""
    return np.log(np.full((n, classes), 1 / classes))


def sharp(truth: Ints, classes: int, p: float = 0.95) -> Floats:
    """Predictions that name the truth with probability p."""
    found = np.full((len(truth), classes), (1 - p) / (classes - 1))
    found[np.arange(len(truth)), truth] = p
    return np.log(found)


def noisy_predictions(truth: Ints, classes: int, accuracy: float, rng: np.random.Generator) -> Floats:
    """Predictions that are right at about this rate, and say so."""
    named = np.where(rng.uniform(size=len(truth)) < accuracy, truth, rng.integers(0, classes, len(truth)))
    return sharp(named, classes, accuracy)


def believed(log_p: Floats, y: Ints, side: SideInformation) -> LabelEstimates:
    """Return the estimates of one fit."""
    return estimate_labels_and_contributors(*fit_label_model(log_p, y, side), {}, side.codes is not None)


def judged(log_p: Floats, y: Ints, side: SideInformation) -> ContributorEstimates:
    """Return the contributor estimates of one fit."""
    found = believed(log_p, y, side).contributors
    assert found is not None
    return found
