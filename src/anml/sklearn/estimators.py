"""AnmlClassifier and AnmlRegressor: weigh the samples, then train any scikit-learn estimator on that."""

from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any, Self, cast

import numpy as np
from joblib import parallel_config
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, RegressorMixin, clone
from sklearn.utils import check_consistent_length, check_random_state, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_y, _num_samples, check_is_fitted, validate_data

from anml.assessment.assess import Assessment, SampleInfo, SamplePolicy, assess
from anml.assessment.contributors import contributor_frame, reputation_frame
from anml.core.checks import MAX_ABS_VALUE, one_of
from anml.core.errors import InputError
from anml.core.types import Recipe, Task
from anml.sklearn.alignment import align_rows, distinct_values, with_own_type
from anml.sklearn.fitting import fit_weighted, over_all_classes, set_random_state
from anml.sklearn.held_out import held_out, is_numeric
from anml.sklearn.mlp import MLPClassifier, MLPRegressor
from anml.sklearn.validation import CONTRIBUTED, reject_sample_weight, sample_info

# The models whose held-out predictions enter p_correct.
PREDICTORS = ("auto", "anml", "estimator")


def _delegates(name: str) -> Any:
    """The method exists when the wrapped estimator has it, fitted or not."""

    def check(self: Any) -> bool:
        inner = getattr(self, "estimator_", None)
        return hasattr(self._learner() if inner is None else inner, name)

    return available_if(check)


