"""Held-out predictions of the user's own estimator: whatever scikit-learn trains, on whatever it reads."""

from typing import Any

import numpy as np
from scipy import sparse, special
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils.parallel import Parallel, delayed

from anml.core.checks import Floats, Ints
from anml.core.folds import assign_folds
from anml.sklearn.fitting import set_random_state

FOLDS = 5
# Part of the class shares in predictions that cannot know every class, so that none is impossible.
PRIOR = 0.02


def is_numeric(X: Any) -> bool:
    """True if X holds finite numbers only, as the networks of anml require."""
    kinds = getattr(X, "dtypes", ()) if hasattr(X, "columns") else ()
    if sparse.issparse(X) or not all(_is_number(dtype) for dtype in kinds):
        return False
    try:
        values = np.asarray(X)
        if values.dtype.kind not in "biufcO":
            return False
        # Input that is not numeric at all is rejected by input validation.
        return values.dtype.kind == "c" or bool(np.isfinite(values.astype(np.float64)).all())
    except (TypeError, ValueError):
        return False


def _is_number(dtype: Any) -> bool:
    if hasattr(dtype, "is_numeric"):  # polars
        return bool(dtype.is_numeric()) or str(dtype) == "Boolean"
    return getattr(dtype, "kind", "O") in "biuf"


def folds_of(labels: Ints | None, item: Any, n: int, seed: int) -> Ints:
    """Five folds, stratified by class, with all samples of an item in one; fewer where items are fewer."""
    groups = np.arange(n) if item is None else np.unique(np.asarray(item), return_inverse=True)[1]
    k = min(FOLDS, len(np.unique(groups)))
    return assign_folds(labels, groups, k, np.random.default_rng(seed))


def held_out(learner: Any, X: Any, y: Any, codes: Any, classes: Any, item: Any, seed: int) -> Floats:
    """Predictions by copies that did not see the item: probabilities, or numbers where `classes` is None."""
    fold = folds_of(None if classes is None else codes, item, len(codes), seed)
    predictions = np.zeros(len(codes) if classes is None else (len(codes), len(classes)))

    def predict(held: Ints, rest: Ints) -> Any:
        if classes is None:
            return np.ravel(_fitted(learner, X, codes, rest, seed).predict(_safe_indexing(X, held)))
        return _classes(learner, X, y, codes, classes, held, rest, seed)

    parts = [(np.flatnonzero(fold == k), np.flatnonzero(fold != k)) for k in range(int(fold.max()) + 1)]
    for (held, _), predicted in zip(
        parts, Parallel()(delayed(predict)(*part) for part in parts), strict=True
    ):
        predictions[held] = predicted
    return (
        predictions if classes is None else np.asarray(predictions / predictions.sum(axis=1, keepdims=True))
    )


def _classes(learner: Any, X: Any, y: Any, codes: Any, classes: Any, held: Any, rest: Any, seed: int) -> Any:
    """Predict the held-out samples by a copy trained on `rest`; all probabilities are positive."""
    present, share = np.unique(codes[rest]), np.bincount(codes, minlength=len(classes)) / len(codes)
    probabilities = np.zeros((len(held), len(classes)))
    if len(present) > 1:
        fitted = _fitted(learner, X, y, rest, seed)
        at = np.searchsorted(classes, fitted.classes_)
        probabilities[:, at], sure = _probabilities(fitted, _safe_indexing(X, held))
    else:  # there is nothing to learn from one class
        probabilities[:, present], sure = 1.0, True
    mixed = sure or len(present) < len(classes)
    return (1 - PRIOR) * probabilities + PRIOR * share if mixed else probabilities


def _fitted(learner: Any, X: Any, y: Any, rows: Ints, seed: int) -> Any:
    return set_random_state(clone(learner), seed).fit(_safe_indexing(X, rows), _safe_indexing(y, rows))


def _probabilities(fitted: Any, X: Any) -> tuple[Floats, bool]:
    """Probabilities of the classes that were seen, and whether they are mere choices, sure of themselves."""
    if hasattr(fitted, "predict_proba"):
        return np.asarray(fitted.predict_proba(X), dtype=np.float64), False
    if hasattr(fitted, "decision_function"):
        odds = np.asarray(fitted.decision_function(X), dtype=np.float64)
        odds = np.column_stack([np.zeros(len(odds)), odds]) if odds.ndim == 1 else odds
        return np.asarray(special.softmax(odds, axis=1)), False
    chosen = np.searchsorted(fitted.classes_, np.asarray(fitted.predict(X)))
    return np.eye(len(fitted.classes_))[chosen], True
