"""Parameters of the contributor model: population and contributors."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import special

from anml.annotators.rows import LabelData
from anml.core.checks import Floats

# How labels of the population go wrong: never, at one rate to any other class alike, or by class; and the log
# prior odds of each: that labels of ordinary contributors are wrong must be seen. Or all are of the
# population.
HYPOTHESES = {"none": 0.0, "even": -3.0, "classes": -3.0, "all ordinary": 0.0}
# Log-odds beforehand that a label is right (mean, variance), and that a contributor is not of the population.
ACCURACY_LOGIT_PRIOR, ATYPICAL_PRIOR_LOGIT = (2.5, 4.0), -2.0
# The same as shares: of the population, answering without looking, like nobody.
TYPE_PRIOR = np.array(
    [1 - special.expit(ATYPICAL_PRIOR_LOGIT), *np.full(2, special.expit(ATYPICAL_PRIOR_LOGIT) / 2)]
)
# Log-odds of a label against which nothing speaks.
MAX_LOGIT = 9.0
# Labels that a prior of cells counts as: where wrong labels go; twice that for a matrix that is like
# nobody's.
CELL_PSEUDO_COUNT = 2.0
# How alike people are beforehand, in labels: in how often they are right, and in what they confuse; and the
# deviation of the logarithm of both.
ACCURACY_CONCENTRATION, CONFUSION_CONCENTRATION, LOG_CONCENTRATION_SD = 10.0, 30.0, 1.5
# In labels too: nobody differs.
POOLED_CONCENTRATION = 1e6
# Passes before contributors are judged, and rows that settings are chosen by.
BURN_IN, TUNING_ROWS = 6, 20_000
# Predictions may need to be so much flatter, or sharper, than they say.
MAX_TEMPERATURE, MIN_TEMPERATURE = 4.0, 0.1


@dataclass(frozen=True, eq=False)
class Params:
    """Parameters of the population and of every contributor before an iteration.

    `hypothesis`: one of `HYPOTHESES`.
    `size`, `given`, `share`: rows of each contributor (K,), its labels (K, C), share of each label in all.
    `temperature`, `together`, `skill`, `alike`, `own_prior`, `credited`: settings, chosen by how well labels
    are predicted without themselves; `own_prior` None is off, and so are credentials of rows that are not
    `credited`.
    `vouching`, `means`: mean credentials of each contributor's rows (K, p), and the same in standard units.
    `base`, `by_class`, `worth`: log-odds that a label is right, by class, and what credentials add.
    `strange`, `strange_worth`: log-odds of a contributor not being of the population, and what its mean
    credentials add.
    `types`: posterior of being ordinary, answering without looking, being like nobody (K, 3).
    `counts`, `expected`, `likelihood`: labels by truth [contributor, label, truth] for either type that looks
    (2, K, C, C), rights that the population would have on these rows (K,), log-likelihoods of the types (K,
    3); None before a pass.
    `told`: whether known truth is looked at.
    `steps`, `former`: how many passes there were, and `types` before the last of them.
    """

    hypothesis: str
    size: Floats
    given: Floats
    share: Floats
    vouching: Floats
    means: Floats
    usual: Floats
    types: Floats
    by_class: Floats
    worth: Floats
    strange_worth: Floats
    base: float = ACCURACY_LOGIT_PRIOR[0]
    strange: float = ATYPICAL_PRIOR_LOGIT
    temperature: float = 1.0
    hottest: float = MAX_TEMPERATURE
    together: float = 0.0
    skill: float = ACCURACY_CONCENTRATION
    alike: float = CONFUSION_CONCENTRATION
    own_prior: float | None = None
    credited: bool = True
    counts: Floats | None = None
    expected: Floats | None = None
    likelihood: Floats | None = None
    predicted: bool = True
    shared: bool = False
    told: bool = True
    steps: int = 0
    former: Floats | None = None

    @property
    def classes(self) -> int:
        """Number of classes."""
        return len(self.share)

    @property
    def noise_free(self) -> bool:
        """True if the hypothesis excludes wrong labels of regular contributors."""
        return self.hypothesis in ("none", "all ordinary")

    @property
    def judging(self) -> bool:
        """True if the hypothesis allows atypical contributors."""
        return self.hypothesis != "all ordinary" and len(self.size) > 1

    def right(self, rows: LabelData) -> Floats:
        """Log-odds that a label of each row is right, by class, for the mean of the population."""
        if self.noise_free:
            return np.full((1, self.classes), MAX_LOGIT)
        odds = self.base + self.by_class[None, :]
        if len(self.worth):
            odds = odds + (rows.features @ self.worth)[:, None]
        return np.asarray(np.clip(odds, -12, 12))

    def usual_worth(self) -> Floats:
        """Mean log-odds contributed by the credentials of each contributor's rows (K,)."""
        return np.asarray(self.vouching @ self.worth)

    def usually_right(self) -> Floats:
        """Log-odds that a label of each contributor is right, by class, if it is as the population (K, C)."""
        odds = self.base + self.by_class[None, :] + self.usual_worth()[:, None]
        return np.asarray(np.clip(odds, -12, 12))

    def wrong_to(self) -> Floats:
        """Error distribution of the population [true class, label]; initially uniform."""
        even = CELL_PSEUDO_COUNT / max(self.classes - 1, 1) * (1 - np.eye(self.classes))
        if self.hypothesis == "classes" and self.classes > 2 and self.counts is not None:
            counted = np.einsum("k,kyz->zy", self.types[:, 0], self.counts[0])
            even = even + counted * (1 - np.eye(self.classes))
        return np.asarray(even / np.maximum(even.sum(axis=1, keepdims=True), 1e-12))

    def pooled(self) -> Floats:
        """The matrix of the others who are like nobody, for each contributor [contributor, label, truth]."""
        assert self.counts is not None
        counted = self.types[:, 2][:, None, None] * self.counts[1]
        pooled = np.maximum(counted.sum(axis=0) - counted, 0) + 2 * CELL_PSEUDO_COUNT * default_confusion(
            self.classes
        )
        return np.asarray(pooled / pooled.sum(axis=1, keepdims=True))


class TypePosteriors(NamedTuple):
    """Of each row the truth: if its contributor is ordinary, if like nobody, by all but itself (n, C)."""

    ordinary: Floats
    other: Floats
    seen: Floats


class EMStats(NamedTuple):
    """Sums over rows, which add up over slices; `moved` is how far beliefs are from the pass before."""

    counts: Floats
    expected: Floats
    likelihood: Floats
    seen: Floats
    slope: Floats
    curve: Floats
    by_class: Floats
    tried: Floats
    moved: Floats


def default_confusion(classes: int) -> Floats:
    """Before anything is seen half of the labels of somebody like nobody are right, the rest is anything."""
    return np.asarray(0.5 / classes + 0.5 * np.eye(classes))


def log_normalise(logs: Floats) -> tuple[Floats, Floats]:
    """Log-probabilities that sum to one in each row, and the logarithm of what they summed to."""
    # Column by column: reducing many short rows is slow.
    most = logs[:, 0].copy()
    for column in logs.T[1:]:
        np.maximum(most, column, out=most)
    moved = logs - most[:, None]
    total = np.log(np.exp(moved) @ np.ones(logs.shape[1]))
    moved -= total[:, None]
    return moved, total + most
