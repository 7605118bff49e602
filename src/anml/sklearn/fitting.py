"""Fit any estimator on what a weighting kept, drew or weighs."""

import warnings
from typing import Any

import numpy as np
from sklearn import config_context
from sklearn.base import is_classifier
from sklearn.dummy import DummyClassifier
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import has_fit_parameter

from anml.core.errors import UnsupportedError
from anml.core.types import Weighting
from anml.weighting.selection import sample_by_weight
from anml.weighting.weigh import TrainingLabels


def set_random_state(learner: Any, seed: int) -> Any:
    """Give a learner and its parts a seed where they take one and have none, so that runs can be repeated."""
    parts = learner.get_params().items()
    unset = {name: seed for name, value in parts if name.split("__")[-1] == "random_state" and value is None}
    return learner.set_params(**unset) if unset else learner


def fit_weighted(
    learner: Any, X: Any, y: Any, weighting: Weighting, rng: np.random.Generator,
    training: TrainingLabels | None = None,
) -> Any:  # fmt: skip
    """Fit on what was kept, on rows drawn by weight, or on everything with sample weights.

    What was kept is weighed where the weighting says so and the learner takes weights; labels and weights for
    `training` take the place of those of the weighting. Where one class only is left, and the learner needs
    two, that class is predicted for everything.
    """
    name, weight = _weight_name(learner), {}
    if weighting.recipe.select == "weight":
        if name is None:
            kind = type(learner).__name__
            raise UnsupportedError(
                f"{kind} takes no sample_weight; use a recipe that selects by 'top' or 'draw'"
            )
        return _fit(learner, X, y, {name: weighting.sample_weight()})
    if weighting.recipe.select == "draw":
        rows = sample_by_weight(weighting.w, len(y), rng)
    else:
        y, share = (y, weighting.sample_weight()) if training is None else training
        rows = np.flatnonzero(share)
        if name is not None and np.ptp(share[rows]) > 0:
            weight = {name: share[rows]}
    X, y = _safe_indexing(X, rows), _safe_indexing(y, rows)
    if not is_classifier(learner) or len(np.unique(y)) > 1:
        return _fit(learner, X, y, weight)
    try:
        return _fit(learner, X, y, weight)
    except ValueError:
        reason = f"only samples of class {str(y[0])!r} were kept, and {type(learner).__name__} needs two"
        warnings.warn(f"{reason}; that class is predicted for everything", stacklevel=2)
        return DummyClassifier(strategy="most_frequent").fit(X, y)


def _fit(learner: Any, X: Any, y: Any, weight: dict[str, Any]) -> Any:
    """Fit with weights under the name of the step that takes them, as without metadata routing."""
    if not weight or not isinstance(learner, Pipeline):
        return learner.fit(X, y, **weight)
    with config_context(enable_metadata_routing=False):
        return learner.fit(X, y, **weight)


def over_all_classes(values: Any, present: Any, classes: Any, absent: float) -> Any:
    """Columns for all classes, where some were not seen in training."""
    if len(present) == len(classes):
        return values
    full = np.full((len(values), len(classes)), absent)
    full[:, np.searchsorted(classes, present)] = values
    return full


def _weight_name(learner: Any) -> str | None:
    """Return the name of a learner's sample weight parameter, of the last step of a pipeline; or None."""
    if has_fit_parameter(learner, "sample_weight"):
        return "sample_weight"
    if isinstance(learner, Pipeline) and has_fit_parameter(learner[-1], "sample_weight"):
        return f"{learner.steps[-1][0]}__sample_weight"
    return None
