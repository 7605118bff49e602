"""AnmlClassifier and AnmlRegressor: weigh the samples, then train any scikit-learn estimator on that."""

from dataclasses import replace
from typing import Any, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, RegressorMixin, clone
from sklearn.utils import check_consistent_length, check_random_state, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_y, _num_samples, check_is_fitted, validate_data

from anml.adapters.sklearn.fitting import fit_weighted, over_all_classes, seeded
from anml.adapters.sklearn.given import CONTRIBUTED, known_of, own_weights
from anml.adapters.sklearn.held_out import held_out, is_numeric
from anml.adapters.sklearn.mlp import MLPClassifier, MLPRegressor
from anml.assess.assess import Assessment, Known, SamplePolicy, assess
from anml.assess.contributors import contributor_frame, learned_frame
from anml.core.checks import LARGEST, one_of
from anml.core.domain import Recipe, Task
from anml.core.errors import InputError
from anml.core.profile import Profile, profile_of
from anml.core.signals.reputation import ColdStart
from anml.core.signals.temporal import ContextDecay, Decay
from anml.core.weigh import recipe_of

# Whose held-out predictions labels are judged by.
PREDICTORS = ("auto", "anml", "estimator")


def _delegates(name: str) -> Any:
    """The method exists when the wrapped estimator has it, fitted or not."""

    def check(self: Any) -> bool:
        inner = getattr(self, "estimator_", None)
        return hasattr(self._learner() if inner is None else inner, name)

    return available_if(check)


