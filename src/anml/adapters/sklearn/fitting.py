"""Fit any estimator on what a weighting kept, drew or weighs."""

from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import has_fit_parameter

from anml.core.domain import Weighting
from anml.core.errors import UnsupportedError
from anml.core.selection import draw


def seeded(learner: Any, seed: int) -> Any:
    """Give the learner a seed where it takes one and has none, so that a run can be repeated."""
    if "random_state" in learner.get_params() and learner.get_params()["random_state"] is None:
        learner.set_params(random_state=seed)
    return learner


def fit_weighted(learner: Any, X: Any, y: Any, weighting: Weighting, rng: np.random.Generator) -> Any:
    """Fit on what was kept, on rows drawn by weight, or on everything with sample weights."""
    if weighting.recipe.select == "weight":
        return learner.fit(X, y, **_weight_argument(learner, weighting.sample_weight()))
    if weighting.recipe.select == "draw":
        rows = draw(weighting.w, len(y), rng)
    else:
        rows = np.flatnonzero(weighting.kept)
    return learner.fit(_safe_indexing(X, rows), _safe_indexing(y, rows))


def _weight_argument(learner: Any, weight: np.ndarray[Any, Any]) -> dict[str, Any]:
    if has_fit_parameter(learner, "sample_weight"):
        return {"sample_weight": weight}
    if isinstance(learner, Pipeline) and has_fit_parameter(learner[-1], "sample_weight"):
        return {f"{learner.steps[-1][0]}__sample_weight": weight}
    raise UnsupportedError(
        f"{type(learner).__name__} takes no sample_weight; use a recipe that selects by 'top' or 'draw'"
    )
