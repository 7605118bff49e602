"""The one pipeline from signals to weights, and the recipes by name."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from anml.core.checks import Array, Bools, Floats, Ints, as_codes, one_of
from anml.core.contributors import shrink_group_means
from anml.core.errors import InputError
from anml.core.types import Recipe, Signals, Task, Weighting
from anml.weighting.combine import COMBINERS, training_weight
from anml.weighting.selection import keep_top

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
    """Return a recipe given by name, by its settings, or as it is.

    A mapping may hold `name`, the recipe whose other settings it changes; `evidence` without it.

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
    """Return the name of a recipe in `RECIPES`, or None where its settings differ from all of them."""
    return next((name for name, known in RECIPES.items() if known == recipe), None)


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
    """Turn signals into weights.

    Parameters
    ----------
    q
        Quality of each sample in [0, 1].
    v, r, t
        Verification, reputation and freshness in [0, 1]; what is not given counts as 1.
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
        # The uniform branch skips selection: freshness then ranks, but discards nothing.
        return np.ones(len(w), dtype=bool)
    if recipe.combine == "evidence" and signals.p_correct is not None:
        if recipe.keep is not None:
            return keep_top(w if signals.evenly else signals.p_correct * signals.t, recipe.keep)
        if signals.evenly:
            return np.ones(len(w), dtype=bool)
        # What is more likely right than wrong; if nothing is, the likeliest.
        return signals.p_correct >= min(0.5, float(signals.p_correct.max()))
    if recipe.keep is not None:
        return keep_top(w, recipe.keep)
    noise = signals.label_error_rate
    return keep_top(w, PAPER_KEEP if noise is None else max(1.0 - noise, 1.0 / len(w)))


def keep_one_per_class(weighting: Weighting, y: Ints, p_correct: Floats) -> Weighting:
    """Keep the likeliest label of every class that would have none left: no class is dropped."""
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
    weighting: Weighting, signals: Signals, y: Array, truth: Floats, task: Task
) -> TrainingLabels | None:
    """Labels as given, and the likeliest instead of those that are likelier wrong than right.

    A wrong class is trained on as the likeliest one, as far as that is clear; a wrong number as the mean of
    the right one. Numbers count by their precision as well, as in generalised least squares. `truth` is the
    posterior of each row (see `anml.annotators.result.Belief`). None where labels are not chosen by it.

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
        instead, share = truth.argmax(axis=1), training_weight(truth.max(axis=1), 1.0)
        precision = np.ones(len(y))
    else:
        instead, share, precision = truth[:, 0], np.ones(len(y)), 1 / np.square(truth[:, 2])
    assert signals.p_correct is not None
    total = training_weight(signals.p_correct, float(signals.p_correct.max()), signals.apart).sum()
    fresh = signals.only(recipe.use).t
    weight = np.where(weighting.kept, weighting.w, share * fresh / total) * precision
    mean = max(float(weight[weight > 0].mean()), 1e-290)
    return TrainingLabels(np.where(weighting.kept, y, instead), weight / mean)


def _contributor_quality(signals: Signals) -> np.ndarray[Any, Any]:
    if signals.contributor is None:
        raise InputError("a recipe at contributor level needs one contributor per sample, got none")
    codes, _ = as_codes("contributor", signals.contributor, len(signals))
    return np.clip(shrink_group_means(signals.q, codes).mean, 0.0, 1.0)[codes]
