"""Sample weights from signals, and the recipes by name."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from anml.core.checks import Array, Bools, Floats, Ints, as_codes, one_of
from anml.core.contributors import shrink_group_means
from anml.core.errors import InputError
from anml.core.types import Gate, Recipe, Signals, Task, Weighting
from anml.weighting.combine import evidence, multiplicative, softmax_blend, training_weight, uniform
from anml.weighting.gates import adaptive, guarded
from anml.weighting.selection import keep_top

COMBINERS: dict[str, Callable[[Signals, Recipe], tuple[Floats, Gate]]] = {
    "uniform": uniform,
    "multiplicative": multiplicative,
    "softmax": softmax_blend,
    "adaptive": adaptive,
    "guarded": guarded,
    "evidence": evidence,
}
# The share kept in all of the paper's experiments.
PAPER_KEEP = 0.7

RECIPES: dict[str, Recipe] = {
    "evidence": Recipe("evidence"),
    "guarded": Recipe("guarded"),
    "uniform": Recipe("uniform", keep=1.0),
    "krum": Recipe("multiplicative", use=("q",), keep=PAPER_KEEP),
    "multiplicative": Recipe("multiplicative", keep=PAPER_KEEP),
    "softmax": Recipe("softmax", keep=PAPER_KEEP),
    "adaptive": Recipe("adaptive", keep=PAPER_KEEP),
}


def recipe_of(recipe: str | Recipe | Mapping[str, Any]) -> Recipe:
    """Return the recipe for a name, a mapping of settings, or a `Recipe`.

    The settings of a mapping override those of the recipe `name`; the default is `evidence`.

    Examples
    --------
    >>> recipe_of({"name": "krum", "keep": 0.5}).use, recipe_of({"half_life": "90d"}).combine
    (('q',), 'evidence')
    """
    if isinstance(recipe, str):
        return RECIPES[one_of("recipe", recipe, RECIPES)]
    if isinstance(recipe, Mapping):
        changes = dict(recipe)
        base = RECIPES[one_of("recipe", changes.pop("name", "evidence"), RECIPES)]
        return Recipe.from_dict({**base.to_dict(), **changes})
    if not isinstance(recipe, Recipe):
        raise InputError(f"recipe must be a name, a dict or a Recipe, got {recipe!r}")
    return recipe


def recipe_name(recipe: Recipe) -> str | None:
    """Return the name of a recipe in `RECIPES`, or None if its settings differ from all of them."""
    return next((name for name, settings in RECIPES.items() if settings == recipe), None)


def compute_sample_weights(signals: Signals, recipe: Recipe) -> Weighting:
    """Combine checked signals by a recipe, apply freshness, and select."""
    combine = COMBINERS[one_of("combiner", recipe.combine, COMBINERS)]
    used = signals.only(recipe.use)
    if recipe.level == "contributor":
        used = replace(used, q=_contributor_quality(used))
    combined, gate = combine(used, recipe)
    w = combined * used.t
    return Weighting(w, _select(w, gate.branch, signals, recipe), gate, recipe)


def weigh(
    q: Any,
    v: Any = None,
    r: Any = None,
    t: Any = None,
    contributor: Any = None,
    recipe: str | Recipe | Mapping[str, Any] = "guarded",
) -> Weighting:
    """Compute sample weights from signals.

    Parameters
    ----------
    q
        Quality of each sample in [0, 1].
    v, r, t
        Verification, reputation and freshness in [0, 1]; 1 if not given.
    contributor
        One identifier per sample; needed only by recipes at contributor level.
    recipe
        A name in `RECIPES`, a dict of settings, or a `Recipe`.

    Examples
    --------
    >>> result = weigh([0.9, 0.8, 0.1], v=[0.9, 0.8, 0.2], r=[0.8, 0.8, 0.3], recipe="adaptive")
    >>> result.gate.branch, result.kept.tolist()
    ('blend', [True, True, True])
    """
    return compute_sample_weights(Signals.of(q, v, r, t, contributor), recipe_of(recipe))


def _select(w: Floats, branch: str, signals: Signals, recipe: Recipe) -> Bools:
    if recipe.select != "top" or branch == "uniform":
        # The uniform branch keeps all samples, whatever their freshness.
        return np.ones(len(w), dtype=bool)
    if recipe.combine == "evidence" and signals.p_correct is not None:
        if recipe.keep is not None:
            return keep_top(w if signals.equal_votes else signals.p_correct * signals.t, recipe.keep)
        if signals.equal_votes:
            return np.ones(len(w), dtype=bool)
        # Keep labels with p_correct >= 0.5; if there are none, those with the highest.
        return signals.p_correct >= min(0.5, float(signals.p_correct.max()))
    if recipe.keep is not None:
        return keep_top(w, recipe.keep)
    label_error_rate = signals.label_error_rate
    return keep_top(w, PAPER_KEEP if label_error_rate is None else max(1.0 - label_error_rate, 1.0 / len(w)))


def keep_one_per_class(weighting: Weighting, y: Ints, p_correct: Floats) -> Weighting:
    """For each class without a kept label, keep its labels with the highest p_correct."""
    kept, w = weighting.kept.copy(), weighting.w.copy()
    for label in np.setdiff1d(y, y[weighting.sample_weight() > 0]):
        rows = np.flatnonzero(y == label)
        rows = rows[p_correct[rows] >= p_correct[rows].max()]
        kept[rows], w[rows] = True, np.maximum(w[rows], w.max() * p_correct[rows])
    return replace(weighting, kept=kept, w=w)


class TrainingLabels(NamedTuple):
    """Training labels of a model: a label and a weight for every row; weight 0 excludes the row."""

    y: Array
    weight: Floats


def training_labels(
    weighting: Weighting, signals: Signals, y: Array, posterior: Floats, task: Task
) -> TrainingLabels | None:
    """Return the given label of kept rows, else the most probable class (or posterior mean), with its weight.

    The weight of numbers is multiplied by their precision, as in generalised least squares. `posterior` is
    `LabelEstimates.truth`. None if the gate is not p_correct.

    Examples
    --------
    >>> signals = replace(Signals.of([1, 1, 1]), p_correct=np.array([1.0, 0.1, 0.3]))
    >>> truth = np.array([[1.0, 0.0, 0.0], [0.9, 0.1, 0.0], [0.3, 0.3, 0.4]])
    >>> weighting = compute_sample_weights(signals, RECIPES["evidence"])
    >>> training_labels(weighting, signals, np.array([0, 1, 0]), truth, "classification")
    TrainingLabels(y=array([0, 0, 2]), weight=array([1., 1., 0.]))
    """
    recipe = weighting.recipe
    if weighting.gate.branch != "p_correct" or (recipe.select, recipe.keep) != ("top", None):
        return None
    if task == "classification":
        new_y, new_weight = posterior.argmax(axis=1), training_weight(posterior.max(axis=1), 1.0)
        precision = np.ones(len(y))
    else:
        new_y, new_weight, precision = posterior[:, 0], np.ones(len(y)), 1 / np.square(posterior[:, 2])
    assert signals.p_correct is not None
    total = training_weight(signals.p_correct, float(signals.p_correct.max()), signals.no_overlap).sum()
    freshness = signals.only(recipe.use).t
    weight = np.where(weighting.kept, weighting.w, new_weight * freshness / total) * precision
    mean = max(float(weight[weight > 0].mean()), 1e-290)
    return TrainingLabels(np.where(weighting.kept, y, new_y), weight / mean)


def _contributor_quality(signals: Signals) -> np.ndarray[Any, Any]:
    if signals.contributor is None:
        raise InputError("a recipe at contributor level needs one contributor per sample, got none")
    codes, _ = as_codes("contributor", signals.contributor, len(signals))
    return np.clip(shrink_group_means(signals.q, codes).mean, 0.0, 1.0)[codes]
