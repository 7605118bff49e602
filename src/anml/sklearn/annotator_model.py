"""`AnnotatorModel`: p_correct, consensus and contributors from labels on arrays."""

from dataclasses import replace
from typing import Any, Self

import numpy as np
import polars as pl
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from anml.annotators.confusion import confusion_matrices
from anml.annotators.consensus import (
    consensus_posterior,
    exclude_rejected,
    pool_posteriors_by_item,
    pool_values_by_item,
)
from anml.annotators.result import LabelEstimates
from anml.assessment.assess import Assessment, SampleInfo, SamplePolicy, assess
from anml.assessment.contributors import contributor_frame
from anml.assessment.ordinal import clear_followers, fit_order, ordinal_estimates, rater_effects
from anml.core.checks import Floats, as_codes, as_vector
from anml.core.errors import InputError
from anml.io.times import ages, require_times
from anml.sklearn.alignment import (
    align_rows,
    as_column,
    as_series,
    distinct_values,
    sorting_order,
    with_own_type,
)
from anml.sklearn.labels import ArrayLabels, read_labels, read_probabilities
from anml.sklearn.validation import sample_info
from anml.tasks import Task


class AnnotatorModel(BaseEstimator):
    """Estimate p_correct of each label, consensus labels and the reliability of contributors.

    The model behind `anml.audit` on arrays, without features. Labels, items and contributors keep their type.

    Parameters
    ----------
    task
        `"auto"`, `"classification"`, `"ordinal"`, `"regression"`, or an object of `anml.tasks`;
        `anml.tasks.Ordinal(order=[...])` names the grades, lowest first.
    random_state
        Seed, as in scikit-learn.

    Attributes
    ----------
    p_correct_
        Probability that each label is correct.
    consensus_
        Frame with one row per item, sorted by item: item, n_labels, consensus_label, p_consensus and
        annotator_agreement, the share of labels that equal the consensus label. Of numbers, consensus_label
        is the estimate and std its standard deviation. None where no items were given.
    contributors_
        Frame with one row per contributor, sorted by contributor; None where no contributors were given.
    confusion_
        P(label | true class): array (contributors, classes, classes) in the order of `contributors_` and
        `classes_`. None for numbers, and where no contributors were given.
    classes_
        Classes in sorted order, or grades from the lowest; None for numbers.
    label_error_rate_
        Estimated share of wrong labels.

    Examples
    --------
    >>> items = np.repeat(np.arange(60), 3)
    >>> who = np.tile(["ann", "bob", "cat"], 60)
    >>> labels = np.where(who == "cat", "no", np.where(items % 2, "yes", "no"))
    >>> model = AnnotatorModel().fit(labels, who, items)
    >>> model.consensus_["consensus_label"].to_list()[:3]
    ['no', 'yes', 'no']
    >>> model.confusion_[2].round(1)
    array([[1., 0.],
           [1., 0.]])
    """

    def __init__(self, *, task: str | Task = "auto", random_state: Any = 0) -> None:
        self.task = task
        self.random_state = random_state

    def fit(
        self, labels: Any, contributor: Any, item: Any = None, *, pred_probs: Any = None,
        true_label: Any = None, time: Any = None,
    ) -> Self:  # fmt: skip
        """Fit the model to one label per row.

        A pandas series whose index differs from that of the labels is aligned by index; it is an error where
        it lacks a row.

        Parameters
        ----------
        labels, contributor, item
            The given label, the person or source that gave it, and the thing that was labelled. The
            contributor may be None; the item may be None where `pred_probs` are given.
        pred_probs
            Held-out predictions by models that were not trained on the row: probabilities (rows, classes) in
            the order of `classes_`, or a frame with a column for each class; of numbers (rows,).
        true_label
            Labels known to be correct, None or NaN elsewhere; or true where the given label is known to be
            correct and false where it is known to be wrong.
        time
            Time of each label: accuracy may then change over time.
        """
        if item is None and pred_probs is None:
            raise InputError("labels alone cannot be assessed; give item or pred_probs")
        rows = align_rows(
            labels=labels, contributor=contributor, item=item, pred_probs=pred_probs, true_label=true_label,
            time=time,
        )  # fmt: skip
        read = read_labels(rows["labels"], self.task)
        self.classes_ = read.classes
        known = _sample_info(read, rows)
        assessment, raters = _assess(read, known, SamplePolicy.of("evidence", self._seed()))
        self.p_correct_ = assessment.belief.p_correct
        self.label_error_rate_ = float(1 - self.p_correct_.mean())
        self.consensus_ = _consensus(read, known, assessment)
        self.contributors_, self.confusion_ = _contributors(read, known, assessment, raters)
        return self

    def fit_predict(self, labels: Any, contributor: Any, item: Any, **given: Any) -> pl.DataFrame:
        """Fit the model, and return `consensus_`, the consensus label of each item."""
        self.fit(labels, contributor, item, **given)
        if self.consensus_ is None:
            raise InputError("a consensus of items needs item, got None")
        return self.consensus_

    def _seed(self) -> int:
        if isinstance(self.random_state, int | np.integer):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31 - 1))