class _Anml(MetaEstimatorMixin, BaseEstimator):
    """Base of both estimators: assess the samples, weight them, fit the learner."""

    _task: Task
    _numeric = False
    # With metadata routing on, these arrive here without a request by the caller.
    __metadata_request__fit = dict.fromkeys(CONTRIBUTED, True)

    def __init__(
        self,
        estimator: Any = None,
        *,
        recipe: str | Recipe | dict[str, Any] = "evidence",
        predictor: str = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.recipe = recipe
        self.predictor = predictor
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _learner(self) -> Any:
        if self.estimator is not None:
            return self.estimator
        return MLPClassifier() if self._task == "classification" else MLPRegressor()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if self.predictor != "anml":
            # Any input that the estimator takes can be cross-fitted by it.
            tags.input_tags = get_tags(self._learner()).input_tags
        return tags

    def _validated(self, X: Any, y: Any) -> tuple[Any, Any, Any]:
        """Return X for the estimator, X for anml's models (None where those are not used), and y."""
        asked = one_of("predictor", self.predictor, PREDICTORS)
        own = asked == "anml" or (asked == "auto" and is_numeric(X))
        self.predictor_ = "anml" if own else "estimator"
        # A frame reaches the estimator as it is: a pipeline may ask for columns by name.
        self._as_given = not own or hasattr(X, "columns")
        if own:
            numbers, y = validate_data(self, X, y, ensure_min_samples=2, y_numeric=self._numeric)
            return X if self._as_given else numbers, np.asarray(numbers, dtype=np.float64), y
        self._inputs(X, reset=True)
        check_consistent_length(X, y)
        if _num_samples(X) < 2:
            raise InputError(f"at least two samples are needed, got n_samples = {_num_samples(X)}")
        X = X.tocsr() if issparse(X) else X  # of which rows can be taken
        return X, None, _check_y(y, estimator=self, y_numeric=self._numeric)

    def _inputs(self, X: Any, reset: bool = False) -> Any:
        """X as the estimator takes it; names and number of features must be those of `fit`."""
        if not getattr(self, "_as_given", False):
            return validate_data(self, X, reset=reset)
        flat = len(getattr(X, "shape", (0,))) < 2  # a list of texts has no columns
        return validate_data(self, X, reset=reset, skip_check_array=True, ensure_2d=not flat)

    def _assess(self, X: Any, x: Any, y: Any, codes: Any, known: SampleInfo, seed: int) -> Assessment:
        policy = SamplePolicy.of(self.recipe, seed)
        classes = getattr(self, "classes_", None)
        if x is None:
            x = np.zeros((len(codes), 0))
            predicted = held_out(self._learner(), X, y, codes, classes, known.item, seed)
            known = replace(known, predictions=predicted)
        count = 1 if classes is None else len(classes)
        return assess(x, codes, self._task, count, known, policy)

    @reject_sample_weight
    def fit(
        self,
        X: Any,
        y: Any,
        contributor: Any = None,
        item: Any = None,
        *,
        verification: Any = None,
        reputation: Any = None,
        age: Any = None,
        derived_from: Any = None,
        true_label: Any = None,
    ) -> Self:
        """Weight the samples, then fit the estimator.

        Every column has one value per sample. A pandas series whose index differs from that of X is aligned
        by index; it is an error where it lacks a row.

        Parameters
        ----------
        X, y
            Features, and class labels or numbers.
        contributor
            The person or source of each sample.
        item
            The thing that was labelled. Samples of one item share its true class, and are held out together.
        verification, reputation
            Level names such as "peer-reviewed" or "established", or numbers in [0, 1].
        age
            Years since each contribution.
        derived_from
            For each sample, positions of the samples that it was derived from.
        true_label
            Labels known to be correct, None or NaN elsewhere; or true where the given label is known to be
            correct and false where it is known to be wrong.
        """
        columns = {
            "contributor": contributor, "item": item, "verification": verification, "reputation": reputation,
            "age": age, "derived_from": derived_from, "true_label": true_label,
        }  # fmt: skip
        aligned = align_rows(X=X, y=y, **columns)
        X, x, y = self._validated(aligned.pop("X"), aligned.pop("y"))
        codes = self._coded(y)
        given = sample_info(codes, self._task, getattr(self, "classes_", None), **aligned)
        with self._parallel():
            self._fit(X, x, y, codes, given)
        return self

    def _parallel(self) -> AbstractContextManager[Any]:
        """Return the context in which trees and cross-validation use `n_jobs` threads."""
        jobs = self.n_jobs
        context = nullcontext() if jobs is None else parallel_config(backend="threading", n_jobs=jobs)
        return cast("AbstractContextManager[Any]", context)

    def _fit(self, X: Any, x: Any, y: Any, codes: Any, known: SampleInfo) -> None:
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        assessment = self._assess(X, x, y, codes, known, seed)
        self.sample_weight_ = assessment.weighting.sample_weight()
        self.kept_, self.gate_ = assessment.weighting.kept, assessment.weighting.gate
        self.quality_, self.p_correct_ = assessment.scores.q, assessment.belief.p_correct
        self.label_error_rate_ = float(1 - assessment.belief.p_correct.mean())
        self.contributors_ = contributor_frame(assessment)
        if self.contributors_ is not None and known.contributor is not None:
            values, _ = distinct_values("contributor", known.contributor)
            self.contributors_ = with_own_type(self.contributors_, values)
        self.reputation_ = None if self.contributors_ is None else reputation_frame(self.contributors_)
        training = assessment.training and assessment.training._replace(y=self._named(assessment.training.y))
        self.labels_ = y if training is None else training.y
        learner = set_random_state(clone(self._learner()), seed)
        rng = np.random.default_rng(seed)
        self.estimator_ = fit_weighted(learner, X, y, assessment.weighting, rng, training)

    @_delegates("predict")
    def predict(self, X: Any) -> Any:
        """Predict with the estimator trained on the weighted samples."""
        check_is_fitted(self, "estimator_")
        return self.estimator_.predict(self._inputs(X))


class AnmlClassifier(ClassifierMixin, _Anml):
    """Train a classifier on samples weighted by quality, verification, reputation and freshness.

    Parameters
    ----------
    estimator
        Any scikit-learn classifier; a small network by default.
    recipe
        Everything between signals and weights: a name in `anml.RECIPES`, an `anml.Recipe`, or a dict of the
        settings that differ. It also holds the profile of the small networks, the half-life of freshness, and
        the floor on the reputation of newcomers.
    predictor
        Source of the held-out predictions that enter p_correct: `"anml"` uses anml's own models,
        `"estimator"` cross-validates the estimator, which works on any input that it takes (text, missing
        values, sparse), and `"auto"` uses the first where X holds finite numbers only, else the second.
    n_jobs
        Threads of trees and of cross-validation: None is one, -1 all cores. Networks use one thread.
    random_state
        Seed, as in scikit-learn.

    Attributes
    ----------
    sample_weight_
        Weight of each sample for training on the labels as given: 0 where not kept, mean 1 over the rest.
    kept_
        True for the samples whose given label is used for training.
    labels_
        The labels that the estimator was trained on. With the recipe `evidence`, labels that are more likely
        wrong than right are replaced by the most probable ones.
    p_correct_, label_error_rate_
        Probability that each label is correct, and the estimated share of wrong labels.
    quality_
        Signal q of each sample.
    gate_
        The weighting rule that was applied, and its figures.
    contributors_
        Frame with one row per contributor, sorted by contributor; None where no contributors were given.
        Contributors keep their type.
    reputation_
        Frame with the reputation of each contributor learned from this fit, without v, r and T: r with its
        interval (low, high), and the counts of correct and wrong labels behind it (good, bad).
    estimator_, predictor_
        The fitted estimator, and the source of held-out predictions that was used.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> who = ["ann", "bob"] * 89
    >>> model = AnmlClassifier(random_state=0).fit(X, y, contributor=who)
    >>> model.gate_.branch, model.contributors_["rows"].to_list()
    ('p_correct', [89, 89])
    """

    _task: Task = "classification"

    def _coded(self, y: Any) -> Any:
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise InputError(f"only one class is present, {str(self.classes_[0])!r}; two classes are needed")
        return codes

    def _named(self, codes: Any) -> Any:
        return self.classes_[codes]

    @_delegates("predict_proba")
    def predict_proba(self, X: Any) -> Any:
        """Probability of each class in `classes_`; a class that was not kept at all gets 0."""
        check_is_fitted(self, "estimator_")
        probabilities = self.estimator_.predict_proba(self._inputs(X))
        return over_all_classes(probabilities, self.estimator_.classes_, self.classes_, 0.0)

    @_delegates("decision_function")
    def decision_function(self, X: Any) -> Any:
        """Decision values of the fitted estimator; a class that was not kept at all is below all others."""
        check_is_fitted(self, "estimator_")
        values = self.estimator_.decision_function(self._inputs(X))
        if values.ndim == 1 and len(self.classes_) > 2:
            values = np.column_stack([-values, values])
        if values.ndim == 1:
            return values
        return over_all_classes(values, self.estimator_.classes_, self.classes_, float(values.min()) - 1)


class AnmlRegressor(RegressorMixin, _Anml):
    """Train a regressor on samples weighted by quality, verification, reputation and freshness.

    Parameters and attributes are those of `AnmlClassifier`; q comes from squared error.
    """

    _task: Task = "regression"

    _numeric = True

    def _coded(self, y: Any) -> Any:
        if np.abs(y).max() > MAX_ABS_VALUE:
            raise InputError(
                f"y has values beyond {MAX_ABS_VALUE:g}, as {y[np.abs(y).argmax()]:g}; scale them"
            )
        return np.asarray(y, dtype=np.float64)

    def _named(self, values: Any) -> Any:
        return values
