"""Our small network as scikit-learn estimators: the default learner, with sample weights."""

from typing import Any, cast

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from anml.core.checks import Array
from anml.core.types import Task
from anml.networks.mlp import (
    LayerWidths,
    NetworkBatch,
    TrainingData,
    as_data,
    initialise,
    predict,
    softmax,
    train,
)
from anml.networks.threads import limit_threads


class _MLP(BaseEstimator):
    """Base class of both estimators: scaling, training, and the forward pass."""

    _task: Task

    def __init__(
        self,
        hidden: tuple[int, ...] = (64, 32),
        *,
        epochs: int = 200,
        batch: int = 200,
        lr: float = 1e-3,
        random_state: Any = None,
    ) -> None:
        self.hidden = hidden
        self.epochs = epochs
        self.batch = batch
        self.lr = lr
        self.random_state = random_state

    def _fit_network(self, x: Any, target: np.ndarray[Any, Any], outputs: int, weight: Any) -> None:
        self.mean_ = np.average(x, axis=0, weights=weight)
        spread = np.sqrt(np.average(np.square(x - self.mean_), axis=0, weights=weight))
        self.scale_ = np.where(spread > 1e-12, spread, 1.0)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        networks = initialise(LayerWidths(x.shape[1], tuple(self.hidden), outputs), [seed])
        data = TrainingData.shared(
            *as_data(self._scaled(x), target, self._task), weight[None].astype(np.float32)
        )
        with limit_threads(1):
            train(networks, data, self._task, [seed], epochs=self.epochs, batch=self.batch, lr=self.lr)
        self.parameters_ = networks.flat[0]
        self.outputs_ = outputs

    def _scaled(self, x: Any) -> Array:
        return np.asarray((x - self.mean_) / self.scale_)

    def _outputs(self, x: Any) -> np.ndarray[Any, Any]:
        check_is_fitted(self)
        x = validate_data(self, x, reset=False, dtype=np.float64)
        # In double precision a row's answer does not depend on the rows beside it.
        flat = self.parameters_[None].astype(np.float64)
        networks = NetworkBatch(LayerWidths(len(self.mean_), tuple(self.hidden), self.outputs_), flat)
        with limit_threads(1):
            return np.asarray(predict(networks, self._scaled(x))[0])


class MLPClassifier(ClassifierMixin, _MLP):
    """A small ReLU network trained by Adam on cross-entropy.

    Features are scaled inside. A sample of integer weight counts as that many copies.
    """

    _task: Task = "classification"

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "MLPClassifier":
        """Train on X, y."""
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        self.classes_, codes = np.unique(y, return_inverse=True)
        self._fit_network(X, codes, max(2, len(self.classes_)), weight)
        return self

    def predict_proba(self, X: Any) -> np.ndarray[Any, Any]:
        """Probability of each class."""
        probabilities = softmax(self._outputs(X))
        # With one class seen the second output stands for "anything else".
        return cast("np.ndarray[Any, Any]", probabilities[:, : len(self.classes_)])

    def predict(self, X: Any) -> np.ndarray[Any, Any]:
        """Most probable class."""
        best = self.predict_proba(X).argmax(axis=1)
        return cast("np.ndarray[Any, Any]", self.classes_[best])


class MLPRegressor(RegressorMixin, _MLP):
    """A small ReLU network trained by Adam on squared error; features and target are scaled inside."""

    _task: Task = "regression"

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "MLPRegressor":
        """Train on X, y."""
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        y = np.asarray(y, dtype=np.float64)
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        total = weight.sum()
        self.centre_ = float((weight * y).sum() / total) if total > 0 else 0.0
        spread = float(np.sqrt((weight * np.square(y - self.centre_)).sum() / total)) if total > 0 else 1.0
        self.spread_ = spread if spread > 1e-12 else 1.0
        self._fit_network(X, ((y - self.centre_) / self.spread_).astype(np.float32), 1, weight)
        return self

    def predict(self, X: Any) -> np.ndarray[Any, Any]:
        """Predicted number."""
        return cast("np.ndarray[Any, Any]", self._outputs(X)[:, 0] * self.spread_ + self.centre_)