def _assess(
    read: ArrayLabels, known: SampleInfo, policy: SamplePolicy
) -> tuple[Assessment, pl.DataFrame | None]:
    """Return the assessment, and for ordered grades the shift and slope of each contributor."""
    classes = 1 if read.classes is None else len(read.classes)
    assessment = _assess_labels(read, known, policy)
    if not read.ordered or known.contributor is None or known.item is None:
        return assessment, None
    contributors, names = as_codes("contributor", known.contributor, len(read.y))
    items, steps = distinct_values("item", known.item)[1], np.arange(classes, dtype=np.float64)
    gold = np.full(len(read.y), -1) if known.truth is None else known.truth.astype(np.int64)
    # The model of ordered grades does not take a grade that is known to be wrong without the true one.
    rejected = known.wrong is not None and bool((known.wrong & (gold < 0)).any())
    if len(names) > 1 and not rejected:
        graded = fit_order(read.y, items, contributors, steps, gold, policy.seed)
        if graded.ordered:
            estimates = ordinal_estimates(assessment.belief, graded.posterior[items], read.y, contributors)
            assessment = _assess_labels(read, known, policy, estimates)
    mean = (pool_posteriors_by_item(assessment.belief.truth, items) @ steps)[items]
    return assessment, rater_effects(steps[read.y], mean, contributors, names, items)


def _assess_labels(
    read: ArrayLabels, known: SampleInfo, policy: SamplePolicy, estimates: LabelEstimates | None = None
) -> Assessment:
    classes = 1 if read.classes is None else len(read.classes)
    nothing = np.zeros((len(read.y), 0))
    return assess(nothing, read.y, read.task, classes, known, policy, believed=estimates)


def _sample_info(read: ArrayLabels, rows: dict[str, Any]) -> SampleInfo:
    """Return the columns given beside the labels, checked."""
    n = len(read.y)
    columns = {name: rows[name] for name in ("contributor", "item", "true_label")}
    if rows["time"] is not None:
        times = require_times(as_series(as_column("time", rows["time"], n)).alias("time"))
        columns["age"] = ages(times, None)[0]
    known, given = sample_info(read.y, read.task, read.classes, **columns), rows["pred_probs"]
    if given is None:
        return known
    if read.classes is None:
        return replace(known, predictions=as_vector("pred_probs", given, n))
    return replace(known, predictions=read_probabilities(given, read.classes, n))


def _consensus(read: ArrayLabels, known: SampleInfo, assessment: Assessment) -> pl.DataFrame | None:
    """Return one row per item, sorted by item."""
    if known.item is None:
        return None
    values, codes = distinct_values("item", known.item)
    made = {"item": as_series(values), "n_labels": pl.Series(np.bincount(codes))}
    estimates = assessment.belief
    if read.classes is None:
        number, deviation = pool_values_by_item(estimates.truth[:, 0], estimates.truth[:, 1], codes)
        made |= {"consensus_label": pl.Series(number), "std": pl.Series(deviation)}
    else:
        truth, p, evenly = estimates.truth, estimates.p_correct, estimates.evenly
        posterior = consensus_posterior(truth, p, read.y, codes, evenly=evenly)
        if known.wrong is not None:
            posterior = exclude_rejected(posterior, read.y, codes, known.wrong)
        best = posterior.argmax(axis=1)
        agree = np.bincount(codes, read.y == best[codes]) / np.bincount(codes)
        made["consensus_label"] = as_series(read.classes[best])
        made |= {"p_consensus": pl.Series(posterior.max(axis=1)), "annotator_agreement": pl.Series(agree)}
    return pl.DataFrame(made)[sorting_order(values)]


def _contributors(
    read: ArrayLabels, known: SampleInfo, assessment: Assessment, raters: pl.DataFrame | None
) -> tuple[pl.DataFrame | None, Floats | None]:
    """Return the frame of contributors and their confusion matrices, both sorted by contributor."""
    frame = contributor_frame(assessment)
    if frame is None or known.contributor is None:
        return None, None
    values, contributors = distinct_values("contributor", known.contributor)
    if raters is not None:
        rest = frame.drop(raters.columns[1:], strict=False)
        frame, _ = clear_followers(rest.hstack(raters.drop("contributor")))
    typed = with_own_type(frame, values)
    if read.classes is None:
        return typed, None
    return typed, confusion_matrices(assessment.belief.truth, read.y, contributors)[sorting_order(values)]
