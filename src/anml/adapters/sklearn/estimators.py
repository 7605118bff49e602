"""AnmlClassifier and AnmlRegressor: weigh the samples, then train any scikit-learn estimator on that."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, RegressorMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from anml.adapters.sklearn.contributors import contributor_frame, learned_frame
from anml.adapters.sklearn.fitting import fit_weighted, seeded
from anml.adapters.sklearn.mlp import MLPClassifier, MLPRegressor
from anml.adapters.sklearn.sources import sklearn_factors
from anml.core.checks import LARGEST, one_of, whole
from anml.core.domain import Recipe, Task
from anml.core.errors import InputError
from anml.core.signals.reputation import ColdStart
from anml.core.signals.temporal import ContextDecay, Decay
from anml.core.weigh import recipe_of
from anml.gradients.assess import Assessment, Known, Policy, assess
from anml.gradients.scoring import Profile, profile_of

GRADIENTS = ("scoring", "estimator")
# What `fit` takes beside X and y: one value per sample.
CONTRIBUTED = ("contributor", "item", "verification", "reputation", "age", "derived_from")


def _delegates(name: str) -> Any:
    """The method exists when the wrapped estimator has it, fitted or not."""

    def check(self: Any) -> bool:
        inner = getattr(self, "estimator_", None)
        return hasattr(self._learner() if inner is None else inner, name)

    return available_if(check)


class _Anml(MetaEstimatorMixin, BaseEstimator):
    """What both estimators share: assess the samples, select or weigh them, fit the learner."""

    _task: Task
    # With metadata routing on, what a caller passes for these arrives here without being asked for.
    __metadata_request__fit = dict.fromkeys(CONTRIBUTED, True)

    def __init__(
        self,
        estimator: Any = None,
        *,
        recipe: str | Recipe | dict[str, Any] = "evidence",
        profile: str | Profile | dict[str, Any] = "default",
        gradients: str = "scoring",
        half_life: str | float = "7y",
        decay: Decay | ContextDecay | None = None,
        r_min: float = 0.4,
        newcomer: int = 10,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.recipe = recipe
        self.profile = profile
        self.gradients = gradients
        self.half_life = half_life
        self.decay = decay
        self.r_min = r_min
        self.newcomer = newcomer
        self.random_state = random_state

    def _learner(self) -> Any:
        if self.estimator is not None:
            return self.estimator
        return MLPClassifier() if self._task == "classification" else MLPRegressor()

    def _assess(self, X: Any, y: Any, codes: Any, classes: int, known: Known, seed: int) -> Assessment:
        one_of("source of gradients", self.gradients, GRADIENTS)
        policy = Policy(
            recipe=recipe_of(self.recipe),
            profile=profile_of(self.profile),
            decay=self.decay if self.decay is not None else Decay.half_life(self.half_life),
            cold_start=ColdStart(self.r_min, self.newcomer),
            seed=seed,
        )

        def own_factors() -> Any:
            return sklearn_factors(seeded(clone(self._learner()), seed).fit(X, y), X, y)

        return assess(
            np.asarray(X, dtype=np.float64),
            codes,
            self._task,
            classes,
            known,
            policy,
            factors_of=own_factors if self.gradients == "estimator" else None,
        )

    def _fit(self, X: Any, y: Any, codes: Any, classes: int, known: Known) -> None:
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        found = self._assess(X, y, codes, classes, known, seed)
        self.weights_, self.kept_, self.gate_ = found.weighting.w, found.weighting.kept, found.weighting.gate
        self.quality_, self.clean_ = found.scores.q, found.evidence.clean
        self.noise_ = float(1 - found.evidence.clean.mean())
        self.contributors_ = contributor_frame(found)
        self.reputation_ = None if self.contributors_ is None else learned_frame(self.contributors_)
        learner = seeded(clone(self._learner()), seed)
        self.estimator_ = fit_weighted(learner, X, y, found.weighting, np.random.default_rng(seed))

    @_delegates("predict")
    def predict(self, X: Any) -> Any:
        """Predict with the estimator trained on the weighted samples."""
        check_is_fitted(self, "estimator_")
        return self.estimator_.predict(validate_data(self, X, reset=False))


def _known(n: int, **given: Any) -> Known:
    """Columns as arrays of the right length; a wrong length is said at the door."""
    columns: dict[str, Any] = {}
    for name, values in given.items():
        if values is None:
            continue
        if len(values) != n:
            name = "derived_from" if name == "parents" else name
            raise InputError(f"{name} must be one value per sample: {n} expected, got {len(values)}")
        # Levels may mix names and numbers, and lists of parents differ in length: neither is a plain array.
        plain = name in ("contributor", "item", "age")
        columns[name] = np.asarray(values) if plain else list(values)
    if "parents" in columns:
        columns["parents"] = [_positions(parents) for parents in columns["parents"]]
    return Known(**columns)


def _positions(parents: Any) -> list[int]:
    if isinstance(parents, str) or not hasattr(parents, "__iter__"):
        raise InputError(f"derived_from must be a list of positions for each sample, got {parents!r}")
    return [whole("a position in derived_from", position) for position in parents]


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
    gradients
        Whose gradients q looks at: the `"scoring"` model's, or the `"estimator"`'s own.
    half_life, decay
        Freshness of a sample of given age: the time in which it halves, or any `Decay`.
    r_min, newcomer
        Floor on reputation for a contributor's first `newcomer` samples.
    random_state
        Seed of everything that is random.

    Attributes
    ----------
    weights_, kept_
        Weight of each sample of `fit`, and whether it was trained on.
    gate_
        Which branch decided, and the figures it decided on.
    contributors_
        Frame with one row per contributor; None when no contributors were given.
    reputation_
        Each contributor's share of right labels as learned from this run, without v, r and T: r, low,
        high, and the evidence it rests on as labels seen right and wrong (good, bad).
    quality_, clean_, noise_
        q of each sample, the probability that its label is right, and the estimated share of wrong ones.
    estimator_
        The fitted estimator.

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
    ) -> "AnmlClassifier":
        """Weigh the samples, then fit the estimator.

        Parameters
        ----------
        X, y
            Features and class labels.
        contributor, item
            Who contributed each sample; which samples are labels of the same thing.
        verification, reputation
            Level names such as "peer-reviewed" or "established", or numbers in [0, 1].
        age
            Years since each contribution.
        derived_from
            For each sample, positions of the samples it was derived from.
        """
        X, y = validate_data(self, X, y, ensure_min_samples=2)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise InputError(
                f"only one class is present, {str(self.classes_[0])!r}; at least two classes are needed"
            )
        known = _known(
            len(y), contributor=contributor, item=item, verification=verification,
            reputation=reputation, age=age, parents=derived_from,
        )  # fmt: skip
        self._fit(X, y, codes, len(self.classes_), known)
        return self

    @_delegates("predict_proba")
    def predict_proba(self, X: Any) -> Any:
        """Probability of each class in `classes_`; a class that was not kept at all gets 0."""
        check_is_fitted(self, "estimator_")
        found = self.estimator_.predict_proba(validate_data(self, X, reset=False))
        if found.shape[1] == len(self.classes_):
            return found
        full = np.zeros((len(found), len(self.classes_)))
        full[:, np.searchsorted(self.classes_, self.estimator_.classes_)] = found
        return full

    @_delegates("decision_function")
    def decision_function(self, X: Any) -> Any:
        """Decision values of the fitted estimator."""
        check_is_fitted(self, "estimator_")
        return self.estimator_.decision_function(validate_data(self, X, reset=False))


class AnmlRegressor(RegressorMixin, _Anml):
    """Train a regressor on samples weighted by quality, verification, reputation and freshness.

    Parameters and attributes are those of `AnmlClassifier`; q comes from squared error.
    """

    _task: Task = "regression"

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
    ) -> "AnmlRegressor":
        """Weigh the samples, then fit the estimator; arguments as for `AnmlClassifier.fit`."""
        X, y = validate_data(self, X, y, y_numeric=True, ensure_min_samples=2)
        if np.abs(y).max() > LARGEST:
            raise InputError(
                f"y has values beyond {LARGEST:g}, such as {y[np.abs(y).argmax()]:g}; scale them"
            )
        known = _known(
            len(y), contributor=contributor, item=item, verification=verification,
            reputation=reputation, age=age, parents=derived_from,
        )  # fmt: skip
        self._fit(X, y, np.asarray(y, dtype=np.float64), 1, known)
        return self
