"""From features, labels and what is known of contributors to signals, weights and attribution.

The one path that the estimators and the audit share.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from anml.annotators.result import LabelEstimates
from anml.annotators.rows import SideInformation
from anml.assessment.labels import LabelModelInput, estimate_labels
from anml.assessment.numbers import estimate_values
from anml.core.checks import Array, Bools, Floats, Ints, as_ages, as_codes, check_seed
from anml.core.contributors import contributor_summary, derivation_factor
from anml.core.errors import InputError
from anml.core.profile import Profile
from anml.core.progress import Progress
from anml.core.stats import standardise
from anml.core.types import Recipe, Signals, Task, Weighting
from anml.networks.crossfit import CrossFit, scale_targets
from anml.networks.scoring import Scores, raw_scores
from anml.networks.threads import limit_threads
from anml.signals.freshness import ContextDecay, Decay, decay_of
from anml.signals.levels import level_values
from anml.signals.quality import scale_scores
from anml.signals.reputation import REPUTATION, ColdStart, prior_counts
from anml.signals.verification import VERIFICATION
from anml.weighting.weigh import (
    TrainingLabels,
    compute_sample_weights,
    keep_one_per_class,
    recipe_of,
    training_labels,
)

# References that q is sought among where no weight depends on it.
DISPLAY_REFERENCES = 512


@dataclass(frozen=True)
class SampleInfo:
    """Optional inputs of each sample beside its features and label; None if absent.

    `contributor`, `item`: identifiers of the contributor and of the item.
    `verification`, `reputation`: level names, or numbers in [0, 1].
    `age`: years since the contribution.
    `parents`: for each sample, the positions of the samples it was derived from.
    `predictions`: user-provided held-out predictions: class probabilities (n, classes), columns in the
    order of the class codes and rows that sum to 1; or predicted numbers (n,).
    `rates`: True if these are class rates that were not predicted by a model.
    `truth`: true labels: class codes with -1 if unknown, or numbers with NaN if unknown.
    `wrong`: rows whose label is known to be wrong, even if the true label is unknown.
    """

    contributor: np.ndarray[Any, Any] | None = None
    item: np.ndarray[Any, Any] | None = None
    verification: Any = None
    reputation: Any = None
    age: Any = None
    parents: Sequence[Sequence[int]] | None = None
    predictions: Floats | None = None
    rates: bool = False
    truth: Array | None = None
    wrong: Bools | None = None


@dataclass(frozen=True)
class SamplePolicy:
    """Settings of an assessment: recipe, scoring model, freshness, and newcomer floor."""

    recipe: Recipe
    profile: Profile
    decay: Decay | ContextDecay
    cold_start: ColdStart
    seed: int = 0

    def __post_init__(self) -> None:
        check_seed(self.seed)

    @classmethod
    def of(cls, recipe: str | Recipe | Mapping[str, Any], seed: int) -> "SamplePolicy":
        """Return the settings of a recipe, given by name, by its settings, or as it is."""
        rule = recipe_of(recipe)
        floor = ColdStart(rule.r_min, rule.newcomer_rows)
        return cls(rule, rule.profile, decay_of(rule.half_life), floor, seed)


@dataclass(frozen=True)
class Assessment:
    """Everything that was found out about the samples; `training` are labels to train on, where given."""

    scores: Scores
    belief: LabelEstimates
    signals: Signals
    weighting: Weighting
    contributors: dict[str, Any] | None
    training: TrainingLabels | None = None


def assess(
    x: Array, y: Array, task: Task, classes: int, known: SampleInfo, policy: SamplePolicy, *,
    progress: Progress | None = None, believed: LabelEstimates | None = None,
) -> Assessment:  # fmt: skip
    """Believe, score, build signals, weigh, and sum up by contributor.

    `believed` is what judgements of another shape are believed by, where they are no classes.
    """
    n = len(y)
    codes, names = (
        (None, None) if known.contributor is None else as_codes("contributor", known.contributor, n)
    )
    items = None if known.item is None or believed is not None else _items(known.item, n)
    signals = _signals(known, policy, codes, n)
    # A signal that the recipe does not use is no evidence either.
    used = signals.only(policy.recipe.use)
    when = None if known.age is None else -as_ages("age", known.age, n)
    side = SideInformation(
        codes, _credentials(used, _has_gold(known, n)), items, known.truth, known.wrong, when
    )
    scaled, belief, fit = standardise(np.asarray(x, dtype=np.float64)), believed, None
    if belief is None:
        belief, fit = _estimate_labels(scaled, y, task, classes, side, known, policy, progress)
    scores = _scores(scaled, y, task, belief, fit, policy, progress)
    signals = replace(
        signals, q=scores.q, p_correct=belief.p_correct, label_error_rate=belief.wrong.mean,
        disputed=belief.doubtful, equal_votes=belief.evenly,
        no_overlap=None if belief.around.covered is None or codes is None else ~belief.around.covered[codes],
    )  # fmt: skip
    weighting = compute_sample_weights(signals, policy.recipe)
    if task == "classification":
        weighting = keep_one_per_class(weighting, np.asarray(y), belief.p_correct)
    contributors = None
    if codes is not None and names is not None:
        contributors = contributor_summary(signals, weighting, codes, names, belief.contributors)
    training = None if believed else training_labels(weighting, signals, np.asarray(y), belief.truth, task)
    return Assessment(scores, belief, signals, weighting, contributors, training)


def _estimate_labels(
    x: Floats,
    y: Array,
    task: Task,
    classes: int,
    side: SideInformation,
    known: SampleInfo,
    policy: SamplePolicy,
    progress: Progress | None,
) -> tuple[LabelEstimates, CrossFit | None]:
    given, training, seed = known.predictions, policy.profile, policy.seed
    with limit_threads(1):
        if task == "classification":
            codes = np.asarray(y, dtype=np.int64)
            table = LabelModelInput(x, codes, classes, side, given, training, seed, known.rates)
            return estimate_labels(table, progress)
        return estimate_values(x, np.asarray(y, dtype=np.float64), side, given, training, seed, progress)


def _scores(
    x: Floats, y: Array, task: Task, belief: LabelEstimates, fit: CrossFit | None, policy: SamplePolicy,
    progress: Progress | None,
) -> Scores:  # fmt: skip
    """Q by the networks that made the first predictions; where there are none, by the belief alone."""
    if fit is None:
        return Scores(1 - belief.p_correct, scale_scores(1 - belief.p_correct), belief.predicted, 0)
    profile = policy.profile
    if policy.recipe.combine == "evidence" and profile.references is None:
        # Nothing is decided by it: some references are enough to show it.
        profile = replace(profile, references=min(len(y), DISPLAY_REFERENCES))
    if task == "classification":
        loss = -belief.predicted[np.arange(len(y)), np.asarray(y, dtype=np.int64)]
    else:
        loss = np.square(belief.predicted - y) / max(float(np.var(y)), 1e-12)
    raw = raw_scores(fit, x, scale_targets(y, task)[0], task, loss, profile, policy.seed, progress)
    return Scores(raw, scale_scores(raw), belief.predicted, profile.epochs or fit.epochs)


def _items(item: Array, n: int) -> Ints:
    codes, names = as_codes("item", item, n)
    if len(names) < 2:
        raise InputError(
            f"item is {names[0]!r} in every row; at least two are needed, to hold one out from the other"
        )
    return codes


def _has_gold(known: SampleInfo, n: int) -> Bools:
    """Rows of which it is known whether their label is right."""
    found = np.zeros(n, dtype=bool) if known.wrong is None else known.wrong.copy()
    if known.truth is not None:
        truth = np.asarray(known.truth)
        found |= ~np.isnan(truth) if truth.dtype.kind == "f" else truth >= 0
    return found


def _credentials(signals: Signals, known: Bools) -> Floats | None:
    """Credentials that were given and differ between rows.

    A row whose right label is known earns its v by that, which says nothing of rows that nobody looked at:
    it counts as the mean of those.
    """
    if known.all():
        return None
    named = [getattr(signals, name) for name in ("v", "r", "t") if name in signals.given]
    columns = [np.where(known, np.mean(column[~known]), column) for column in named]
    columns = [column for column in columns if np.ptp(column) > 1e-9]
    return np.column_stack(columns) if columns else None


def _signals(known: SampleInfo, policy: SamplePolicy, codes: Ints | None, n: int) -> Signals:
    v = r = t = None
    if known.verification is not None:
        v = level_values("verification", known.verification, VERIFICATION)
    if known.reputation is not None:
        r = level_values("reputation", known.reputation, REPUTATION)
        if codes is not None:
            # A contributor's rows count in order of time where ages are known, else as they come.
            order = None if known.age is None else -as_ages("age", known.age, n)
            flagged = None if v is None else v <= VERIFICATION["flagged"].high
            r = policy.cold_start.apply(r, prior_counts(codes, order), flagged)
    if known.age is not None and policy.decay != Decay(0.0):
        t = policy.decay(as_ages("age", known.age, n))
    if known.parents is not None:
        s = derivation_factor(
            (1.0 if v is None else v) * np.ones(n) * (1.0 if r is None else r), known.parents
        )
        # The chain's product takes the place of v r: v carries what r does not.
        v = s if r is None else np.divide(s, r, out=np.zeros(n), where=r > 0)
    return Signals.of(np.ones(n), v, r, t, known.contributor)