class _Anml(MetaEstimatorMixin, BaseEstimator):
    """What both estimators share: assess the samples, select or weigh them, fit the learner."""

    _task: Task
    _numeric = False
    # With metadata routing on, what a caller passes for these arrives here without being asked for.
    __metadata_request__fit = dict.fromkeys(CONTRIBUTED, True)

    def __init__(
        self,
        estimator: Any = None,
        *,
        recipe: str | Recipe | dict[str, Any] = "evidence",
        profile: str | Profile | dict[str, Any] = "default",
        predictor: str = "auto",
        half_life: str | float = "7y",
        decay: Decay | ContextDecay | None = None,
        r_min: float = 0.4,
        newcomer: int = 10,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.recipe = recipe
        self.profile = profile
        self.predictor = predictor
        self.half_life = half_life
        self.decay = decay
        self.r_min = r_min
        self.newcomer = newcomer
        self.random_state = random_state

    def _learner(self) -> Any:
        if self.estimator is not None:
            return self.estimator
        return MLPClassifier() if self._task == "classification" else MLPRegressor()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if self.predictor != "anml":
            # What the estimator reads can be judged by its own predictions.
            tags.input_tags = get_tags(self._learner()).input_tags
        return tags

    def _validated(self, X: Any, y: Any) -> tuple[Any, Any, Any]:
        """X for the estimator, X as numbers for anml's networks (None where it predicts itself), and y."""
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

    def _assess(self, X: Any, x: Any, y: Any, codes: Any, known: Known, seed: int) -> Assessment:
        policy = SamplePolicy(
            recipe=recipe_of(self.recipe),
            profile=profile_of(self.profile),
            decay=self.decay if self.decay is not None else Decay.half_life(self.half_life),
            cold_start=ColdStart(self.r_min, self.newcomer),
            seed=seed,
        )
        classes = getattr(self, "classes_", None)
        if x is None:
            x = np.zeros((len(codes), 0))
            said = held_out(self._learner(), X, y, codes, classes, known.item, seed)
            known = replace(known, predictions=said)
        count = 1 if classes is None else len(classes)
        return assess(x, codes, self._task, count, known, policy)

    @own_weights
    def fit(
        self,
        X: Any,
        y: Any,
        contributor: Any = None,
        item: Any = None,
        verification: Any = None,
        reputation: Any = None,
        age: Any = None,
        derived_from: Any = None,
        known: Any = None,
    ) -> Self:
        """Weigh the samples, then fit the estimator.

        Parameters
        ----------
        X, y
            Features, and class labels or numbers.
        contributor, item
            Who contributed each sample; which samples are labels of the same thing.
        verification, reputation
            Level names such as "peer-reviewed" or "established", or numbers in [0, 1].
        age
            Years since each contribution.
        derived_from
            For each sample, positions of the samples it was derived from.
        known
            Right labels, None or NaN where they are not known, which count as observed; or true where the
            label given is known to be right and false where it is known to be wrong.
        """
        X, x, y = self._validated(X, y)
        codes = self._coded(y)
        given = known_of(
            codes, self._task, getattr(self, "classes_", None), contributor=contributor, item=item,
            verification=verification, reputation=reputation, age=age, derived_from=derived_from, known=known,
        )  # fmt: skip
        self._fit(X, x, y, codes, given)
        return self

    def _fit(self, X: Any, x: Any, y: Any, codes: Any, known: Known) -> None:
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        found = self._assess(X, x, y, codes, known, seed)
        self.weights_, self.kept_, self.gate_ = found.weighting.w, found.weighting.kept, found.weighting.gate
        self.quality_, self.p_correct_ = found.scores.q, found.belief.p_correct
        self.noise_ = float(1 - found.belief.p_correct.mean())
        self.contributors_ = contributor_frame(found)
        self.reputation_ = None if self.contributors_ is None else learned_frame(self.contributors_)
        training = found.training and found.training._replace(y=self._named(found.training.y))
        self.labels_ = y if training is None else training.y
        learner = seeded(clone(self._learner()), seed)
        rng = np.random.default_rng(seed)
        self.estimator_ = fit_weighted(learner, X, y, found.weighting, rng, training)

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
        How signals become weights: a name in `anml.RECIPES`, a dict of settings, or a `Recipe`.
    profile
        How q is scored: `"default"` (early-stopped), `"paper"`, or a dict of settings.
    predictor
        Whose held-out predictions labels are judged by: `"anml"`'s own networks, the `"estimator"`'s, by
        cross-validation, which works on all that it reads (text, gaps, sparse), or `"auto"`: the first
        where X holds finite numbers only, else the second.
    half_life, decay
        Freshness of a sample of given age: the time in which it halves, or any `Decay`.
    r_min, newcomer
        Floor on reputation for a contributor's first `newcomer` samples.
    random_state
        Seed of everything that is random.

    Attributes
    ----------
    weights_, kept_, labels_
        Weight of each sample of `fit`, whether its label is believed, and the label that it was trained on:
        with the evidence recipe the likeliest one, where that given is likelier wrong than right.
    gate_
        Which branch decided, and the figures it decided on.
    contributors_
        Frame with one row per contributor; None when no contributors were given.
    reputation_
        Each contributor's share of right labels as learned from this run, without v, r and T: r, low,
        high, and the evidence it rests on as labels seen right and wrong (good, bad).
    quality_, p_correct_, noise_
        q of each sample, the probability that its label is right, and the estimated share of wrong ones.
    estimator_, predictor_
        The fitted estimator, and whose predictions labels were judged by.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> who = ["ann", "bob"] * 89
    >>> model = AnmlClassifier(random_state=0).fit(X, y, contributor=who)
    >>> model.gate_.branch, model.contributors_["rows"].to_list()
    ('evidence', [89, 89])
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
        found = self.estimator_.predict_proba(self._inputs(X))
        return over_all_classes(found, self.estimator_.classes_, self.classes_, 0.0)

    @_delegates("decision_function")
    def decision_function(self, X: Any) -> Any:
        """Decision values of the fitted estimator; a class that was not kept at all is below all others."""
        check_is_fitted(self, "estimator_")
        found = self.estimator_.decision_function(self._inputs(X))
        if found.ndim == 1 and len(self.classes_) > 2:
            found = np.column_stack([-found, found])
        if found.ndim == 1:
            return found
        return over_all_classes(found, self.estimator_.classes_, self.classes_, float(found.min()) - 1)


class AnmlRegressor(RegressorMixin, _Anml):
    """Train a regressor on samples weighted by quality, verification, reputation and freshness.

    Parameters and attributes are those of `AnmlClassifier`; q comes from squared error.
    """

    _task: Task = "regression"

    _numeric = True

    def _coded(self, y: Any) -> Any:
        if np.abs(y).max() > LARGEST:
            raise InputError(f"y has values beyond {LARGEST:g}, as {y[np.abs(y).argmax()]:g}; scale them")
        return np.asarray(y, dtype=np.float64)

    def _named(self, values: Any) -> Any:
        return values
